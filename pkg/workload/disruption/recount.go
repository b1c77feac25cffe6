package disruption

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/workload/podstate"
)

// lookAgain is when a Pod is looked at once more of which the cache shows another version than the server.
const lookAgain = time.Second

// Observation is what a recount goes by. It must be made after the budget was read, not before: a grant that was recorded and
// ended in between would be missed.
type Observation struct {
	// Pods are those that the budget governs, as a cache has them.
	Pods []*corev1.Pod
	// Replicas are what their workloads want.
	Replicas int32
	Now      time.Time
	// Cached is a Pod of the budget's namespace in the same cache, or nil.
	Cached func(name string) *corev1.Pod
	// Live is the Pod's metadata on the server, or nil.
	Live func(name string) (*metav1.ObjectMeta, error)
}

// Count is what a recount comes to.
type Count struct {
	Status v1beta1.PodUnavailableBudgetStatus
	// Recheck is when to count again though nothing happens, or zero.
	Recheck time.Duration
	// NotDeleted are Pods whose deletion was granted and never came.
	NotDeleted []*corev1.Pod
}

// Recount counts anew what a budget allows. Grants that stand hold back their Pods.
func Recount(budget *v1beta1.PodUnavailableBudget, seen *Observation) (*Count, error) {
	total := Total(&budget.Spec, seen.Replicas)
	desired, err := Desired(&budget.Spec, total)
	if err != nil {
		return nil, err
	}
	r := &recount{Observation: seen, active: map[string]*corev1.Pod{}, count: &Count{}}
	for _, pod := range seen.Pods {
		if podstate.Active(pod) {
			r.active[pod.Name] = pod
		}
	}
	disrupted, err := r.standing(budget.Status.DisruptedPods, DeletionExpiry, r.notDeleted)
	if err != nil {
		return nil, err
	}
	unavailable, err := r.standing(budget.Status.UnavailablePods, UpdateExpiry, func(string) {})
	if err != nil {
		return nil, err
	}
	current := int32(0)
	for name, pod := range r.active {
		_, goes := disrupted[name]
		_, changes := unavailable[name]
		if !goes && !changes && Available(pod) {
			current++
		}
	}
	r.count.Status = v1beta1.PodUnavailableBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptedPods: disrupted, UnavailablePods: unavailable,
		UnavailableAllowed: max(0, current-desired), CurrentAvailable: current, DesiredAvailable: desired, TotalReplicas: total,
	}
	slices.SortFunc(r.count.NotDeleted, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return r.count, nil
}

type recount struct {
	*Observation
	active map[string]*corev1.Pod
	count  *Count
}

// standing returns the grants that stand. One ends when its Pod is gone, or it expired; and only when the cache, by which the
// Pod counts from then on, shows what the server has.
func (r *recount) standing(grants map[string]metav1.Time, expiry time.Duration, expired func(string)) (map[string]metav1.Time, error) {
	var standing map[string]metav1.Time
	for name, at := range grants {
		remaining := at.Add(expiry).Sub(r.Now)
		cached, counted := r.cached(name)
		if remaining <= 0 || cached == nil || !podstate.Active(cached) {
			shown, err := r.shown(name, cached)
			switch {
			case err != nil:
				return nil, err
			case shown && counted:
				expired(name)
				continue
			case shown:
				continue
			}
			remaining = lookAgain
		}
		if standing == nil {
			standing = map[string]metav1.Time{}
		}
		standing[name] = at
		if r.count.Recheck == 0 || remaining < r.count.Recheck {
			r.count.Recheck = remaining
		}
	}
	return standing, nil
}

// cached is a Pod as this recount counts it, else as the cache has it.
func (r *recount) cached(name string) (pod *corev1.Pod, counted bool) {
	if pod, counted = r.active[name]; counted {
		return pod, true
	}
	return r.Cached(name), false
}

// shown tells whether the server has a Pod as the cache shows it. The cache must have been read before.
func (r *recount) shown(name string, cached *corev1.Pod) (bool, error) {
	live, err := r.Live(name)
	if err != nil {
		return false, fmt.Errorf("look at Pod %s: %w", name, err)
	}
	if live == nil || cached == nil {
		return live == nil && cached == nil, nil
	}
	return live.UID == cached.UID && live.ResourceVersion == cached.ResourceVersion, nil
}

func (r *recount) notDeleted(name string) {
	r.count.NotDeleted = append(r.count.NotDeleted, r.active[name])
}
