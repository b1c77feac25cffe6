package controllertest

import (
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/workload/engine"
)

// Pods returns the server's Pods, sorted by name. They must not be changed.
func (s *Server) Pods() (pods []*corev1.Pod) {
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		pods = append(pods, s.pods[name])
	}
	return pods
}

// Claims returns the server's claims, sorted by name. They must not be changed.
func (s *Server) Claims() (claims []*corev1.PersistentVolumeClaim) {
	for _, name := range slices.Sorted(maps.Keys(s.claims)) {
		claims = append(claims, s.claims[name])
	}
	return claims
}

// ChangePod changes a Pod as another client would, and returns whether anything changed.
func (s *Server) ChangePod(name string, edit func(*corev1.Pod)) bool {
	before := s.pods[name]
	if before == nil {
		return false
	}
	after := before.DeepCopy()
	edit(after)
	if apiequality.Semantic.DeepEqual(before, after) {
		return false
	}
	s.store(pods, after)
	return true
}

// Stop completes the deletion of a Pod, as its node does.
func (s *Server) Stop(pod *corev1.Pod) { s.remove(pods, pod.Name) }

// Collect acts as the garbage collector: it deletes claims whose owners are all deleted Pods. It returns whether it deleted any.
func (s *Server) Collect() (collected bool) {
	alive := map[types.UID]bool{}
	for _, pod := range s.pods {
		alive[pod.UID] = true
	}
	for _, claim := range s.Claims() {
		lives := func(ref metav1.OwnerReference) bool { return ref.Kind != "Pod" || alive[ref.UID] }
		if len(claim.OwnerReferences) > 0 && !slices.ContainsFunc(claim.OwnerReferences, lives) {
			s.remove(claims, claim.Name)
			collected = true
		}
	}
	return collected
}

// LaggingCaches show the server as it was at some version.
type LaggingCaches struct {
	server    *Server
	next      int
	reached   int64
	pods      table[*corev1.Pod]
	claims    table[*corev1.PersistentVolumeClaim]
	revisions table[*appsv1.ControllerRevision]
}

// NewLaggingCaches returns empty caches of the server.
func NewLaggingCaches(s *Server) *LaggingCaches {
	return &LaggingCaches{
		server: s, reached: 1,
		pods: table[*corev1.Pod]{}, claims: table[*corev1.PersistentVolumeClaim]{}, revisions: table[*appsv1.ControllerRevision]{},
	}
}

// Reach brings the caches to a version.
func (c *LaggingCaches) Reach(version int64) {
	for ; c.next < len(c.server.log) && c.server.log[c.next].version <= version; c.next++ {
		e := c.server.log[c.next]
		c.reached = e.version
		switch e.resource {
		case pods:
			put(c.pods, e)
		case claims:
			put(c.claims, e)
		case revisions:
			put(c.revisions, e)
		}
	}
}

func put[T metav1.Object](objects table[T], e entry) {
	if object, ok := e.object.(T); ok {
		objects[e.name] = object
	} else {
		delete(objects, e.name)
	}
}

// Lag brings the caches to a random version between their own and the newest.
func (c *LaggingCaches) Lag() {
	behind := c.server.version - c.reached
	if behind > 0 {
		c.Reach(c.reached + c.server.Rand.Int64N(behind+1))
	}
}

// Pods returns the cached Pods, sorted by name.
func (c *LaggingCaches) Pods() (pods []*corev1.Pod) {
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		pods = append(pods, c.pods[name])
	}
	return pods
}

// Caches returns the caches in the form that an engine reads.
func (c *LaggingCaches) Caches() engine.Caches {
	return engine.Caches{
		Pods: ownedIn(c.pods), Claims: ownedIn(c.claims), Revisions: ownedIn(c.revisions),
		Orphans: orphansIn(c.pods), OrphanRevisions: orphansIn(c.revisions),
		Pod:   func(_, name string) (*corev1.Pod, error) { return c.pods[name], nil },
		Claim: func(_, name string) (*corev1.PersistentVolumeClaim, error) { return c.claims[name], nil },
	}
}

func orphansIn[T metav1.Object](objects table[T]) func(string, labels.Selector) ([]T, error) {
	return func(_ string, selector labels.Selector) (orphans []T, _ error) {
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			if object := objects[name]; metav1.GetControllerOfNoCopy(object) == nil && selector.Matches(labels.Set(object.GetLabels())) {
				orphans = append(orphans, object)
			}
		}
		return orphans, nil
	}
}

func ownedIn[T metav1.Object](objects table[T]) engine.Owned[T] {
	return func(owner metav1.Object) (owned []T, err error) {
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			if ref := metav1.GetControllerOfNoCopy(objects[name]); ref != nil && ref.UID == owner.GetUID() {
				owned = append(owned, objects[name])
			}
		}
		return owned, nil
	}
}

// Store returns one resource of the caches, for a guard.
func (c *LaggingCaches) Store(resource schema.GroupResource) LaggingStore {
	return LaggingStore{caches: c, resource: resource}
}

// LaggingStore is one resource of LaggingCaches.
type LaggingStore struct {
	caches   *LaggingCaches
	resource schema.GroupResource
}

// LastStoreSyncResourceVersion implements consistency.Store.
func (s LaggingStore) LastStoreSyncResourceVersion() string {
	return strconv.FormatInt(s.caches.reached, 10)
}

// GetByKey implements consistency.Store.
func (s LaggingStore) GetByKey(key string) (item any, exists bool, err error) {
	_, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, false, err
	}
	switch s.resource {
	case pods:
		item, exists = get(s.caches.pods, name)
	case claims:
		item, exists = get(s.caches.claims, name)
	case revisions:
		item, exists = get(s.caches.revisions, name)
	}
	return item, exists, nil
}

func get[T any](objects map[string]T, name string) (any, bool) {
	object, found := objects[name]
	return object, found
}
