package engine

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/inplace/record"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Owned lists the cached objects of the owner's namespace that it controls, through an index.
type Owned[T any] func(owner metav1.Object) ([]T, error)

// Caches are what a pass reads. Claims is nil for kinds whose Pods have no claims of their own, and Revisions for kinds that
// store no revisions.
type Caches struct {
	Pods      Owned[*corev1.Pod]
	Claims    Owned[*corev1.PersistentVolumeClaim]
	Revisions Owned[*appsv1.ControllerRevision]
	// Orphans lists the Pods of a namespace that match the selector and have no controller, through an index. It may be nil for
	// kinds that adopt no Pods.
	Orphans func(namespace string, selector labels.Selector) ([]*corev1.Pod, error)
	// OrphanRevisions does the same for revisions. It may be nil.
	OrphanRevisions func(namespace string, selector labels.Selector) ([]*appsv1.ControllerRevision, error)
	// Pod returns the Pod with a name, or nil. It is nil for kinds whose Pods belong to no nodes.
	Pod func(namespace, name string) (*corev1.Pod, error)
	// Claim returns the claim with a name, or nil. It is nil for kinds without claims.
	Claim func(namespace, name string) (*corev1.PersistentVolumeClaim, error)
}

// Observe reads the caches into a View of the workload. It reads only caches. The guard has made sure that the caches show the
// writes of the last pass. Any error means that nothing is decided.
func (e *Engine) Observe(target *Target) (*View, error) {
	v := &View{
		Target: target, Now: e.Clock.Now(), memory: e.memories.of(target.Object.GetUID()), random: e.random(), podNamed: e.Caches.Pod,
		progress: map[types.UID]inplace.Progress{}, templates: map[string]*corev1.PodTemplateSpec{},
		changes: map[[2]string]*inplace.Change{},
	}
	pods, err := e.Caches.Pods(target.Object)
	if err != nil {
		return nil, err
	}
	v.sortPods(pods)
	if err := v.findOrphans(&e.Caches); err != nil {
		return nil, err
	}
	if err := v.findOrphanClaims(&e.Caches); err != nil {
		return nil, err
	}
	if err := v.indexClaims(&e.Caches); err != nil {
		return nil, err
	}
	if err := v.findClaims(&e.Caches, pods); err != nil {
		return nil, err
	}
	if err := v.findRevisions(&e.Caches); err != nil {
		return nil, err
	}
	v.judgeUpdates()
	v.seePlaces()
	return v, nil
}

