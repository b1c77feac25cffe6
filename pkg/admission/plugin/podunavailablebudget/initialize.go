package podunavailablebudget

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/admission"
	genericinitializer "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/admission/protectionlog"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/workload/disruption"
)

// eventSource is who events come from.
const eventSource = "pub-controller"

var (
	_ admission.ValidationInterface                       = &Plugin{}
	_ admission.InitializationValidator                   = &Plugin{}
	_ genericinitializer.WantsExternalKubeClientSet       = &Plugin{}
	_ genericinitializer.WantsExternalKubeInformerFactory = &Plugin{}
	_ genericinitializer.WantsDrainedNotification         = &Plugin{}
	_ genericinitializer.WantsRESTMapper                  = &Plugin{}
	_ initializer.WantsKruiseClientSet                    = &Plugin{}
	_ initializer.WantsKruiseFeatures                     = &Plugin{}
	_ initializer.WantsKruiseInformers                    = &Plugin{}
	_ initializer.WantsBudgets                            = &Plugin{}
	_ initializer.WantsMetadataClient                     = &Plugin{}
	_ initializer.WantsProtectionLog                      = &Plugin{}
)

// SetExternalKubeClientSet takes the client of the host cluster.
func (p *Plugin) SetExternalKubeClientSet(client kubernetes.Interface) {
	p.host, p.owners.Host = client, client
}

// SetRESTMapper takes what knows the kinds of the host cluster.
func (p *Plugin) SetRESTMapper(mapper meta.RESTMapper) { p.owners.Mapper = mapper }

// SetExternalKubeInformerFactory takes the cache of namespaces.
func (p *Plugin) SetExternalKubeInformerFactory(factory informers.SharedInformerFactory) {
	p.namespaces = factory.Core().V1().Namespaces().Lister()
}

// SetDrainedNotification takes when the server has answered its last request.
func (p *Plugin) SetDrainedNotification(drained <-chan struct{}) { p.drained = drained }

// sendEvents makes the recorder, whose events are sent until the server has answered its last request.
func (p *Plugin) sendEvents() {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(v1beta1.AddToScheme(scheme))
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: p.host.CoreV1().Events("")})
	p.events = broadcaster.NewRecorder(scheme, corev1.EventSource{Component: eventSource})
	go func() {
		<-p.drained
		broadcaster.Shutdown()
	}()
}

// SetKruiseClientSet takes the client of our own API.
func (p *Plugin) SetKruiseClientSet(client versioned.Interface) { p.owners.Kruise = client }

// SetKruiseFeatures takes the gates.
func (p *Plugin) SetKruiseFeatures(gate featuregate.FeatureGate) { p.gate = gate }

// SetMetadataClient takes the client that reads objects of any kind.
func (p *Plugin) SetMetadataClient(client metadata.Interface) { p.owners.Metadata = client }

// SetProtectionLog takes where refusals are written down.
func (p *Plugin) SetProtectionLog(log *protectionlog.Log) { p.log = log }

// SetBudgets takes the store of budgets.
func (p *Plugin) SetBudgets(budgets initializer.Budgets) { p.budgets = budgets }

// SetStoreCheck takes what says why the store is not open.
func (p *Plugin) SetStoreCheck(check func() error) { p.store = check }

// SetKruiseInformers takes the cache of budgets. Requests wait until it is filled.
func (p *Plugin) SetKruiseInformers(factory externalversions.SharedInformerFactory) {
	informer := factory.Policy().V1beta1().PodUnavailableBudgets().Informer()
	utilruntime.Must(disruption.Index(informer))
	p.known = informer.GetIndexer()
	p.SetReadyFunc(informer.HasSynced)
}

// ValidateInitialization says whether everything was given. It is called once, after all initializers.
func (p *Plugin) ValidateInitialization() error {
	if p.host == nil || p.namespaces == nil || p.gate == nil || p.known == nil || p.budgets == nil || p.store == nil || p.log == nil ||
		p.drained == nil || !p.owners.Complete() {
		return errors.New(PluginName + " needs clients and caches of the host cluster and of our own, the store of budgets, the gates, " +
			"the protection log, and to know when the server ends")
	}
	p.sendEvents()
	return nil
}
