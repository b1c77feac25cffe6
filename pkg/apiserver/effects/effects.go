package effects

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
)

const (
	// patience limits the wait while nothing changes. The caches of the controllers return within three seconds after an outage of this
	// server, so it is longer than that. While namespaces lose their labels, the wait goes on.
	patience = 5 * time.Second
	// answerTime is the part of the request's time that is kept for the answer.
	answerTime = 2 * time.Second
	// lookTime is the time between two looks at the caches, for each namespace that still has the label. The looks then cost a small
	// part of a core, whatever the number of namespaces.
	lookTime = 10 * time.Microsecond
)

// Effects implements rest.Effects. All fields above lock are set once by New.
type Effects struct {
	kinds      map[string]kind
	namespaces cache.Indexer
	// skipped are the namespaces whose Pods are never sent to this server.
	skipped []string
	// unlabel removes the label pub.PodCreationKey of a namespace. It may be nil, then only the controllers remove it.
	unlabel func(ctx context.Context, name string) error

	// lock guards changed, which is replaced at each change.
	lock sync.Mutex
	// changed is closed when one of the caches changes.
	changed chan struct{}
}

// New returns Effects that read the caches of the informers. It does not start them. It returns an error if an informer rejects a
// handler.
func New(
	kruise externalversions.SharedInformerFactory, namespaces cache.SharedIndexInformer, skipped []string, gate featuregate.FeatureGate,
	unlabel func(ctx context.Context, name string) error,
) (*Effects, error) {
	e := &Effects{
		kinds: kindsOf(kruise, gate), namespaces: namespaces.GetIndexer(), skipped: skipped, unlabel: unlabel, changed: make(chan struct{}),
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { e.notify() }, UpdateFunc: func(any, any) { e.notify() }, DeleteFunc: func(any) { e.notify() },
	}
	informers := []cache.SharedIndexInformer{namespaces}
	for _, kind := range e.kinds {
		informers = append(informers, kind.informer)
	}
	for _, informer := range informers {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("wait for the effects of writes: %w", err)
		}
	}
	return e, nil
}

// notify wakes all waiting requests. Each one looks at the caches again by itself.
func (e *Effects) notify() {
	e.lock.Lock()
	defer e.lock.Unlock()
	close(e.changed)
	e.changed = make(chan struct{})
}

// next returns a channel that is closed at the next change of a cache.
func (e *Effects) next() <-chan struct{} {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.changed
}

// Await implements rest.Effects. It returns when the write has taken effect on new Pods. If it takes too long, it warns the client. It
// never fails: the write is stored already. The answer is delayed only for kinds that New lists.
func (e *Effects) Await(ctx context.Context, kind string, written metav1.Object, deleted bool) {
	concerned, found := e.kinds[kind]
	if !found {
		return
	}
	// An update that removes the last finalizer of an object deletes it.
	deleted = deleted || written.GetDeletionTimestamp() != nil && len(written.GetFinalizers()) == 0
	waiting, cancel := beforeAnswer(ctx)
	defer cancel()
	idle := time.NewTimer(patience)
	defer idle.Stop()
	left := 0
	for {
		// The channel is taken before the look at the caches. A change between the two closes it, so no change is
		// missed.
		changed := e.next()
		missing, ignored := e.missing(&concerned, written, deleted)
		if missing == "" {
			return
		}
		switch {
		case len(ignored) > 0 && left == 0 && e.unlabel != nil:
			go e.clear(waiting, ignored)
		case len(ignored) < left:
			idle.Reset(patience)
		}
		left = len(ignored)
		select {
		case <-changed:
			pause(waiting, time.Duration(left-1)*lookTime)
			continue
		case <-idle.C:
		case <-waiting.Done():
		}
		warning.AddWarning(ctx, "", missing)
		return
	}
}

// beforeAnswer returns a context that ends while there is still time for an answer.
func beforeAnswer(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, limited := ctx.Deadline(); limited {
		return context.WithDeadline(ctx, end.Add(-answerTime))
	}
	return context.WithCancel(ctx)
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, wait time.Duration) {
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// missing says what has not taken effect yet, or "". ignored are the namespaces whose Pods kube-apiserver does not ask about, if nothing
// else is missing. An object that was replaced by another one of the same name is not waited for, because the cache will never show it.
func (e *Effects) missing(kind *kind, written metav1.Object, deleted bool) (text string, ignored []*corev1.Namespace) {
	item, _, _ := kind.informer.GetIndexer().Get(written) // The indexer cannot fail.
	cached, found := item.(metav1.Object)
	replaced := found && cached.GetUID() != written.GetUID()
	if deleted {
		if found && !replaced {
			return kind.staleText + " during the next seconds", nil
		}
		return "", nil
	}
	if replaced {
		return "", nil
	}
	if !found || older(cached.GetResourceVersion(), written.GetResourceVersion()) {
		return "the write has no effect on new Pods yet; wait some seconds before you create Pods", nil
	}
	// The cache shows the write. Now the label of the namespaces decides whether kube-apiserver asks about their Pods
	// at all.
	for _, namespace := range kind.concerns(cached, e.namespaces) {
		if namespace.Labels[pub.PodCreationKey] == pub.PodCreationIgnored && namespace.DeletionTimestamp == nil &&
			!slices.Contains(e.skipped, namespace.Name) {
			ignored = append(ignored, namespace)
		}
	}
	if len(ignored) == 0 {
		return "", nil
	}
	others := ""
	if len(ignored) > 1 {
		others = fmt.Sprintf(" and %d other namespaces", len(ignored)-1)
	}
	return fmt.Sprintf("new Pods in namespace %s%s %s while it has the label %s: write the object again, or remove the label",
		ignored[0].Name, others, kind.missingText, pub.PodCreationKey), ignored
}

// older reports whether the cache has an older version than the one that was written. Versions that cannot be
// compared count as current.
func older(cached, written string) bool {
	order, err := resourceversion.CompareResourceVersion(cached, written)
	return err == nil && order < 0
}
