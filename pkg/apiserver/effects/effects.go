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

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// patience limits the wait for the effects of one write.
const patience = 2 * time.Second

// Effects implements rest.Effects for SidecarSets.
type Effects struct {
	sets, namespaces cache.Indexer
	// skipped are the namespaces whose Pods are never sent to this server.
	skipped []string

	lock sync.Mutex
	// changed is closed when one of the caches changes.
	changed chan struct{}
}

// New returns Effects that read the caches of the informers. It does not start them. It returns an error if an informer rejects a
// handler.
func New(sets, namespaces cache.SharedIndexInformer, skipped []string) (*Effects, error) {
	e := &Effects{sets: sets.GetIndexer(), namespaces: namespaces.GetIndexer(), skipped: skipped, changed: make(chan struct{})}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { e.notify() }, UpdateFunc: func(any, any) { e.notify() }, DeleteFunc: func(any) { e.notify() },
	}
	for _, informer := range []cache.SharedIndexInformer{sets, namespaces} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("wait for the effects of writes: %w", err)
		}
	}
	return e, nil
}

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

// Await implements rest.Effects.
func (e *Effects) Await(ctx context.Context, kind string, written metav1.Object, deleted bool) {
	if kind != "sidecarsets" {
		return
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		changed := e.next()
		missing := e.missing(written, deleted)
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

// missing says what has not taken effect yet, or "".
func (e *Effects) missing(written metav1.Object, deleted bool) string {
	item, _, _ := e.sets.GetByKey(written.GetName()) // The indexer cannot fail.
	set, found := item.(*v1beta1.SidecarSet)
	replaced := found && set.UID != written.GetUID()
	if deleted {
		if found && !replaced {
			return "new Pods may still get the containers of the SidecarSet during the next seconds"
		}
		return ""
	}
	if replaced {
		return ""
	}
	if !found || older(set.ResourceVersion, written.GetResourceVersion()) {
		return "the write has no effect on new Pods yet; wait some seconds before you create Pods"
	}
	for _, item := range e.namespaces.List() {
		namespace, ok := item.(*corev1.Namespace)
		if ok && namespace.Labels[pub.SidecarSetNamespaceKey] == pub.SidecarSetNamespaceNone && namespace.DeletionTimestamp == nil &&
			!slices.Contains(e.skipped, namespace.Name) && sidecar.SelectsNamespace(set, namespace.Labels) {
			return fmt.Sprintf("new Pods in namespace %s do not get the containers of the SidecarSet before kruise-controller-manager "+
				"removes the label %s of the namespace", namespace.Name, pub.SidecarSetNamespaceKey)
		}
	}
	return ""
}

// older reports whether the cache has an older version than the one that was written.
func older(cached, written string) bool {
	order, err := resourceversion.CompareResourceVersion(cached, written)
	return err == nil && order < 0
}
