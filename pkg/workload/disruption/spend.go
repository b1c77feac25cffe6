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
	// DeletionExpiry is how long a granted deletion may take to be seen.
	DeletionExpiry = 20 * time.Second
	// UpdateExpiry is how long a granted update may take to be seen.
	UpdateExpiry = 10 * time.Second
	// mostGrants is beyond how many grants that were not seen yet there are no more. They are in one object.
	mostGrants = 2000
	// clockPrecision is by how much two times of the API are surely one after the other: each has whole seconds.
	clockPrecision = 2 * time.Second
)

// Request is a disruption that somebody asks for.
type Request struct {
	Operation v1beta1.PubOperation
	// Pod is the Pod as it is before the request.
	Pod *corev1.Pod
	// DryRun asks, and takes nothing.
	DryRun bool
	// ResizeIsUpdate bounds a resize that restarts nothing where updates are bounded.
	ResizeIsUpdate bool
}

// Exempt tells whether a Pod may go whatever its budget says. It is what can be decided before the budget is known.
func Exempt(request *Request) bool {
	free, err := strconv.ParseBool(request.Pod.Annotations[pub.PubNoProtectKey])
	if err == nil && free || !podstate.Active(request.Pod) {
		return true
	}
	return !Serving(request.Pod) && !evictedUnhealthy(request)
}

// evictedUnhealthy tells whether the budget has a say although the Pod does not serve.
func evictedUnhealthy(request *Request) bool {
	return request.Operation == v1beta1.PubEvictOperation && request.Pod.Status.Phase == corev1.PodRunning
}

// Spend decides on a request that is not exempt, by the budget as it is stored now. It records a grant in the status of the
// budget given, which the caller owns and must store unless nothing changed. The error is a Refusal.
func Spend(budget *v1beta1.PodUnavailableBudget, request *Request, now time.Time) error {
	spec, status := &budget.Spec, &budget.Status
	ignored := selectorindex.Parse(spec.IgnoredPodSelector)
	if ignored.Matches(labels.Set(request.Pod.Labels)) || !protects(spec, request.Operation, request.ResizeIsUpdate) {
		return nil
	}
	serving := Serving(request.Pod)
	if !serving && !judgesUnhealthy(spec, request) {
		return nil
	}
	if status.ObservedGeneration != budget.Generation {
		return refuse(budget, NotObserved)
	}
	switch granted, found := grantOf(status, request.Pod); {
	case status.DesiredAvailable == 0, !serving && status.CurrentAvailable >= status.DesiredAvailable:
		return nil
	case found:
		renew(status, request, granted, now)
		return nil
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

// take counts the Pod no more, as the next count will: that count then has nothing to write.
func take(status *v1beta1.PodUnavailableBudgetStatus, request *Request, now time.Time) {
	status.UnavailableAllowed--
	if Available(request.Pod) {
		status.CurrentAvailable = max(0, status.CurrentAvailable-1)
	}
	enter(status, request, now)
}

// judgesUnhealthy tells whether the budget lets Pods that run without being ready be evicted only while enough others are.
func judgesUnhealthy(spec *v1beta1.PodUnavailableBudgetSpec, request *Request) bool {
	policy := spec.UnhealthyPodEvictionPolicy
	return policy != nil && *policy == v1beta1.IfHealthyBudget && evictedUnhealthy(request)
}

// grantOf returns when the Pod was granted. A grant has the name of its Pod alone, and is none of another Pod that came under
// that name since.
func grantOf(status *v1beta1.PodUnavailableBudgetStatus, pod *corev1.Pod) (time.Time, bool) {
	at, found := status.DisruptedPods[pod.Name]
	if !found {
		at, found = status.UnavailablePods[pod.Name]
	}
	return at.Time, found && !pod.CreationTimestamp.After(at.Add(-clockPrecision))
}

// renew lets a grant that is used again live on. It must not expire while the request that uses it is under way.
func renew(status *v1beta1.PodUnavailableBudgetStatus, request *Request, granted, now time.Time) {
	if !request.DryRun && now.Sub(granted) > UpdateExpiry/2 {
		enter(status, request, now)
	}
}

// enter notes a grant, of a Pod that may go as one that may: that takes longer to be seen. The status holds whole seconds: a
// grant never lives shorter than it should. Two grants of one name never have the same time: see Server.
func enter(status *v1beta1.PodUnavailableBudgetStatus, request *Request, now time.Time) {
	at := now.Truncate(time.Second)
	if at.Before(now) {
		at = at.Add(time.Second)
	}
	before, goes := status.DisruptedPods[request.Pod.Name]
	if !goes {
		before = status.UnavailablePods[request.Pod.Name]
	}
	if !at.After(before.Time) {
		at = before.Add(time.Second)
	}
	grants := &status.DisruptedPods
	if !goes && (request.Operation == v1beta1.PubUpdateOperation || request.Operation == v1beta1.PubResizeOperation) {
		grants = &status.UnavailablePods
	}
	if *grants == nil {
		*grants = map[string]metav1.Time{}
	}
	delete(status.UnavailablePods, request.Pod.Name)
	(*grants)[request.Pod.Name] = metav1.NewTime(at)
}
