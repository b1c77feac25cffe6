package controller

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	lru "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/protectionlog"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/refusals"
)

// Budget returns the budget for updates, or nil if its feature gate is off. The budget reads cached PodUnavailableBudgets by index,
// but reserves with a write to the server, so two replicas or a stale cache cannot grant the same Pod twice.
func (c *Of[T]) Budget() engine.Budget {
	if !c.deps.Features.Enabled(features.PodUnavailableBudgetUpdateGate) {
		return nil
	}
	informer := c.deps.KruiseInformers.Policy().V1beta1().PodUnavailableBudgets()
	var budgets cache.Indexer
	for name, values := range disruption.Indexers() {
		budgets = c.Index(informer, name, values)
	}
	return newTraced(disruption.NewReserver(budgets, c.deps.Kruise.PolicyV1beta1(), c.deps.Clock), &c.deps)
}

const (
	// managerUser is the user of updates by controllers in the metric and the log of refusals.
	managerUser = "kruise-manager"
	// refusalForgotten is the time after the last refusal of a Pod after which the next one is reported again. A Pod that waits for its
	// budget is refused about once a second.
	refusalForgotten = time.Minute
	// refusalsKept is how many waiting Pods are remembered. A Pod that is forgotten is reported once more.
	refusalsKept = 10000
)

// traced is a budget whose refusals leave the same traces as those of the webhook: the metric counts each refusal, and the Pod's event
// and the line in the protection log are written when the Pod begins to wait. The manager is one user in them.
type traced struct {
	engine.Budget
	refusals *refusals.Counter
	log      *protectionlog.Log
	recorder record.EventRecorder
	// waiting holds the UIDs of the Pods that wait.
	waiting *lru.LRUExpireCache
}

func newTraced(budget engine.Budget, deps *Deps) *traced {
	return &traced{
		Budget: budget, refusals: deps.BudgetRefusals, log: deps.ProtectionLog, recorder: deps.Recorder(disruption.EventSource),
		waiting: lru.NewLRUExpireCacheWithClock(refusalsKept, deps.Clock),
	}
}

// Reserve implements engine.Budget.
func (b *traced) Reserve(ctx context.Context, workload metav1.Object, kind schema.GroupKind, pod *corev1.Pod) error {
	err := b.Budget.Reserve(ctx, workload, kind, pod)
	var refusal *disruption.Refusal
	switch {
	case err == nil:
		b.waiting.Remove(pod.UID)
	// NotObserved is no refusal by the user's numbers. It ends as soon as the budget's controller has counted, and the update is
	// tried again.
	case errors.As(err, &refusal) && refusal.Reason != disruption.NotObserved:
		b.trace(ctx, strings.Join([]string{kind.Kind, workload.GetNamespace(), workload.GetName()}, "_"), pod, refusal)
	}
	return err
}

// trace records a refusal. object is the label of the workload in the metric.
func (b *traced) trace(ctx context.Context, object string, pod *corev1.Pod, refusal *disruption.Refusal) {
	if b.refusals != nil {
		b.refusals.Count(object, managerUser)
	}
	_, waits := b.waiting.Get(pod.UID)
	b.waiting.Add(pod.UID, true, refusalForgotten)
	if waits {
		return
	}
	b.recorder.Event(pod, corev1.EventTypeWarning, disruption.EventReason, refusal.Error())
	if b.log != nil {
		b.log.Write(ctx, protectionlog.Entry{
			Event: protectionlog.PodUnavailableBudget, Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UserAgent: managerUser,
		})
	}
}

// OwnedIn returns the objects of an indexer by owner, in the form that an engine reads. IndexByOwner must have added the index.
func OwnedIn[O any](indexer cache.Indexer) engine.Owned[O] {
	return func(owner metav1.Object) ([]O, error) { return ByOwner[O](indexer, owner) }
}

// NamedIn returns the object of an informer's cache that has a name, or nil, in the form that an engine reads. An object that was just
// created can be missing in the cache. The guard waits for such a write of the same workload, so its passes see the object.
func NamedIn[O metav1.Object](informer Informer) func(namespace, name string) (O, error) {
	indexer := informer.Informer().GetIndexer()
	return func(namespace, name string) (object O, err error) {
		item, _, err := indexer.GetByKey(cache.NewObjectName(namespace, name).String())
		object, _ = item.(O)
		return object, err
	}
}
