package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/reconcile"
)

// Deps is what the program gives to each controller's constructor. Caches.For makes those of one controller. What one kind alone
// needs is in the Options of its own package.
type Deps struct {
	Kube            kubernetes.Interface
	Kruise          versioned.Interface
	KubeInformers   KubeInformers
	KruiseInformers KruiseInformers
	// Dynamic and Mapper reach workloads of kinds that nobody has types for, and ask the servers what caches do not show.
	Dynamic dynamic.Interface
	Mapper  meta.RESTMapper
	// Recorder makes the recorder of an event source.
	Recorder func(component string) record.EventRecorder
	Features featuregate.FeatureGate
	Clock    clock.PassiveClock
	// Options are those of this controller.
	Options reconcile.Options
	// ExpectationTimeout is how long a cache may take to show a write before the server is asked.
	ExpectationTimeout time.Duration
	// Consistency counts what guards wait for. May be nil.
	Consistency *consistency.Metrics

	needs *needs
}

// Needs are the informers that the controller has asked for.
func (d *Deps) Needs() []Need { return d.needs.list() }
