package disruption

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

const (
	// DeletionExpiry is how long a granted deletion may take to appear in the cache.
	DeletionExpiry = 20 * time.Second
	// UpdateExpiry is how long a granted update may take to appear in the cache.
	UpdateExpiry = 10 * time.Second
	// grantLife is the maximum lifetime of a grant, including all renewals. A client may retry without end what something else
	// refuses, and its Pod counts as unavailable meanwhile. docs/architecture/budgets.md tells users this time.
	grantLife = 30 * time.Second
	// requestLife is how long a grant stands at least after a request used it, so that it does not expire during that request.
	requestLife = UpdateExpiry / 2
	// mostGrants caps the unobserved grants per budget, because all of them are stored in one object. The controller removes
	// those that it has observed.
	mostGrants = 2000
	// clockPrecision is the difference from which one API time is certainly later than another. API times have whole seconds.
	clockPrecision = 2 * time.Second
)

// Request is a disruption that a client asks for.
type Request struct {
	Operation v1beta1.PubOperation
	// Pod is the Pod as it is before the request.
	Pod *corev1.Pod
	// DryRun only checks; nothing is granted.
	DryRun bool
	// Granted is the time of a grant that is certainly for this very Pod, or zero. Spend sets it when it grants.
	Granted time.Time
	// ResizeIsUpdate makes budgets that limit updates also limit resizes that restart nothing.
	ResizeIsUpdate bool
}

// Exempt reports whether the Pod may be disrupted whatever its budget says. It decides what can be decided without the budget:
// the user's annotation, a Pod that has ended or is being deleted, and a Pod that does not serve anyway.
func Exempt(request *Request) bool {
	free, err := strconv.ParseBool(request.Pod.Annotations[pub.PubNoProtectKey])
	if err == nil && free || !podstate.Active(request.Pod) {
		return true
	}
	return !Serving(request.Pod) && !evictedUnhealthy(request)
}

// evictedUnhealthy reports whether the request is an eviction of a running Pod. The budget can limit it even if the Pod does not
// serve.
func evictedUnhealthy(request *Request) bool {
	return request.Operation == v1beta1.PubEvictOperation && request.Pod.Status.Phase == corev1.PodRunning
}

// Spend decides on a request that is not exempt, by the budget as it is stored now. It records a grant in the status of the
// given budget. The caller owns the budget, and must store it if the status changed: the grant counts only after that. A nil
// error permits the disruption. A returned error is a *Refusal.
func Spend(budget *v1beta1.PodUnavailableBudget, request *Request, now time.Time) error {
	spec, status := &budget.Spec, &budget.Status
	ignored := selectorindex.Parse(spec.IgnoredPodSelector)
	if ignored.Matches(labels.Set(request.Pod.Labels)) || !protects(spec, request.Operation, request.ResizeIsUpdate) {
		return nil
	}
	// A Pod that does not serve costs nothing, unless the budget also protects running Pods from eviction.
	serving := Serving(request.Pod)
	if !serving && !judgesUnhealthy(spec, request) {
		return nil
	}
	// The counts belong to another spec, or nothing was counted yet.
	if status.ObservedGeneration != budget.Generation {
		return refuse(budget, NotObserved)
	}
	switch granted, found := grantOf(status, request); {
	// Nothing has to stay available, or enough Pods are available without this one.
	case status.DesiredAvailable == 0, !serving && status.CurrentAvailable >= status.DesiredAvailable:
		return nil
	// A retry uses its grant again and takes no second one.
	case found:
		return renew(budget, request, granted, now)
	case status.UnavailableAllowed <= 0:
		return refuse(budget, Exhausted)
	case len(status.DisruptedPods)+len(status.UnavailablePods) > mostGrants:
		return refuse(budget, TooManyGrants)
	}
	if !request.DryRun {
		take(status, request, now)
	}
	return nil
}

// take stops counting the Pod as available, exactly as the next recount will. That recount then has nothing to write, so it
// does not conflict with the next grants.
func take(status *v1beta1.PodUnavailableBudgetStatus, request *Request, now time.Time) {
	status.UnavailableAllowed--
	if Available(request.Pod) {
		status.CurrentAvailable = max(0, status.CurrentAvailable-1)
	}
	recordGrant(status, request, now)
}

// judgesUnhealthy reports whether the budget limits the eviction of running Pods that are not ready.
func judgesUnhealthy(spec *v1beta1.PodUnavailableBudgetSpec, request *Request) bool {
	policy := spec.UnhealthyPodEvictionPolicy
	return policy != nil && *policy == v1beta1.IfHealthyBudget && evictedUnhealthy(request)
}

