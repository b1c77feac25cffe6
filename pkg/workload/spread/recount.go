package spread

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/podstate"
)

const (
	// creationExpiry is how long a Pod with a slot may take to appear.
	creationExpiry = 30 * time.Second
	// creationMargin is how long a Pod takes to appear after it was admitted, at most. If the creation of a Pod is tried again later, its
	// slot must not expire before.
	creationMargin = 5 * time.Second
	// deletionExpiry is how long a Pod that returned its slot may take to terminate. A Pod that is still active then was not
	// deleted, and takes its slot again.
	deletionExpiry = 15 * time.Second
	// clockPrecision is the difference from which one API time is certainly later than another. API times have whole seconds.
	clockPrecision = 2 * time.Second
)

// Late is a Pod that did not appear, or did not terminate, in time. Key is its name or the UUID of its slot.
type Late struct {
	Key     string
	Subset  string
	Deleted bool
}

// Counted is the result of a recount.
type Counted struct {
	// Late are the slots that ended because of their age.
	Late []Late
	// Wait is the time until the next slot can end because of its age, or zero.
	Wait time.Duration
}

// Recount counts the Pods of the target in each subset, and stores the result in the status of the WorkloadSpread, which the
// caller owns. The Pods must have been listed after the WorkloadSpread was read: then the Pod of an entry that has gone is in
// the list. latest is the newest version of the target, or empty if it is not known. The free slots in the status are those of
// this version.
func Recount(spread *v1beta1.WorkloadSpread, pods []*corev1.Pod, replicas int, latest string, now time.Time) Counted {
	t := tally{spread: spread, now: now, active: map[place]int32{}, byKey: map[slot]*corev1.Pod{}}
	for _, pod := range pods {
		t.add(pod)
	}
	// The record of each version is recounted by itself. shown is the one whose free slots the status shows.
	versions := map[string]v1beta1.WorkloadSpreadSubsetStatuses{}
	var shown *record
	for _, version := range t.versions() {
		r := recordOf(spread, version, &replicas)
		t.recount(r)
		// A version without Pods and entries, for example of an old ReplicaSet, leaves the record.
		if r.empty() {
			continue
		}
		versions[version] = r.all
		if shown == nil || version == latest {
			shown = r
		}
	}
	// Without any Pod, the status still shows the subsets and their free slots.
	if shown == nil {
		shown = recordOf(spread, latest, &replicas)
		t.recount(shown)
	}
	if len(versions) == 0 {
		versions = nil
	}
	spread.Status.VersionedSubsetStatuses = versions
	spread.Status.SubsetStatuses = sum(shown, versions)
	return t.counted
}

// empty reports whether the record has neither Pods nor entries.
func (r *record) empty() bool {
	return !slices.ContainsFunc(r.all, func(s slots) bool {
		return s.Replicas > 0 || len(s.CreatingPods) > 0 || len(s.DeletingPods) > 0
	})
}

// place is a subset for one version.
type place struct{ version, subset string }

// slot is one slot of a subset. A Pod of the same name in another subset is another Pod.
type slot struct {
	place
	key string
}

// tally is the state of one recount. It only reads the Pods.
type tally struct {
	spread *v1beta1.WorkloadSpread
	now    time.Time
	// active counts the active Pods of the WorkloadSpread. byKey finds all its Pods by their names and by the keys of their slots.
	active  map[place]int32
	byKey   map[slot]*corev1.Pod
	counted Counted
}

// add counts one Pod. Pods of another WorkloadSpread, and Pods without the annotation, do not count. A Pod that has ended is in
// byKey too: its entry in creatingPods ends when the Pod is seen, in whatever state it is.
func (t *tally) add(pod *corev1.Pod) {
	matched, found := MatchedOf(pod)
	if !found || matched.Name != t.spread.Name {
		return
	}
	// A Pod counts for the subset that its annotation names, wherever it runs.
	at := place{VersionOf(t.spread, pod), matched.Subset}
	if podstate.Active(pod) {
		t.active[at]++
	}
	t.byKey[slot{at, pod.Name}] = pod
	// The slot of a Pod without a name at its admission has a UUID as its key.
	if matched.UID != "" {
		t.byKey[slot{at, matched.UID}] = pod
	}
}

