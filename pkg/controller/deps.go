package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
)

// Deps is what the program gives to each controller's constructor.
type Deps struct {
	Kube            kubernetes.Interface
	Kruise          versioned.Interface
	KubeInformers   informers.SharedInformerFactory
	KruiseInformers externalversions.SharedInformerFactory
	// Dynamic and Mapper reach workloads of kinds that nobody has types for.
	Dynamic dynamic.Interface
	Mapper  meta.RESTMapper
	// Recorder makes the recorder of an event source.
	Recorder func(component string) record.EventRecorder
	Features featuregate.FeatureGate
	Clock    clock.PassiveClock
	// Options are those of this controller.
	Options Options
	// ExpectationTimeout is how long a cache may take to show a write before it is given up.
	ExpectationTimeout time.Duration
	// PullSecretsNamespace holds the copies of pull secrets that node agents get, and PullSecretInformers see it alone.
	PullSecretsNamespace string
	PullSecretInformers  informers.SharedInformerFactory
	// NodeImageCreationDelay is how long a node is ready before it gets a NodeImage.
	NodeImageCreationDelay time.Duration
	// NodeImageTagTTL is how long a tag of a job that ends outlasts what the job itself asks for.
	NodeImageTagTTL time.Duration
	// ScalingExcludePreparingDelete is the cluster-wide default of a CloneSet's scaleStrategy.excludePreparingDelete.
	ScalingExcludePreparingDelete bool
}
