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
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/eventlimit"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/protectionlog"
	"kruise.io/kruise/pkg/workload/disruption"
)

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
	_ initializer.WantsReviewClients                      = &Plugin{}
)

// SetExternalKubeClientSet sets the client of the host cluster.
func (p *Plugin) SetExternalKubeClientSet(client kubernetes.Interface) {
	p.shared, p.host, p.owners.Host = client, client, client
}

// SetReviewClients sets the clients that read Pods and their owners, in place of the shared ones. Events are sent by the shared
// client, so refusals do not delay reads.
func (p *Plugin) SetReviewClients(host kubernetes.Interface, metadata metadata.Interface) {
	p.host, p.owners.Host, p.owners.Metadata = host, host, metadata
}

// SetRESTMapper sets the mapper for kinds of the host cluster.
func (p *Plugin) SetRESTMapper(mapper meta.RESTMapper) { p.owners.Mapper = mapper }

// SetExternalKubeInformerFactory sets the cache of namespaces.
func (p *Plugin) SetExternalKubeInformerFactory(factory informers.SharedInformerFactory) {
	p.namespaces = factory.Core().V1().Namespaces().Lister()
}

// SetDrainedNotification sets the channel that closes when the server has answered its last request.
func (p *Plugin) SetDrainedNotification(drained <-chan struct{}) { p.drained = drained }

// sendEvents creates the event recorder. It sends events until the server has answered its last request, so refusals
// of the last requests still get their events. Its scheme has both groups of types, because events refer to Pods and
// to budgets by their kinds.
func (p *Plugin) sendEvents() {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(v1beta1.AddToScheme(scheme))
	broadcaster := record.NewBroadcaster(eventlimit.PerReason(0))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: p.shared.CoreV1().Events("")})
	p.events = broadcaster.NewRecorder(scheme, corev1.EventSource{Component: disruption.EventSource})
	go func() {
		<-p.drained
		broadcaster.Shutdown()
	}()
}

// SetKruiseClientSet sets the client of this API server.
func (p *Plugin) SetKruiseClientSet(client versioned.Interface) { p.owners.Kruise = client }

// SetKruiseFeatures sets the feature gates.
func (p *Plugin) SetKruiseFeatures(gate featuregate.FeatureGate) { p.gate = gate }

// SetMetadataClient sets the client that reads objects of any kind.
func (p *Plugin) SetMetadataClient(client metadata.Interface) { p.owners.Metadata = client }

// SetProtectionLog sets the log of refusals.
func (p *Plugin) SetProtectionLog(log *protectionlog.Log) { p.log = log }

// SetBudgets sets the store of budgets.
func (p *Plugin) SetBudgets(budgets initializer.Budgets) { p.budgets = budgets }

// SetStoreCheck sets the function that returns why the store is closed.
func (p *Plugin) SetStoreCheck(check func() error) { p.store = check }

// SetKruiseInformers sets the cache of budgets. Requests wait until the cache is filled.
func (p *Plugin) SetKruiseInformers(factory externalversions.SharedInformerFactory) {
	informer := factory.Policy().V1beta1().PodUnavailableBudgets().Informer()
	utilruntime.Must(disruption.Index(informer))
	p.known = informer.GetIndexer()
	p.SetReadyFunc(informer.HasSynced)
}

// ValidateInitialization returns an error if a dependency is missing. It is called once, after all initializers, so
// it also starts the goroutine that sends events.
func (p *Plugin) ValidateInitialization() error {
	if p.host == nil || p.namespaces == nil || p.gate == nil || p.known == nil || p.budgets == nil || p.store == nil || p.log == nil ||
		p.drained == nil || !p.owners.Complete() {
		return errors.New(PluginName + " needs clients and caches for the host cluster and the Kruise API, the store of budgets, the " +
			"feature gates, the protection log and the server's stop channel")
	}
	p.sendEvents()
	return nil
}

// SetReadyFunc sets the function that tells whether the cache of budgets is filled.
func (p *Plugin) SetReadyFunc(synced admission.ReadyFunc) {
	p.synced = synced
	p.Handler.SetReadyFunc(synced)
}
