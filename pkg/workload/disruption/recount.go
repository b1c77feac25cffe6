package disruption

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/workload/podstate"
)

// lookAgain is the delay before a Pod is read from the server again, after the cache and the server showed different versions.
const lookAgain = time.Second

// Observation is the input of a recount. It must be made after the budget was read. Otherwise a grant that was recorded and
// ended in between is missed.
type Observation struct {
	// Pods are the Pods that the budget governs, from a cache.
	Pods []*corev1.Pod
	// Replicas is the sum of the replicas that their workloads want.
	Replicas int32
	Now      time.Time
	// Cached returns a Pod of the budget's namespace from the same cache, or nil.
	Cached func(name string) *corev1.Pod
	Server *Server
}

// Count is the result of a recount.
type Count struct {
	Status v1beta1.PodUnavailableBudgetStatus
	// Recheck is the delay until the next recount is due even if nothing changes. Zero means none is due.
	Recheck time.Duration
	// NotDeleted are the Pods whose deletion was granted but did not happen before the grant expired.
	NotDeleted []*corev1.Pod
}

// Recount computes the status of a budget from the observed Pods. A Pod with a standing grant counts as unavailable. It returns
// an error if the budget is invalid or a Pod cannot be read. The budget is not changed.
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
	// goes are the grants of deletions, and changes those of updates.
	goes, changes := r.grants(budget.Status.DisruptedPods, DeletionExpiry), r.grants(budget.Status.UnavailablePods, UpdateExpiry)
	live, err := seen.Server.look(append(doubtful(goes), doubtful(changes)...))
	if err != nil {
		return nil, err
	}
	disrupted, unavailable := r.standing(goes, live, r.notDeleted), r.standing(changes, live, func(*grant) {})
	current := int32(0)
	// A Pod with a standing grant counts as unavailable, whatever the cache shows.
	for name, pod := range r.active {
		_, goes := disrupted[name]
		_, changes := unavailable[name]
		if !goes && !changes && Available(pod) {
			current++
		}
	}
	r.count.Status = v1beta1.PodUnavailableBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptedPods: disrupted, UnavailablePods: unavailable,
		RenewedPods:        renewals(budget.Status.RenewedPods, disrupted, unavailable),
		UnavailableAllowed: max(0, current-desired), CurrentAvailable: current, DesiredAvailable: desired, TotalReplicas: total,
	}
	slices.SortFunc(r.count.NotDeleted, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return r.count, nil
}

// recount is the state of one recount. active are the active Pods of the budget, by name.
type recount struct {
	*Observation
	active map[string]*corev1.Pod
	count  *Count
}

// grant is an entry in the budget's status, together with the cached Pod.
type grant struct {
	name string
	at   metav1.Time
	// remaining is the time until the grant expires. cached is the Pod as the cache shows it, or nil. counted is true if the
	// Pod is one of those that are counted.
	remaining time.Duration
	cached    *corev1.Pod
	counted   bool
}

// grants returns the entries of one list in the status, with their Pods.
func (r *recount) grants(made map[string]metav1.Time, expiry time.Duration) []grant {
	all := make([]grant, 0, len(made))
	for name, at := range made {
		g := grant{name: name, at: at, remaining: at.Add(expiry).Sub(r.Now)}
		g.cached, g.counted = r.cached(name)
		all = append(all, g)
	}
	return all
}

// ends reports whether the grant ends according to the cache: its Pod is gone or terminating, or the grant expired.
func (g *grant) ends() bool { return g.remaining <= 0 || g.cached == nil || !podstate.Active(g.cached) }

// doubtful returns the grants that end if the server confirms what the cache shows. Only these cost a read.
func doubtful(grants []grant) (ends []grant) {
	for _, g := range grants {
		if g.ends() {
			ends = append(ends, g)
		}
	}
	return ends
}

// standing returns the grants that stand. A grant ends only when the cache shows the same version as the server, because the
// Pod then counts by what the cache shows. expired is called for each Pod that is counted and whose grant ended. Recheck
// becomes due when the first standing grant may end.
func (r *recount) standing(grants []grant, live map[string]*metav1.ObjectMeta, expired func(*grant)) (standing map[string]metav1.Time) {
	for _, g := range grants {
		if g.ends() {
			switch shown := shows(live[g.name], g.cached); {
			case shown && g.counted:
				expired(&g)
				continue
			case shown:
				continue
			}
			// The cache is behind the server, so the grant stands.
			g.remaining = lookAgain
		}
		if standing == nil {
			standing = map[string]metav1.Time{}
		}
		standing[g.name] = g.at
		if r.count.Recheck == 0 || g.remaining < r.count.Recheck {
			r.count.Recheck = g.remaining
		}
	}
	return standing
}

// renewals returns the times of first grants that still stand.
func renewals(renewed, disrupted, unavailable map[string]metav1.Time) (standing map[string]metav1.Time) {
	for name, first := range renewed {
		_, goes := disrupted[name]
		if _, changes := unavailable[name]; !goes && !changes {
			continue
		}
		if standing == nil {
			standing = map[string]metav1.Time{}
		}
		standing[name] = first
	}
	return standing
}

// cached returns the Pod that this recount counts, if there is one, else the Pod from the cache. A grant can be for a Pod that
// the budget no longer governs.
func (r *recount) cached(name string) (pod *corev1.Pod, counted bool) {
	if pod, counted = r.active[name]; counted {
		return pod, true
	}
	return r.Cached(name), false
}

// shows reports whether the cache has the same version of the Pod as the server. nil stands for a Pod that does not exist.
func shows(live *metav1.ObjectMeta, cached *corev1.Pod) bool {
	if live == nil || cached == nil {
		return live == nil && cached == nil
	}
	return live.UID == cached.UID && live.ResourceVersion == cached.ResourceVersion
}

// notDeleted records a Pod whose deletion was granted and did not happen. A Pod that was created after the grant has the name of the Pod
// that was to be deleted, and nobody wanted to delete it.
func (r *recount) notDeleted(g *grant) {
	if (Grant{at: g.at}).MayBeFor(g.cached) {
		r.count.NotDeleted = append(r.count.NotDeleted, g.cached)
	}
}
