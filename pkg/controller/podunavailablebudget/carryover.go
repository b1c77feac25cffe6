package podunavailablebudget

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/workload/disruption"
)

// granted returns the keys of the Pods for which a budget has grants. It is the index function of grantIndex.
func granted(obj any) ([]string, error) {
	budget, ok := obj.(*v1beta1.PodUnavailableBudget)
	if !ok {
		return nil, nil
	}
	grants := disruption.GrantsOf(&budget.Status)
	keys := make([]string, 0, len(grants))
	for name := range grants {
		keys = append(keys, budget.Namespace+"/"+name)
	}
	return keys, nil
}

// departed keeps the grants of budgets that were deleted, by the UID of their Pods, until they expire. A budget that governs
// these Pods next must count the grants too. They are only in memory: after a restart they are unknown, for at most as long as
// a grant lasts.
type departed struct {
	// lock guards grants.
	lock   sync.Mutex
	grants map[types.UID]disruption.Grant
}

func newDeparted() *departed { return &departed{grants: map[types.UID]disruption.Grant{}} }

// add stores a grant and drops those that have expired. Of two grants for one Pod, it keeps the one that ends later.
func (d *departed) add(pod types.UID, grant disruption.Grant, now time.Time) {
	d.lock.Lock()
	defer d.lock.Unlock()
	for uid, known := range d.grants {
		if !known.Ends().After(now) {
			delete(d.grants, uid)
		}
	}
	if known, found := d.grants[pod]; !found || known.Ends().Before(grant.Ends()) {
		d.grants[pod] = grant
	}
}

// get returns the grant of a deleted budget for a Pod. The grant may have expired; the caller checks this.
func (d *departed) get(pod types.UID) (disruption.Grant, bool) {
	d.lock.Lock()
	defer d.lock.Unlock()
	grant, found := d.grants[pod]
	return grant, found
}

// movedGrants returns the budgets that must count a grant of another budget: the grant of a deleted budget, and a grant for a
// Pod that another budget governs by now. It stores the grants of deleted budgets. A budget that was deleted and created again
// has another UID, and counts as a deletion and a creation: its new status does not have the old grants.
func (r *Reconciler) movedGrants(before, after metav1.Object) (keys []types.NamespacedName) {
	was, _ := before.(*v1beta1.PodUnavailableBudget)
	is, _ := after.(*v1beta1.PodUnavailableBudget)
	// known are the grants that the other budgets have been told of.
	known := map[string]disruption.Grant{}
	if was != nil {
		known = disruption.GrantsOf(&was.Status)
	}
	if was != nil && (is == nil || is.UID != was.UID) {
		for name, grant := range known {
			if pod := r.cachedPod(was.Namespace)(name); pod != nil && grant.MayBeFor(pod) && grant.Ends().After(r.clock.Now()) {
				r.departed.add(pod.UID, grant, r.clock.Now())
				keys = append(keys, r.otherBudget(pod, "")...)
			}
		}
		// All grants of the new budget are new.
		known = nil
	}
	if is == nil {
		return keys
	}
	for name, grant := range disruption.GrantsOf(&is.Status) {
		// This grant has already caused a count of the other budget.
		if known[name] == grant {
			continue
		}
		if pod := r.cachedPod(is.Namespace)(name); pod != nil {
			keys = append(keys, r.otherBudget(pod, is.Name)...)
		}
	}
	return keys
}

// otherBudget returns the key of the budget that governs a Pod, unless it has the given name. It returns nil if there is none.
func (r *Reconciler) otherBudget(pod *corev1.Pod, name string) []types.NamespacedName {
	if governing := r.governing(pod); governing != nil && governing.Name != name {
		return []types.NamespacedName{{Namespace: governing.Namespace, Name: governing.Name}}
	}
	return nil
}

// carryOver returns the budget with the grants that other budgets made for its Pods, as far as they have not expired. What
// these grants allowed may still happen to the Pods, so this budget must not allow the same again. The result is a copy if it
// differs: budget itself is what the status is compared with, so the recount writes the grants that were carried over.
func (r *Reconciler) carryOver(budget *v1beta1.PodUnavailableBudget, pods []*corev1.Pod) *v1beta1.PodUnavailableBudget {
	carrying := budget
	for _, pod := range pods {
		for _, grant := range r.grantsOfOthers(budget, pod) {
			if !grant.MayBeFor(pod) || !grant.Ends().After(r.clock.Now()) {
				continue
			}
			// The copy is made for the first grant that is carried over. Most counts have none.
			if carrying == budget {
				carrying = budget.DeepCopy()
			}
			disruption.CarryOver(&carrying.Status, pod, grant)
		}
	}
	return carrying
}

// grantsOfOthers returns the grants for a Pod that other budgets have, or had when they were deleted. They may have expired.
func (r *Reconciler) grantsOfOthers(budget *v1beta1.PodUnavailableBudget, pod *corev1.Pod) (grants []disruption.Grant) {
	if grant, found := r.departed.get(pod.UID); found {
		grants = append(grants, grant)
	}
	// A budget with the same UID is the one that is counted.
	items, err := r.budgets.ByIndex(grantIndex, pod.Namespace+"/"+pod.Name)
	if err != nil {
		return grants
	}
	for _, item := range items {
		if other, ok := item.(*v1beta1.PodUnavailableBudget); ok && other.UID != budget.UID {
			grants = append(grants, disruption.GrantsOf(&other.Status)[pod.Name])
		}
	}
	return grants
}
