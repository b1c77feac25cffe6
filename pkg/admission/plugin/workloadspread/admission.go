package workloadspread

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	genericinitializer "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/admission/dryrun"
	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/admission/owners"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/spread"
)

// PluginName is the plugin's name in flags.
const PluginName = "WorkloadSpread"

// Register adds the plugin to the list. The clock gives the times that the plugin writes.
func Register(plugins *admission.Plugins, clock clock.PassiveClock) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(clock), nil })
}

// Plugin is the admission plugin.
type Plugin struct {
	*admission.Handler
	initializer.Features
	// clock gives the times at which slots are returned.
	clock clock.PassiveClock
	// owners reads the owners of Pods. Its client of the host cluster reads the Pods of evictions too.
	owners owners.Finder
	// known caches the WorkloadSpreads. spreads stores their slots.
	known cache.Indexer
	// synced says whether known is filled. The plugin does not wait for it: without the cache, it reads the Pod of
	// every eviction.
	synced  func() bool
	spreads initializer.Spreads
}

var (
	_ admission.ValidationInterface                 = &Plugin{}
	_ admission.InitializationValidator             = &Plugin{}
	_ genericinitializer.WantsExternalKubeClientSet = &Plugin{}
	_ genericinitializer.WantsRESTMapper            = &Plugin{}
	_ initializer.WantsKruiseClientSet              = &Plugin{}
	_ initializer.WantsKruiseFeatures               = &Plugin{}
	_ initializer.WantsKruiseInformers              = &Plugin{}
	_ initializer.WantsMetadataClient               = &Plugin{}
	_ initializer.WantsReviewClients                = &Plugin{}
	_ initializer.WantsSpreads                      = &Plugin{}
)

// New returns a plugin. Initializers set its dependencies.
func New(clock clock.PassiveClock) *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Delete), clock: clock}
}

// SetExternalKubeClientSet sets the client of the host cluster.
func (p *Plugin) SetExternalKubeClientSet(client kubernetes.Interface) { p.owners.Host = client }

// SetReviewClients sets the clients that read Pods and their owners, in place of the shared ones, so that reviews do
// not wait behind other writes.
func (p *Plugin) SetReviewClients(host kubernetes.Interface, metadata metadata.Interface) {
	p.owners.Host, p.owners.Metadata = host, metadata
}

// SetRESTMapper sets the mapper for kinds of the host cluster.
func (p *Plugin) SetRESTMapper(mapper meta.RESTMapper) { p.owners.Mapper = mapper }

// SetKruiseClientSet sets the client of this API server.
func (p *Plugin) SetKruiseClientSet(client versioned.Interface) { p.owners.Kruise = client }

// SetMetadataClient sets the client that reads objects of any kind.
func (p *Plugin) SetMetadataClient(client metadata.Interface) { p.owners.Metadata = client }

// SetKruiseInformers sets the cache of WorkloadSpreads.
func (p *Plugin) SetKruiseInformers(factory externalversions.SharedInformerFactory) {
	informer := factory.Apps().V1beta1().WorkloadSpreads().Informer()
	p.known, p.synced = informer.GetIndexer(), informer.HasSynced
}

// SetSpreads sets the store of WorkloadSpreads.
func (p *Plugin) SetSpreads(spreads initializer.Spreads) { p.spreads = spreads }

// ValidateInitialization returns an error if a dependency is missing.
func (p *Plugin) ValidateInitialization() error {
	if !p.owners.Complete() || p.known == nil || p.spreads == nil || p.Gate == nil {
		return errors.New(PluginName + " needs clients for the host cluster and the Kruise API, the cache and the store of WorkloadSpreads, " +
			"and the feature gates")
	}
	return nil
}

// Validate returns the slot of a Pod that is deleted or evicted. Dry runs return nothing. The slot is returned before
// the Pod is gone, because its replacement can be created at once. If the Pod is not deleted after all, the entry
// expires, and a recount of the controller removes it. The annotation of the Pod names the WorkloadSpread, so no lookup is needed.
//
// A recount does not count Pods of a deleted workload, although they may still run, and the slots may belong to another
// workload of the same name. So the owners of the Pod are read, and a Pod returns a slot only if the target
// owns it, or may own it because an owner cannot be read.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	if attributes.GetResource().GroupResource() != corev1.Resource("pods") || dryrun.Requested(attributes) ||
		!p.Gate.Enabled(features.WorkloadSpread) {
		return nil
	}
	pod, err := p.podOf(ctx, attributes)
	// A Pod without a controller is not replaced, and an inactive Pod no longer holds a slot.
	if err != nil || pod == nil || !podstate.Active(pod) || metav1.GetControllerOfNoCopy(pod) == nil {
		return err
	}
	matched, found := spread.MatchedOf(pod)
	if !found {
		return nil
	}
	above, err := p.chainOf(ctx, pod, matched)
	if err == nil && len(above.workloads) > 0 {
		err = p.spreads.UpdateStatus(ctx, pod.Namespace, matched.Name, func(stored *v1beta1.WorkloadSpread) error {
			if above.mayInclude(stored) {
				spread.Release(stored, pod, matched, p.clock.Now())
			}
			return nil
		})
	}
	// Without the WorkloadSpread, there is no slot. Any other error fails the review, and its failure policy decides.
	if err != nil && !apierrors.IsNotFound(err) {
		return apierrors.NewInternalError(fmt.Errorf("return the slot in WorkloadSpread %s/%s: %w", pod.Namespace, matched.Name, err))
	}
	return nil
}

// podOf returns the Pod that the request ends, or nil. An eviction only has its name.
func (p *Plugin) podOf(ctx context.Context, attributes admission.Attributes) (*corev1.Pod, error) {
	switch operation, subresource := attributes.GetOperation(), attributes.GetSubresource(); {
	case operation == admission.Delete && subresource == "":
		pod, _ := attributes.GetOldObject().(*corev1.Pod)
		return pod, nil
	case operation == admission.Create && subresource == "eviction" && p.concerns(attributes.GetNamespace()):
		pod, err := p.owners.Host.CoreV1().Pods(attributes.GetNamespace()).Get(ctx, attributes.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil // kube-apiserver says so.
		}
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("get Pod %s/%s: %w", attributes.GetNamespace(), attributes.GetName(), err))
		}
		return pod, nil
	default:
		return nil, nil
	}
}

// concerns reports whether the namespace may have a WorkloadSpread. It returns true while that is unknown. An
// eviction in another namespace costs no read of the Pod.
func (p *Plugin) concerns(namespace string) bool {
	if !p.synced() {
		return true
	}
	keys, err := p.known.IndexKeys(cache.NamespaceIndex, namespace)
	return err != nil || len(keys) > 0
}
