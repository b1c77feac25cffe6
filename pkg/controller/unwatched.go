package controller

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

// UnwatchedPeriod is how often a workload of a kind that is not watched is read. docs/architecture/budgets.md tells users this time.
const UnwatchedPeriod = 15 * time.Second

// ReasonUnreadable is the reason of the event about a kind of workload that the controllers may not read.
const ReasonUnreadable = "WorkloadNotReadable"

// Unreadable sends an event when the controllers can no longer read a kind of workload that an object needs. What was reported is only
// in memory, so a new leader sends the events once more. It may be used concurrently.
type Unreadable struct {
	recorder record.EventRecorder
	// lock guards last, which has the resources that could not be read in the last pass of each key.
	lock sync.Mutex
	last map[types.NamespacedName]map[schema.GroupResource]schema.GroupKind
}

// NewUnreadable returns an Unreadable that sends its events through the recorder.
func NewUnreadable(recorder record.EventRecorder) *Unreadable {
	return &Unreadable{recorder: recorder, last: map[types.NamespacedName]map[schema.GroupResource]schema.GroupKind{}}
}

// Tell sends an event about the object of a key for each resource that this pass could not read and the pass before could, with the
// effect and the remedy. unread has the kind of each such resource. If it is empty, all could be read.
func (u *Unreadable) Tell(
	key types.NamespacedName, object runtime.Object, unread map[schema.GroupResource]schema.GroupKind, effect string,
) {
	for _, resource := range u.begins(key, unread) {
		u.recorder.Eventf(object, corev1.EventTypeWarning, ReasonUnreadable,
			"The controllers may not read %s or its scale, so %s; grant the verb get on %s and %s/scale by a ClusterRole with the label "+
				"rbac.kruise.io/aggregate-to-workloads: \"true\"",
			unread[resource], effect, resource, resource)
	}
}

// Forget drops what is kept for a key.
func (u *Unreadable) Forget(key types.NamespacedName) { u.begins(key, nil) }

// begins stores the resources of a pass, and returns those that the pass before could read, in order.
func (u *Unreadable) begins(key types.NamespacedName, now map[schema.GroupResource]schema.GroupKind) (begun []schema.GroupResource) {
	u.lock.Lock()
	defer u.lock.Unlock()
	for resource := range now {
		if _, before := u.last[key][resource]; !before {
			begun = append(begun, resource)
		}
	}
	if len(now) == 0 {
		delete(u.last, key)
	} else {
		u.last[key] = maps.Clone(now)
	}
	slices.SortFunc(begun, func(a, b schema.GroupResource) int { return cmp.Compare(a.String(), b.String()) })
	return begun
}
