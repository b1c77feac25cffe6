package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

// Grant is a grant of one budget for one Pod. It outlives the budget: the disruption that it allowed may still be under way.
type Grant struct {
	// at is when the grant was made or last renewed, and first when it was made, or zero if it was never renewed. deletion says
	// which expiry it has.
	at, first metav1.Time
	deletion  bool
}

// GrantsOf returns the grants in a budget's status, by the names of their Pods.
func GrantsOf(status *v1beta1.PodUnavailableBudgetStatus) map[string]Grant {
	grants := make(map[string]Grant, len(status.DisruptedPods)+len(status.UnavailablePods))
	for name, at := range status.UnavailablePods {
		grants[name] = Grant{at: at, first: status.RenewedPods[name]}
	}
	for name, at := range status.DisruptedPods {
		grants[name] = Grant{at: at, first: status.RenewedPods[name], deletion: true}
	}
	return grants
}

// Ends returns when the grant expires.
func (g Grant) Ends() time.Time {
	if g.deletion {
		return g.at.Add(DeletionExpiry)
	}
	return g.at.Add(UpdateExpiry)
}

// MayBeFor reports whether the grant may be for this Pod, and not for one of that name before it. API times have whole seconds,
// so a Pod that was created in the second of the grant may be meant.
func (g Grant) MayBeFor(pod *corev1.Pod) bool { return !pod.CreationTimestamp.After(g.at.Time) }

// CarryOver records a grant that another budget made for a Pod which this budget governs now. It keeps a newer grant of the
// Pod. The recount then treats it as a grant of this budget.
func CarryOver(status *v1beta1.PodUnavailableBudgetStatus, pod *corev1.Pod, grant Grant) {
	name := pod.Name
	known, goes := status.DisruptedPods[name]
	if !goes {
		known = status.UnavailablePods[name]
	}
	if !grant.at.After(known.Time) {
		return
	}
	grants := &status.UnavailablePods
	if grant.deletion {
		grants = &status.DisruptedPods
	}
	delete(status.DisruptedPods, name)
	enter(status, grants, name, grant.at.Time)
	delete(status.RenewedPods, name)
	if !grant.first.IsZero() {
		renewed(status, name, grant.first.Time)
	}
}
