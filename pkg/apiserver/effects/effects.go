package effects

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
)

// patience limits the wait for the effects of one write. The caches of the controllers return within three seconds after an outage of
// this server, so it is longer than that.
const patience = 5 * time.Second

// Effects implements rest.Effects. All fields above lock are set once by New.
type Effects struct {
	kinds      map[string]kind
	namespaces cache.Indexer
	// skipped are the namespaces whose Pods are never sent to this server.
	skipped []string

	// lock guards changed, which is replaced at each change.
	lock sync.Mutex
	// changed is closed when one of the caches changes.
	changed chan struct{}
}

// New returns Effects that read the caches of the informers. It does not start them. It returns an error if an informer rejects a
// handler.
func New(
	kruise externalversions.SharedInformerFactory, namespaces cache.SharedIndexInformer, skipped []string, gate featuregate.FeatureGate,
) (*Effects, error) {
	e := &Effects{kinds: kindsOf(kruise, gate), namespaces: namespaces.GetIndexer(), skipped: skipped, changed: make(chan struct{})}
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

// Await implements rest.Effects. It returns when the write has taken effect on new Pods, or after patience with a
// warning to the client. It never fails: the write is stored already. The answer is delayed only for kinds that New
// lists.
func (e *Effects) Await(ctx context.Context, kind string, written metav1.Object, deleted bool) {
	concerned, found := e.kinds[kind]
	if !found {
		return
	}
	// An update that removes the last finalizer of an object deletes it.
	deleted = deleted || written.GetDeletionTimestamp() != nil && len(written.GetFinalizers()) == 0
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		// The channel is taken before the look at the caches. A change between the two closes it, so no change is
		// missed.
		changed := e.next()
		missing := e.missing(&concerned, written, deleted)
		if missing == "" {
			return
		}
		select {
		case <-changed:
		case <-waiting.Done():
			warning.AddWarning(ctx, "", missing)
			return
		}
	}
}

// missing says what has not taken effect yet, or "". An object that was replaced by another one of the same name is
// not waited for, because the cache will never show it.
func (e *Effects) missing(kind *kind, written metav1.Object, deleted bool) string {
	item, _, _ := kind.informer.GetIndexer().Get(written) // The indexer cannot fail.
	cached, found := item.(metav1.Object)
	replaced := found && cached.GetUID() != written.GetUID()
	if deleted {
		if found && !replaced {
			return kind.staleText + " during the next seconds"
		}
		return ""
	}
	if replaced {
		return ""
	}
	if !found || older(cached.GetResourceVersion(), written.GetResourceVersion()) {
		return "the write has no effect on new Pods yet; wait some seconds before you create Pods"
	}
	// The cache shows the write. Now the label of the namespaces decides whether kube-apiserver asks about their Pods
	// at all.
	for _, namespace := range kind.concerns(cached, e.namespaces) {
		if namespace.Labels[pub.PodCreationKey] == pub.PodCreationIgnored && namespace.DeletionTimestamp == nil &&
			!slices.Contains(e.skipped, namespace.Name) {
			return fmt.Sprintf("new Pods in namespace %s %s before kruise-controller-manager removes the label %s of the namespace",
				namespace.Name, kind.missingText, pub.PodCreationKey)
		}
	}
	return ""
}

// older reports whether the cache has an older version than the one that was written. Versions that cannot be
// compared count as current.
func older(cached, written string) bool {
	order, err := resourceversion.CompareResourceVersion(cached, written)
	return err == nil && order < 0
}
