package pod

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/admission"
	genericinitializer "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/admission/review"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/podprobe"
	"kruise.io/kruise/pkg/workload/podtopology"
	"kruise.io/kruise/pkg/workload/sidecar"
	"kruise.io/kruise/pkg/workload/spread"
)

// Plugin runs the chain as an admission plugin. All fields are set during the initialization, and only read
// afterwards, so requests need no lock.
type Plugin struct {
	*admission.Handler
	initializer.Features
	initializer.OwnNamespace
	budget   *budget
	sidecars *sidecars
	topology *topology
	probes   *probes
	spreads  *spreads
	// current waits until the cache of SidecarSets is as new as the store. It is nil if no other server can write.
	current func(ctx context.Context) error
	// synced returns true when all caches that every Pod needs are filled. also extends it.
	synced func() bool
	// mutators is the chain. ValidateInitialization builds it, because the mutators copy their dependencies.
	mutators []mutator
}

var (
	_ review.Patcher                                      = &Plugin{}
	_ admission.InitializationValidator                   = &Plugin{}
	_ genericinitializer.WantsExternalKubeInformerFactory = &Plugin{}
	_ genericinitializer.WantsExternalKubeClientSet       = &Plugin{}
	_ genericinitializer.WantsRESTMapper                  = &Plugin{}
	_ genericinitializer.WantsDynamicClient               = &Plugin{}
	_ initializer.WantsKruiseClientSet                    = &Plugin{}
	_ initializer.WantsKruiseFeatures                     = &Plugin{}
	_ initializer.WantsKruiseInformers                    = &Plugin{}
	_ initializer.WantsMetadataClient                     = &Plugin{}
	_ initializer.WantsReviewClients                      = &Plugin{}
	_ initializer.WantsOwnNamespace                       = &Plugin{}
	_ initializer.WantsSidecarRevisions                   = &Plugin{}
	_ initializer.WantsSpreads                            = &Plugin{}
	_ initializer.WantsCurrentSidecarSets                 = &Plugin{}
)

// New returns a plugin. Initializers set its dependencies.
func New(clock clock.PassiveClock) *Plugin {
	return &Plugin{
		Handler: admission.NewHandler(admission.Create), budget: newBudget(clock), sidecars: newSidecars(clock), topology: &topology{},
		probes: &probes{}, spreads: newSpreads(clock),
	}
}

// SetExternalKubeClientSet sets the client of the host cluster. SetReviewClients replaces it where a mutator reads
// owners.
func (p *Plugin) SetExternalKubeClientSet(client kubernetes.Interface) {
	p.budget.owners.Host, p.sidecars.host, p.spreads.owners.Host, p.spreads.custom.Kube = client, client, client, client
}

// SetExternalKubeInformerFactory sets the cache of namespaces.
func (p *Plugin) SetExternalKubeInformerFactory(factory informers.SharedInformerFactory) {
	namespaces := factory.Core().V1().Namespaces()
	p.sidecars.namespaces = namespaces.Lister()
	p.also(namespaces.Informer().HasSynced)
}

// SetSidecarRevisions sets the cache of the stored revisions of SidecarSets. Only Pods that get such a revision wait for it.
func (p *Plugin) SetSidecarRevisions(informer cache.SharedIndexInformer) {
	utilruntime.Must(informer.AddIndexers(cache.Indexers{revisionIndex: revisionsOf}))
	p.sidecars.revisions.known, p.sidecars.revisions.synced = informer.GetIndexer(), informer.HasSynced
}

// also adds a cache that new Pods need. The initializers run in no fixed order, so each adds its own.
func (p *Plugin) also(synced func() bool) {
	before := p.synced
	p.synced = func() bool { return (before == nil || before()) && synced() }
}

// SetRESTMapper sets the mapper for kinds of the host cluster.
func (p *Plugin) SetRESTMapper(mapper meta.RESTMapper) {
	p.budget.owners.Mapper, p.spreads.owners.Mapper, p.spreads.custom.Mapper = mapper, mapper, mapper
}