// grantOf returns the time of the Pod's grant. A grant holds only the name of its Pod. It does not apply to a Pod that was
// created under that name later. If the times do not tell, it applies only if the caller knows that it is for this Pod:
// request.Granted is the time of an earlier attempt of the same request.
func grantOf(status *v1beta1.PodUnavailableBudgetStatus, request *Request) (time.Time, bool) {
	at, found := status.DisruptedPods[request.Pod.Name]
	if !found {
		at, found = status.UnavailablePods[request.Pod.Name]
	}
	older := !request.Pod.CreationTimestamp.After(at.Add(-clockPrecision))
	return at.Time, found && (older || at.Time.Equal(request.Granted))
}

// renew uses a grant again. It extends the grant, so that it does not expire during the request that uses it, but never beyond
// grantLife. A grant too old for that is refused: after it has ended, the request competes for the budget again. A grant that
// was made or renewed a short time ago is not written again.
func renew(budget *v1beta1.PodUnavailableBudget, request *Request, at, now time.Time) error {
	status, name := &budget.Status, request.Pod.Name
	first := at
	if before, found := status.RenewedPods[name]; found {
		first = before.Time
	}
	grants, expiry := grantsFor(status, request)
	// The new time can be in the past of now, if the first grant is old.
	extended := wholeSecond(now)
	if latest := first.Add(grantLife - expiry); extended.After(latest) {
		extended = latest
	}
	// Then the grant stays as it is, in the list in which it is.
	if now.Sub(at) <= requestLife || !extended.After(at) {
		extended, expiry = at, expiryOf(status, name)
	}
	if ends := extended.Add(expiry); ends.Sub(now) < requestLife {
		return &Refusal{Reason: GrantUsedUp, Namespace: budget.Namespace, Name: budget.Name, status: *status, pod: name, since: first, ends: ends}
	}
	if !request.DryRun && extended.After(at) {
		enter(status, grants, name, extended)
		renewed(status, name, first)
		at = extended
	}
	request.Granted = at
	return nil
}

// grantsFor returns the grants among which a grant of the request belongs, and how long it stands there. A Pod whose deletion was
// granted keeps a deletion grant, because a deletion takes longer to appear in the cache.
func grantsFor(status *v1beta1.PodUnavailableBudgetStatus, request *Request) (*map[string]metav1.Time, time.Duration) {
	_, goes := status.DisruptedPods[request.Pod.Name]
	if !goes && (request.Operation == v1beta1.PubUpdateOperation || request.Operation == v1beta1.PubResizeOperation) {
		return &status.UnavailablePods, UpdateExpiry
	}
	return &status.DisruptedPods, DeletionExpiry
}

// expiryOf returns how long the grant of a Pod stands that was not renewed.
func expiryOf(status *v1beta1.PodUnavailableBudgetStatus, name string) time.Duration {
	if _, goes := status.DisruptedPods[name]; goes {
		return DeletionExpiry
	}
	return UpdateExpiry
}

// wholeSecond rounds up, because API times have whole seconds: a grant never expires too early.
func wholeSecond(now time.Time) time.Time {
	at := now.Truncate(time.Second)
	if at.Before(now) {
		at = at.Add(time.Second)
	}
	return at
}

// recordGrant records a new grant. Two grants for the same Pod name never have the same time, which Server relies on.
func recordGrant(status *v1beta1.PodUnavailableBudgetStatus, request *Request, now time.Time) {
	name, at := request.Pod.Name, wholeSecond(now)
	before, goes := status.DisruptedPods[name]
	if !goes {
		before = status.UnavailablePods[name]
	}
	// The second before is taken, so this one is a second later.
	if !at.After(before.Time) {
		at = before.Add(time.Second)
	}
	grants, _ := grantsFor(status, request)
	enter(status, grants, name, at)
	delete(status.RenewedPods, name)
	request.Granted = at
}

// enter sets the time of a grant, among the given grants alone. A Pod has at most one grant, so a deletion grant replaces an
// update grant.
func enter(status *v1beta1.PodUnavailableBudgetStatus, grants *map[string]metav1.Time, name string, at time.Time) {
	if *grants == nil {
		*grants = map[string]metav1.Time{}
	}
	delete(status.UnavailablePods, name)
	(*grants)[name] = metav1.NewTime(at)
}

// renewed records when the grant of a Pod was first made.
func renewed(status *v1beta1.PodUnavailableBudgetStatus, name string, first time.Time) {
	if status.RenewedPods == nil {
		status.RenewedPods = map[string]metav1.Time{}
	}
	status.RenewedPods[name] = metav1.NewTime(first)
}