// versions returns the versions that have Pods or a record, sorted. The order makes the result the same for each call.
func (t *tally) versions() []string {
	all := map[string]bool{}
	for place := range t.active {
		all[place.version] = true
	}
	for version := range t.spread.Status.VersionedSubsetStatuses {
		all[version] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// recount brings the record of one version up to date. The creations come first, because keepDeleting reads which of them are
// left.
func (t *tally) recount(r *record) {
	for i := range r.all {
		s := &r.all[i]
		at := place{r.version, s.Name}
		s.Replicas = t.active[at]
		t.keepCreating(s, at)
		t.keepDeleting(s, at)
	}
	for i := range r.all {
		r.all[i].MissingReplicas = r.shown(i)
	}
}

// unseen reports whether the Pod of a slot was not observed. An older Pod of the same name is another Pod. A slot with a UUID
// as its key belongs to exactly one Pod, so its time does not matter.
func (t *tally) unseen(key slot, since time.Time) bool {
	pod := t.byKey[key]
	if pod == nil {
		return true
	}
	return pod.Name == key.key && pod.CreationTimestamp.Before(&metav1.Time{Time: since.Add(-clockPrecision)})
}

// keepCreating drops the slots of Pods that were observed, and of those that did not appear in time. Only the latter are
// reported. Nothing is reported while an older Pod of the same name exists.
func (t *tally) keepCreating(s *slots, at place) {
	all := s.CreatingPods
	s.CreatingPods = nil
	for _, key := range slices.Sorted(maps.Keys(all)) {
		since := all[key]
		switch {
		case !t.unseen(slot{at, key}, since.Time):
		case t.stands(since.Time, creationExpiry):
			set(&s.CreatingPods, key, since)
		case t.byKey[slot{at, key}] == nil:
			t.counted.Late = append(t.counted.Late, Late{Key: key, Subset: s.Name})
		}
	}
}

// keepDeleting drops the slots of Pods that no longer exist, and of those that were not deleted in time. A Pod that was not
// observed before its deletion was requested keeps both entries, which cancel each other out. They end together.
func (t *tally) keepDeleting(s *slots, at place) {
	all := s.DeletingPods
	s.DeletingPods = nil
	for _, key := range slices.Sorted(maps.Keys(all)) {
		since := all[key]
		_, unseen := s.CreatingPods[key]
		pod := t.byKey[slot{at, key}]
		switch {
		case !unseen && (pod == nil || !podstate.Active(pod)):
		case t.stands(since.Time, deletionExpiry):
			set(&s.DeletingPods, key, since)
		case unseen:
			delete(s.CreatingPods, key)
		default:
			t.counted.Late = append(t.counted.Late, Late{Key: key, Subset: s.Name, Deleted: true})
		}
	}
	// An empty map would differ from the nil map of the stored status.
	if len(s.CreatingPods) == 0 {
		s.CreatingPods = nil
	}
}

// stands reports whether a slot has not expired. If so, counted.Wait is at most the time that is left for it.
func (t *tally) stands(since time.Time, expiry time.Duration) bool {
	left := since.Add(expiry).Sub(t.now)
	if left > 0 && (t.counted.Wait == 0 || left < t.counted.Wait) {
		t.counted.Wait = left
	}
	return left > 0
}

// Rooms returns the free slots of each subset for Pods of the version, -1 without a limit. The Pods are those of the target. It
// recounts in a copy, so the WorkloadSpread stays as it is.
func Rooms(spread *v1beta1.WorkloadSpread, pods []*corev1.Pod, replicas int, version string, now time.Time) []int {
	counted := spread.DeepCopy()
	Recount(counted, pods, replicas, version, now)
	r := recordOf(counted, version, &replicas)
	rooms := make([]int, len(r.all))
	for i := range rooms {
		rooms[i] = int(r.shown(i))
	}
	return rooms
}
