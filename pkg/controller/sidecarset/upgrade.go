package sidecarset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/passes"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// attempts is how often a change of a Pod is decided again at once after a conflict with another writer.
const attempts = 5

// errLeft says that the Pod does not need the change any more: another writer or an earlier attempt has made it. It ends change without
// an error.
var errLeft = errors.New("the Pod changed")

// upgrade upgrades the Pods of the choice, and then writes into their conditions that they can be upgraded. If the second write fails, a
// later pass repeats it, see lacksCondition. The conditions of the choice are checked again on the Pod that is written, because it can
// be newer than the view.
func (r *Reconciler) upgrade(ctx context.Context, v *view, pods []*corev1.Pod, revision string) error {
	return r.each(v, pods, func(pod *corev1.Pod) error {
		upgraded, err := r.change(ctx, v.set, pod, engine.Main, func(fresh *corev1.Pod) error {
			if sidecar.Updated(v.set, fresh) || !sidecar.Upgradable(v.set, fresh) || !sidecar.Injected(v.set, fresh) {
				return errLeft
			}
			// A Pod that was not ready was chosen beyond maxUnavailable. If it is ready now, its event causes a pass that chooses again.
			if sidecar.Ready(v.set, fresh) && !sidecar.Ready(v.set, pod) {
				return errLeft
			}
			return sidecar.Upgrade(fresh, v.set, revision, metav1.NewTime(r.clock.Now()))
		})
		if err != nil || upgraded == nil {
			return err
		}
		// The condition may still say that the Pod cannot be upgraded, from an earlier content.
		return r.setUpgradable(ctx, v.set, upgraded, true)
	})
}

// flip ends the hot upgrades of the Pods: the old container gets the empty image. FlipDue is asked again for the Pod that is written,
// so a stale cache cannot empty the container that now serves. flip returns how many Pods it has written.
func (r *Reconciler) flip(ctx context.Context, v *view, pods []*corev1.Pod) (int, error) {
	// Several goroutines count.
	var written atomic.Int32
	err := r.each(v, pods, func(pod *corev1.Pod) error {
		flipped, err := r.change(ctx, v.set, pod, engine.Main, func(fresh *corev1.Pod) error {
			if !sidecar.FlipDue(v.set, fresh) {
				return errLeft
			}
			return sidecar.Flip(fresh, v.set, metav1.NewTime(r.clock.Now()))
		})
		switch {
		case err != nil:
			r.recorder.Eventf(pod, corev1.EventTypeWarning, "ResetContainerFailed",
				"SidecarSet %s cannot set the old container to the empty image: %v", v.set.Name, err)
		case flipped != nil:
			written.Add(1)
			r.recorder.Eventf(pod, corev1.EventTypeNormal, "ResetContainerSucceed",
				"SidecarSet %s has set the old container to the empty image", v.set.Name)
		}
		return err
	})
	return int(written.Load()), err
}

// refuse reports that the Pods cannot be upgraded. A Pod whose condition says so already is not written again, and the event is sent only
// if the condition of at least one Pod was new. An annotation that cannot be read is an event of its Pod.
func (r *Reconciler) refuse(ctx context.Context, v *view, pods []*corev1.Pod) error {
	var lock sync.Mutex
	// Several goroutines count, so lock guards it.
	reported := 0
	err := r.each(v, pods, func(pod *corev1.Pod) error {
		if upgradable, found := upgradableIn(pod)[v.set.Name]; found && !upgradable {
			return nil
		}
		if err := sidecar.Unreadable(v.set, pod); err != nil {
			r.recorder.Eventf(pod, corev1.EventTypeWarning, "NotUpgradable",
				"SidecarSet %s cannot upgrade this Pod: %v; correct the annotation, or recreate the Pod", v.set.Name, err)
		}
		lock.Lock()
		reported++
		lock.Unlock()
		return r.setUpgradable(ctx, v.set, pod, false)
	})
	if reported > 0 {
		r.recorder.Eventf(v.set, corev1.EventTypeNormal, "NotUpgradablePods", "%d Pods cannot be upgraded in place, because more than images "+
			"changed or an annotation cannot be read; they are upgraded when they are recreated", len(pods))
	}
	return err
}

// each calls f for the Pods, some at a time, until passes.Time is over. The next pass continues with the other Pods. Each kind of change
// has this time for itself, so many Pods that need one kind do not keep others from the other kind.
func (r *Reconciler) each(v *view, pods []*corev1.Pod, f func(*corev1.Pod) error) error {
	p := passes.Begin(r.clock, passes.Width)
	err := p.Each(len(pods), func(i int) error { return f(pods[i]) })
	v.unfinished = v.unfinished || p.Unfinished()
	return err
}