// sortPods sorts the Pods of the workload by name, and divides them. A Pod that is not active is Inactive even if the selector
// no longer matches it. A workload that adopts Pods would delete such a Pod if it has ended, so it releases it instead.
func (v *View) sortPods(all []*corev1.Pod) {
	slices.SortFunc(all, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range all {
		matches := v.Selector.Matches(labels.Set(pod.Labels))
		switch {
		case !podstate.Active(pod) && (matches || v.Adopts == nil || pod.DeletionTimestamp != nil):
			v.Inactive = append(v.Inactive, pod)
		case matches:
			v.Pods = append(v.Pods, pod)
		default:
			v.Released = append(v.Released, pod)
		}
	}
}

// findOrphans lists the Pods to adopt, and those that are left alone. A workload that is being deleted adopts nothing. The cache may not
// show the deletion yet, so adopt asks the API server before it writes.
func (v *View) findOrphans(caches *Caches) error {
	if v.Adopts == nil || caches.Orphans == nil || v.Object.GetDeletionTimestamp() != nil {
		return nil
	}
	orphans, err := caches.Orphans(v.Object.GetNamespace(), v.Selector)
	if err != nil {
		return err
	}
	for _, pod := range orphans {
		// A Pod that ended still has the name that its replacement needs, so it is adopted too.
		switch {
		case pod.DeletionTimestamp != nil:
		case v.Adopts(pod):
			v.Orphans = append(v.Orphans, pod)
		default:
			v.strangers = append(v.strangers, pod)
		}
	}
	return nil
}

// findOrphanClaims finds the claims that the Pods to adopt mount, and that have no controller either. Only workloads that control their
// claims adopt them.
func (v *View) findOrphanClaims(caches *Caches) error {
	if caches.Claims == nil || caches.Claim == nil || len(v.Orphans) == 0 {
		return nil
	}
	v.orphanClaims = map[types.UID][]*corev1.PersistentVolumeClaim{}
	for _, pod := range v.Orphans {
		id := v.Instance(pod)
		for i := range pod.Spec.Volumes {
			source := pod.Spec.Volumes[i].PersistentVolumeClaim
			if source == nil || id == "" {
				continue
			}
			claim, err := caches.Claim(pod.Namespace, source.ClaimName)
			if err != nil {
				return err
			}
			if claim != nil && claim.DeletionTimestamp == nil && metav1.GetControllerOfNoCopy(claim) == nil && v.instanceOf(claim) == id {
				v.orphanClaims[pod.UID] = append(v.orphanClaims[pod.UID], claim)
			}
		}
	}
	return nil
}

// findUnowned lists the revisions to adopt. Without them, a workload that is created again would store its content under a new
// name, and update all adopted Pods to it.
func (v *View) findUnowned(caches *Caches) (err error) {
	if !v.Revisions.Adopts || caches.OrphanRevisions == nil || v.Object.GetDeletionTimestamp() != nil {
		return nil
	}
	v.unowned, err = caches.OrphanRevisions(v.Object.GetNamespace(), v.Selector)
	return err
}

// findClaims finds the claims that the kind names. Their names count as taken, also where the workload does not control the
// claim.
func (v *View) findClaims(caches *Caches, pods []*corev1.Pod) error {
	if v.Identity.ClaimNames == nil || caches.Claim == nil {
		return nil
	}
	v.named = map[string]*corev1.PersistentVolumeClaim{}
	for _, name := range v.Identity.ClaimNames(pods) {
		claim, err := caches.Claim(v.Object.GetNamespace(), name)
		if err != nil {
			return err
		}
		if claim != nil {
			v.named[name], v.claims.names[name] = claim, true
		}
	}
	return nil
}

// indexClaims indexes the claims of the workload and of its Pods. It omits claims that Pods in Released control: those are
// neither reused nor deleted here.
func (v *View) indexClaims(caches *Caches) error {
	v.claims = claimIndex{byInstance: map[string][]*corev1.PersistentVolumeClaim{}, byPod: map[types.UID][]*corev1.PersistentVolumeClaim{},
		names: map[string]bool{}}
	if caches.Claims == nil {
		return nil
	}
	owned, err := caches.Claims(v.Object)
	if err != nil {
		return err
	}
	for _, claim := range owned {
		v.claims.names[claim.Name] = true
		id := v.instanceOf(claim)
		v.claims.byInstance[id] = append(v.claims.byInstance[id], claim)
	}
	// Claims that were handed to a Pod before its deletion are controlled by that Pod.
	for _, pod := range v.Pods {
		if !mountsClaims(pod) {
			continue
		}
		handed, err := caches.Claims(pod)
		if err != nil {
			return err
		}
		for _, claim := range handed {
			// The claim of an ephemeral volume belongs to the Pod alone: without this owner, no Pod could use it.
			if v.instanceOf(claim) != v.Instance(pod) {
				continue
			}
			v.claims.names[claim.Name] = true
			if claim.DeletionTimestamp == nil {
				v.claims.byPod[pod.UID] = append(v.claims.byPod[pod.UID], claim)
			}
		}
	}
	return nil
}

// mountsClaims reports whether a Pod has a claim at all. Most Pods have none, and need no lookup.
func mountsClaims(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

// findRevisions lists the revisions, and finds or builds that of the wanted content. A revision that is built here is written
// by Execute.
func (v *View) findRevisions(caches *Caches) error {
	if caches.Revisions == nil {
		v.Update = v.Revisions.Format.New(v.Object, v.OwnerRef(), &v.Revisions.Content, 1, nil)
		v.Current, v.History = v.Update, []*appsv1.ControllerRevision{v.Update}
		return nil
	}
	revisions, err := caches.Revisions(v.Object)
	if err != nil {
		return err
	}
	if err := v.findUnowned(caches); err != nil {
		return err
	}
	v.resolveRevisions(slices.Concat(revisions, v.unowned))
	return nil
}

// resolveRevisions finds the revision of the wanted content, or builds it. existing are all revisions of the workload, with
// those to adopt. Nothing is written yet, and the cached revisions are not changed.
func (v *View) resolveRevisions(existing []*appsv1.ControllerRevision) {
	wanted := &v.Revisions
	history.Sort(existing)
	resolution := wanted.Format.Resolve(&wanted.Content, existing)
	v.revision = resolution.Action
	switch resolution.Action {
	case history.Reuse:
		v.Update = resolution.Revision
	case history.Bump:
		v.Update = resolution.Revision.DeepCopy()
		v.Update.Revision = resolution.Number
		existing = slices.DeleteFunc(existing, func(r *appsv1.ControllerRevision) bool { return r == resolution.Revision })
		existing = append(existing, v.Update)
	case history.Create:
		v.Update = wanted.Format.New(v.Object, v.OwnerRef(), &wanted.Content, resolution.Number, wanted.CollisionCount)
		existing = append(existing, v.Update)
	}
	if v.revision != history.Reuse && wanted.Annotate != nil {
		wanted.Annotate(v.Update)
	}
	v.History = existing
	// A status without a current revision, or with one that was deleted, begins with the wanted one.
	v.Current = history.Find(existing, wanted.Current)
	if v.Current == nil || !wanted.KeepCurrent && v.RolledOut() {
		v.Current = v.Update
	}
}

// judgeUpdates evaluates the progress of every in-place update that was not judged before. Sightings that are not repeated in
// this pass are dropped, so their time starts again.
func (v *View) judgeUpdates() {
	before := v.memory.sightings
	v.memory.sightings = map[types.UID]sighting{}
	var failures []error
	for _, pod := range v.Pods {
		if !v.underUpdate(pod) {
			continue
		}
		progress, err := inplace.Evaluate(pod, v.watch(pod, before))
		if err != nil {
			failures = append(failures, err)
		}
		v.progress[pod.UID] = progress
	}
	v.unreadable = errors.Join(failures...)
}

// underUpdate reports whether an in-place update of the Pod may still be in progress. The update of a released Pod was judged
// before.
func (v *View) underUpdate(pod *corev1.Pod) bool {
	// A delayed update has not begun, and one that was given up is not judged again. A Pod that the user picked for deletion can stay for
	// long, for example while updates are paused, so its update is judged.
	if inplace.Delayed(pod) || GivenUp(pod) {
		return false
	}
	// Without the gate, the record is the only sign of an update, and is judged in each pass.
	gated := podstate.HasGate(pod, pub.InPlaceUpdateReadyConditionType)
	return lifecycle.Of(pod) == pub.LifecycleStateUpdating || gated && !inplace.Released(pod) || !gated && record.Exists(pod) ||
		record.Waits(pod) // A hook can have moved the Pod on meanwhile.
}

// watch returns how long the same thing has been seen of the Pod. A new sighting starts at zero. before are the sightings of
// the last pass.
func (v *View) watch(pod *corev1.Pod, before map[types.UID]sighting) inplace.Watched {
	return func(what string) time.Duration {
		seen, known := before[pod.UID]
		if !known || seen.what != what {
			seen = sighting{what: what, since: v.Now}
		}
		v.memory.sightings[pod.UID] = seen
		return v.Now.Sub(seen.since)
	}
}

// Trim returns the revisions beyond the limit that nothing uses. A revision that a Pod uses is kept, because the Pod cannot be
// updated in place without it. So are the update revision, the current one, and those that are to be adopted.
func (v *View) Trim() []*appsv1.ControllerRevision {
	live := map[string]bool{v.Update.Name: true, v.Current.Name: true, v.Revisions.Current: true}
	for _, revision := range v.unowned {
		live[revision.Name] = true
	}
	labels := map[string]bool{}
	for _, pod := range slices.Concat(v.Pods, v.Inactive, v.Orphans) {
		labels[pod.Labels[pub.ControllerRevisionHashKey]] = true
	}
	used := slices.Collect(maps.Keys(labels))
	isLive := func(revision *appsv1.ControllerRevision) bool {
		return live[revision.Name] || slices.ContainsFunc(used, func(label string) bool { return v.labelNames(label, revision.Name) })
	}
	limit := v.Revisions.Limit
	for _, revision := range v.History {
		if v.Revisions.LimitUsed && revision.Name != v.Update.Name && isLive(revision) {
			limit--
		}
	}
	return history.Trim(v.History, isLive, limit)
}
