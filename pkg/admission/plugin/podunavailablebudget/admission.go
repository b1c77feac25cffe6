package podunavailablebudget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	lru "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/admission/owners"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/protectionlog"
	"kruise.io/kruise/pkg/workload/disruption"
)

const (
	// PluginName is the plugin's name in flags.
	PluginName = "PodUnavailableBudget"
	// rememberedGrants is how many of the last grants are remembered by the UIDs of their Pods. A forgotten one costs
	// little: the next question about the same Pod may need a second grant.
	rememberedGrants = 10000
)

// Register adds the plugin to the list. The clock gives the times that the plugin writes.
func Register(plugins *admission.Plugins, clock clock.PassiveClock) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(clock), nil })
}

// Plugin is the admission plugin.
type Plugin struct {
	*admission.Handler
	// clock gives the times of grants. gate says which operations are checked.
	clock clock.PassiveClock
	gate  featuregate.FeatureGate
	// host reads Pods. shared is the client of all plugins and sends events.
	host, shared kubernetes.Interface
	owners       owners.Finder
	namespaces   corelisters.NamespaceLister
	// known caches the budgets, indexed by target. budgets stores their grants.
	known   cache.Indexer
	budgets initializer.Budgets
	// granted holds the times of the last grants, by the UID of the Pod. kube-apiserver asks again about the same Pod when the Pod
	// changes during the request.
	granted *lru.LRUExpireCache
	// synced returns true when the cache of budgets is filled. Before that, it tells nothing about a namespace.
	synced func() bool
	// store returns nil if the store is open, else the reason why it is closed.
	store func() error
	// log and events record refusals. drained closes when the server has answered its last request.
	log     *protectionlog.Log
	events  record.EventRecorder
	drained <-chan struct{}
}

// New returns a plugin. Initializers set its dependencies.
func New(clock clock.PassiveClock) *Plugin {
	RegisterMetrics()
	return &Plugin{
		Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete), clock: clock,
		granted: lru.NewLRUExpireCacheWithClock(rememberedGrants, clock),
	}
}

// Validate refuses a disruption that a budget does not allow. The order of its steps matters: what is exempt needs no
// store and no cache, so it is admitted even while both are not available. A disruption that may need a budget is
// answered with an error then.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	if attributes.GetResource().Group != "" || attributes.GetResource().Resource != "pods" {
		return nil
	}
	request, err := p.request(ctx, attributes)
	if err != nil || request == nil || disruption.Exempt(request) {
		return err
	}
	// The store is checked before the cache, because a closed store never fills the cache.
	if err := p.store(); err != nil {
		return err
	}
	// Without the cache of budgets, a namespace with a budget could look like one without. The request does not wait for the cache: the
	// failure policy of the webhook decides.
	if !p.synced() {
		return apierrors.NewServiceUnavailable("PodUnavailableBudgets are not loaded yet; try again in a few seconds")
	}
	budget, err := p.governing(ctx, request.Pod)
	if err != nil || budget == nil {
		return err
	}
	return p.spend(ctx, attributes, request, budget)
}

// spend reserves the disruption in the stored budget. A budget that was deleted in the meantime limits nothing. The
// decision and the grant are one transaction on the stored budget, so the cache only needs to find the budget, and
// its status may be stale.
func (p *Plugin) spend(
	ctx context.Context, attributes admission.Attributes, request *disruption.Request, budget *v1beta1.PodUnavailableBudget,
) error {
	if known, found := p.granted.Get(request.Pod.UID); found {
		request.Granted, _ = known.(time.Time)
	}
	var decided disruption.Request
	err := p.budgets.UpdateStatus(ctx, budget.Namespace, budget.Name, func(stored *v1beta1.PodUnavailableBudget) error {
		// Another budget has taken the name since the cache was read. It has not been counted, so the client is asked
		// to try again.
		if stored.UID != budget.UID {
			return &disruption.Refusal{Reason: disruption.NotObserved, Namespace: stored.Namespace, Name: stored.Name}
		}
		decided = *request // Each attempt starts without the grant of an attempt that was not stored.
		return disruption.Spend(stored, &decided, p.clock.Now())
	})
	var refusal *disruption.Refusal
	switch {
	case err == nil && !decided.Granted.IsZero():
		p.granted.Add(request.Pod.UID, decided.Granted, disruption.DeletionExpiry)
		return nil
	// Nothing was granted: a dry run, or a disruption that needs no grant. Or the budget does not exist any more.
	case err == nil || apierrors.IsNotFound(err):
		return nil
	case errors.As(err, &refusal):
		p.trace(ctx, attributes, request, budget, refusal)
		return answer(attributes, request, refusal)
	default:
		return apierrors.NewInternalError(fmt.Errorf("check PodUnavailableBudget %s/%s: %w", budget.Namespace, budget.Name, err))
	}
}