// SetKruiseClientSet sets the client of this API server.
func (p *Plugin) SetKruiseClientSet(client versioned.Interface) {
	p.budget.owners.Kruise, p.spreads.owners.Kruise = client, client
}

// SetMetadataClient sets the client that reads objects of any kind.
func (p *Plugin) SetMetadataClient(client metadata.Interface) {
	p.budget.owners.Metadata, p.spreads.owners.Metadata = client, client
}

// SetDynamicClient sets the client that reads workloads of custom kinds.
// The dynamic client stays the shared one, because review clients have no dynamic client.
func (p *Plugin) SetDynamicClient(client dynamic.Interface) { p.spreads.custom.Dynamic = client }

// SetReviewClients sets the clients that read owners of Pods, in place of the shared ones.
func (p *Plugin) SetReviewClients(host kubernetes.Interface, metadata metadata.Interface) {
	p.budget.owners.Host, p.budget.owners.Metadata, p.sidecars.host = host, metadata, host
	p.spreads.owners.Host, p.spreads.owners.Metadata, p.spreads.custom.Kube = host, metadata, host
}

// SetKruiseInformers sets the caches that mutators read, and adds the indexes that they need. It is called before the
// informers start. New Pods wait for all caches except that of PodProbeMarkers: only Pods with the gate
// EnablePodProbeMarkerOnServerless need it, so the mutator checks it itself.
func (p *Plugin) SetKruiseInformers(factory externalversions.SharedInformerFactory) {
	budgets := factory.Policy().V1beta1().PodUnavailableBudgets().Informer()
	utilruntime.Must(disruption.Index(budgets))
	p.budget.known = budgets.GetIndexer()
	p.also(budgets.HasSynced)
	sets := factory.Apps().V1beta1().SidecarSets().Informer()
	utilruntime.Must(sets.AddIndexers(sidecar.Indexers()))
	p.sidecars.sets = sets.GetIndexer()
	p.also(sets.HasSynced)
	states := factory.Apps().V1beta1().PersistentPodStates().Informer()
	utilruntime.Must(states.AddIndexers(podtopology.Indexers()))
	p.topology.states = states.GetIndexer()
	p.also(states.HasSynced)
	known := factory.Apps().V1beta1().WorkloadSpreads().Informer()
	utilruntime.Must(known.AddIndexers(spread.Indexers()))
	p.spreads.known = known.GetIndexer()
	p.also(known.HasSynced)
	markers := factory.Apps().V1alpha1().PodProbeMarkers().Informer()
	utilruntime.Must(markers.AddIndexers(podprobe.SelectorIndexers()))
	p.probes.markers, p.probes.synced = markers.GetIndexer(), markers.HasSynced
}

// SetCurrentSidecarSets sets the function that waits for the cache of SidecarSets.
func (p *Plugin) SetCurrentSidecarSets(await func(ctx context.Context) error) { p.current = await }

// SetSpreads sets the store of WorkloadSpreads.
func (p *Plugin) SetSpreads(store initializer.Spreads) { p.spreads.store = store }

// ValidateInitialization returns an error if a dependency is missing, and builds the chain. It is called once, after
// all initializers, so it also passes the feature gates and the namespace on to the mutators.
func (p *Plugin) ValidateInitialization() error {
	if p.Gate == nil || p.Namespace == "" || p.budget.known == nil || p.sidecars.namespaces == nil || p.topology.states == nil ||
		p.probes.markers == nil || p.spreads.known == nil || p.spreads.store == nil || p.spreads.custom.Dynamic == nil ||
		p.sidecars.revisions.known == nil || !p.budget.owners.Complete() {
		return errors.New(PluginName + " needs clients for the host cluster and the Kruise API, caches of both, the feature gates, and the " +
			"system namespace")
	}
	p.budget.features, p.sidecars.features, p.sidecars.revisions.namespace = p.Gate, p.Gate, p.Namespace
	p.probes.features, p.spreads.features, p.spreads.custom.Namespace = p.Gate, p.Gate, p.Namespace
	p.mutators = p.chain()
	return nil
}
