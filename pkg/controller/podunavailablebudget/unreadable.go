package podunavailablebudget

import (
	"cmp"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

// reasonUnreadable is the reason of the event about a kind of workload that the controllers may not read.
const reasonUnreadable = "WorkloadNotReadable"

// unreadable remembers which resources could not be read for the last count of each budget. They are only in memory, so a new
// leader sends their events once more.
type unreadable struct {
	// lock guards last.
	lock sync.Mutex
	last map[types.NamespacedName]map[schema.GroupResource]string
}

func newUnreadable() *unreadable {
	return &unreadable{last: map[types.NamespacedName]map[schema.GroupResource]string{}}
}

// begins stores the resources of a count, and returns those that the count before could read, in order.
func (u *unreadable) begins(key types.NamespacedName, now map[schema.GroupResource]string) (begun []schema.GroupResource) {
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
		u.last[key] = now
	}
	slices.SortFunc(begun, func(a, b schema.GroupResource) int { return cmp.Compare(a.String(), b.String()) })
	return begun
}

// forget drops a deleted budget.
func (u *unreadable) forget(key types.NamespacedName) { u.begins(key, nil) }

// tellUnreadable sends an event for each kind that the controllers can no longer read, with the remedy.
func (r *Reconciler) tellUnreadable(budget *v1beta1.PodUnavailableBudget, kinds map[schema.GroupResource]string) {
	key := types.NamespacedName{Namespace: budget.Namespace, Name: budget.Name}
	for _, resource := range r.unreadable.begins(key, kinds) {
		r.recorder.Eventf(budget, corev1.EventTypeWarning, reasonUnreadable,
			"The controllers may not read %s or its scale, so only its existing Pods are counted, and not its replicas; grant the verb "+
				"get on %s and %s/scale by a ClusterRole with the label rbac.kruise.io/aggregate-to-workloads: \"true\"",
			kinds[resource], resource, resource)
	}
}
