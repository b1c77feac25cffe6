package controller

import (
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/controller/rolloutprogress"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/protectionlog"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/refusals"
	"kruise.io/kruise/pkg/workloadclient"
)

// Deps is what the program passes to each controller's constructor. Caches.For makes the Deps of one controller. What only one
// kind needs is in the Options of that kind's package.
type Deps struct {
	// Kube and Kruise write, and read past the caches. Both use one kubeconfig; the aggregator forwards requests for Kruise kinds.
	Kube   kubernetes.Interface
	Kruise versioned.Interface
	// Controllers ask for informers in their constructors only. A later request would not be part of Needs, so nobody would start it.
	KubeInformers   KubeInformers
	KruiseInformers KruiseInformers
	// Dynamic and Mapper read workloads of kinds without Go types. They also read from the servers what caches do not show.
	Dynamic dynamic.Interface
	Mapper  workloadclient.Mapper
	// Recorder returns the event recorder of a component.
	Recorder func(component string) record.EventRecorder
	// Features are fixed when the program starts, so a constructor may decide once what it builds.
	Features featuregate.FeatureGate
	// Clock is the only source of time for controllers, so tests can set it.
	Clock clock.PassiveClock
	// Options are the queue options of this controller.
	Options reconcile.Options
	// ExpectationTimeout is how long a cache may take to show a write before the server is asked.
	ExpectationTimeout time.Duration
	// Consistency counts the writes that guards wait for. It may be nil.
	Consistency *consistency.Metrics
	// BudgetRefusals counts updates that a PodUnavailableBudget did not allow. It may be nil.
	BudgetRefusals *refusals.Counter
	// ProtectionLog is the log of these refusals. It may be nil.
	ProtectionLog *protectionlog.Log
	// AgentMetrics count the node agents. They may be nil.
	AgentMetrics *AgentMetrics
	// Rollouts shows how far rollouts are. It may be nil.
	Rollouts *rolloutprogress.Metrics
	// Leftovers deletes what the garbage collector overlooked. It may be nil.
	Leftovers *Leftovers

	// needs is set by Caches.For. A Deps without it has no informers.
	needs *needs
}

// Needs returns the informers that the controller has asked for.
func (d *Deps) Needs() []Need { return d.needs.list() }
