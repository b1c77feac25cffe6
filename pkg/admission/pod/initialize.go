package pod

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/admission"
	genericinitializer "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/workload/disruption"
)

// Plugin runs the chain as an admission plugin.
type Plugin struct {
	*admission.Handler
	initializer.Features
	budget   *budget
	synced   func() bool
	mutators []mutator
}

var (
	_ admission.MutationInterface                   = &Plugin{}
	_ admission.InitializationValidator             = &Plugin{}
	_ genericinitializer.WantsExternalKubeClientSet = &Plugin{}
	_ genericinitializer.WantsRESTMapper            = &Plugin{}
	_ initializer.WantsKruiseClientSet              = &Plugin{}
	_ initializer.WantsKruiseFeatures               = &Plugin{}
	_ initializer.WantsKruiseInformers              = &Plugin{}
	_ initializer.WantsMetadataClient               = &Plugin{}
	_ initializer.WantsReviewClients                = &Plugin{}
)

// New returns a plugin. Initializers set its dependencies.
func New(clock clock.PassiveClock) *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create), budget: newBudget(clock)}
}

// SetExternalKubeClientSet sets the client of the host cluster.
func (p *Plugin) SetExternalKubeClientSet(client kubernetes.Interface) { p.budget.owners.Host = client }

// SetRESTMapper sets the mapper for kinds of the host cluster.
func (p *Plugin) SetRESTMapper(mapper meta.RESTMapper) { p.budget.owners.Mapper = mapper }

// SetKruiseClientSet sets the client of this API server.
func (p *Plugin) SetKruiseClientSet(client versioned.Interface) { p.budget.owners.Kruise = client }

// SetMetadataClient sets the client that reads objects of any kind.
func (p *Plugin) SetMetadataClient(client metadata.Interface) { p.budget.owners.Metadata = client }

// SetReviewClients sets the clients that read owners of Pods, in place of the shared ones.
func (p *Plugin) SetReviewClients(host kubernetes.Interface, metadata metadata.Interface) {
	p.budget.owners.Host, p.budget.owners.Metadata = host, metadata
}

// SetKruiseInformers sets the caches that mutators read.
func (p *Plugin) SetKruiseInformers(factory externalversions.SharedInformerFactory) {
	budgets := factory.Policy().V1beta1().PodUnavailableBudgets().Informer()
	utilruntime.Must(disruption.Index(budgets))
	p.budget.known = budgets.GetIndexer()
	p.synced = budgets.HasSynced
}

// ValidateInitialization returns an error if a dependency is missing, and builds the chain. It is called once, after all initializers.
func (p *Plugin) ValidateInitialization() error {
	if p.Gate == nil || p.synced == nil || !p.budget.owners.Complete() {
		return errors.New(PluginName + " needs clients for the host cluster and the Kruise API, caches of Kruise kinds, and the feature " +
			"gates")
	}
	p.budget.features = p.Gate
	p.mutators = p.chain()
	return nil
}