// change edits a Pod and writes it, if it is still at the version that edit saw. part selects the main resource or the status. After a
// conflict, edit runs again on the stored Pod, so each write is decided on exactly what it replaces. change returns the stored Pod, or
// nil if edit returned errLeft or the Pod is gone. A write without an answer is recorded in r.lost, and the error is returned.
func (r *Reconciler) change(ctx context.Context, set *v1beta1.SidecarSet, pod *corev1.Pod, part engine.Part,
	edit func(*corev1.Pod) error) (*corev1.Pod, error) {
	// The first attempt uses the Pod of the cache and costs no read.
	base := pod
	for attempt := 1; ; attempt++ {
		edited := base.DeepCopy()
		// edit gets a copy, because base belongs to the cache, and is compared with the result.
		if err := edit(edited); errors.Is(err, errLeft) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		written, err := r.server.PatchPod(ctx, &engine.Change{Before: base, After: edited, Part: part, Exact: true}, false)
		switch {
		case err == nil:
			r.guard.Wrote(set.UID, engine.PodResource.GroupResource(), written.ResourceVersion)
			return written, nil
		case apierrors.IsNotFound(err):
			return nil, nil
		case engine.Lost(err):
			r.lost.add(set.UID, pod)
			return nil, fmt.Errorf("patch Pod %s: %w", nameOf(pod), err)
		case !apierrors.IsConflict(err) || attempt == attempts:
			return nil, fmt.Errorf("patch Pod %s: %w", nameOf(pod), err)
		}
		base, err = r.server.GetPod(ctx, pod.Namespace, pod.Name)
		switch {
		case apierrors.IsNotFound(err), err == nil && (base.UID != pod.UID || !podstate.Active(base)):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("get Pod %s: %w", nameOf(pod), err)
		}
	}
}

// lost keeps, by SidecarSet, the Pods whose last write has an unknown outcome. The guard cannot wait for such a write, because its
// resource version is not known. So the next pass reads the Pods first, see find.
type lost struct {
	lock sync.Mutex
	pods map[types.UID]map[types.NamespacedName]bool
}

func (l *lost) add(set types.UID, pod *corev1.Pod) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.pods == nil {
		l.pods = map[types.UID]map[types.NamespacedName]bool{}
	}
	if l.pods[set] == nil {
		l.pods[set] = map[types.NamespacedName]bool{}
	}
	l.pods[set][types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = true
}

func (l *lost) of(set types.UID) (names []types.NamespacedName) {
	l.lock.Lock()
	defer l.lock.Unlock()
	for name := range l.pods[set] {
		names = append(names, name)
	}
	return names
}

func (l *lost) forget(set types.UID) {
	l.lock.Lock()
	defer l.lock.Unlock()
	delete(l.pods, set)
}

// find reads the Pods whose last write has an unknown outcome. The next pass then waits until the cache shows them. found is true if
// there was any: this pass must end, because its cache can be older. If a read fails, all Pods of the list are read again later.
func (r *Reconciler) find(ctx context.Context, set *v1beta1.SidecarSet) (found bool, err error) {
	names := r.lost.of(set.UID)
	for _, name := range names {
		pod, err := r.server.GetPod(ctx, name.Namespace, name.Name)
		switch {
		case err == nil:
			r.guard.Wrote(set.UID, engine.PodResource.GroupResource(), pod.ResourceVersion)
		case !apierrors.IsNotFound(err):
			return false, fmt.Errorf("get Pod %s after a write without an answer: %w", name, err)
		}
	}
	r.lost.forget(set.UID)
	return len(names) > 0, nil
}

// upgradableIn returns what the Pod's condition says about its SidecarSets, by name. The message of the condition is a JSON object,
// because the condition has no other field for several SidecarSets.
func upgradableIn(pod *corev1.Pod) map[string]bool {
	sets := map[string]bool{}
	if condition := podstate.Condition(pod, pub.SidecarSetUpgradableConditionType); condition != nil {
		_ = json.Unmarshal([]byte(condition.Message), &sets) // A message that cannot be read is replaced.
	}
	return sets
}

// setUpgradable writes into the Pod's condition whether the SidecarSet can upgrade it. The condition is True if all SidecarSets can
// (case 45 of docs/contract/sidecarset.md). Entries of deleted SidecarSets are dropped, because nobody else would ever remove them.
func (r *Reconciler) setUpgradable(ctx context.Context, set *v1beta1.SidecarSet, pod *corev1.Pod, upgradable bool) error {
	_, err := r.change(ctx, set, pod, engine.Status, func(fresh *corev1.Pod) error {
		sets := upgradableIn(fresh)
		before := len(sets)
		// The cache of SidecarSets is complete, so a name that it does not have was deleted.
		maps.DeleteFunc(sets, func(name string, _ bool) bool { return name != set.Name && r.set(name) == nil })
		if existing, found := sets[set.Name]; found && existing == upgradable && len(sets) == before {
			return errLeft
		}
		sets[set.Name] = upgradable
		status, reason := corev1.ConditionTrue, pub.SidecarSetAllUpgradable
		for _, value := range sets {
			if !value {
				status, reason = corev1.ConditionFalse, pub.SidecarSetUpdateImmutableField
			}
		}
		text, err := json.Marshal(sets)
		if err != nil {
			return fmt.Errorf("encode condition %s: %w", pub.SidecarSetUpgradableConditionType, err)
		}
		condition := corev1.PodCondition{
			Type: pub.SidecarSetUpgradableConditionType, Status: status, Reason: reason, Message: string(text),
			LastTransitionTime: metav1.NewTime(r.clock.Now()),
		}
		// The time moves only with the status, as for all conditions.
		if existing := podstate.Condition(fresh, condition.Type); existing != nil && existing.Status == status {
			condition.LastTransitionTime = existing.LastTransitionTime
		}
		podstate.SetCondition(fresh, condition)
		return nil
	})
	return err
}
