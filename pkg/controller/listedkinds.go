package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/workloadclient"
)

// ListedKinds has the kinds that the administrator lists for PersistentPodStates. It reads the list at most once in UnwatchedPeriod. It
// may be used concurrently.
type ListedKinds struct {
	kube      kubernetes.Interface
	namespace string
	clock     clock.PassiveClock
	// lock guards the fields below.
	lock  sync.Mutex
	kinds sets.Set[schema.GroupKind]
	until time.Time
}

// NewListedKinds returns the kinds of the list in the system namespace.
func NewListedKinds(deps Deps, namespace string) *ListedKinds {
	return &ListedKinds{kube: deps.Kube, namespace: namespace, clock: deps.Clock}
}

// Now returns the kinds, which must not be changed. The error is that of reading the list.
func (l *ListedKinds) Now(ctx context.Context) (sets.Set[schema.GroupKind], error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if now := l.clock.Now(); !now.Before(l.until) {
		kinds, err := workloadclient.KindsOfPersistentPodStates(ctx, l.kube, l.namespace)
		if err != nil {
			return nil, err
		}
		l.kinds, l.until = kinds, now.Add(UnwatchedPeriod)
	}
	return l.kinds, nil
}
