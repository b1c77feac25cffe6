package cloneset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// width is how many Pods are written to at once.
const width = 16

// writer makes the writes that the pure functions decided, tells the guard of each, and the user of what matters.
type writer struct {
	kube     kubernetes.Interface
	kruise   versioned.Interface
	guard    *consistency.Guard
	recorder record.EventRecorder
	// budgets is nil where updates are not bounded.
	budgets *leaver
	// whole is set for a host without the subresource for amounts, which Kubernetes has since 1.32: there they are written with
	// the rest of the Pod.
	whole atomic.Bool
}

// pods makes changes to Pods. One that lost against another writer is decided anew when that write arrives. It tells whether
// the Pods are no longer as they were decided on.
func (w *writer) pods(ctx context.Context, set *v1beta1.CloneSet, changes []change) (acted bool, err error) {
	var effects effects
	err = podcontrol.Parallel(len(changes), width, func(i int) error {
		_, err := w.patchPod(ctx, set, changes[i])
		if apierrors.IsConflict(err) && changes[i].exact || apierrors.IsNotFound(err) {
			err = nil
		}
		return effects.note(err)
	})
	return effects.any(), err
}

// effects remember whether any of several writes changed something, or may have.
type effects struct{ count atomic.Int32 }

func (e *effects) note(err error) error {
	if err == nil || unsure(err) {
		e.count.Add(1)
	}
	return err
}

func (e *effects) any() bool { return e.count.Load() > 0 }

// patchPod writes what a change changes, and nothing when that is nothing.
func (w *writer) patchPod(ctx context.Context, set *v1beta1.CloneSet, c change) (*corev1.Pod, error) {
	patch, err := podcontrol.Patch(c.before, c.after, c.exact)
	if err != nil {
		return nil, err
	}
	var subresources []string
	switch {
	case c.status:
		subresources = []string{"status"}
	case c.resize && !w.whole.Load():
		subresources = []string{"resize"}
	}
	var options metav1.PatchOptions
	if c.trial {
		options.DryRun = []string{metav1.DryRunAll}
	}
	pod, err := w.kube.CoreV1().Pods(c.before.Namespace).Patch(ctx, c.before.Name, types.StrategicMergePatchType, patch,
		options, subresources...)
	if c.resize && len(subresources) > 0 && noSuchPath(err) {
		w.whole.Store(true)
		return w.patchPod(ctx, set, c)
	}
	if err != nil {
		return nil, fmt.Errorf("patch Pod %s: %w", c.before.Name, err)
	}
	if !c.trial {
		w.guard.Wrote(set.UID, pods, pod.ResourceVersion)
	}
	return pod, nil
}

// noSuchPath tells a path that the server does not serve from an object that is not there.
func noSuchPath(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// updates carries out what was decided about updates.
func (w *writer) updates(ctx context.Context, v *view, plan updating) error {
	_, held := w.pods(ctx, v.set, plan.changes)
	inPlace := podcontrol.Parallel(len(plan.inPlace), width, func(i int) error {
		pod := plan.inPlace[i].pod
		if err := w.updateInPlace(ctx, v, plan.inPlace[i], plan); refused(err) {
			klog.FromContext(ctx).V(2).Info("Pod waits for its budget", "pod", klog.KObj(pod), "reason", err.Error())
			return err
		} else if err != nil {
			w.recorder.Eventf(v.set, corev1.EventTypeWarning, "FailedUpdatePodInPlace",
				"failed to update pod %s in-place(revision %s): %v", pod.Name, plan.target.Name, err)
			return err
		}
		w.recorder.Eventf(v.set, corev1.EventTypeNormal, "SuccessfulUpdatePodInPlace",
			"successfully update pod %s in-place(revision %s)", pod.Name, plan.target.Name)
		return nil
	})
	recreate := podcontrol.Parallel(len(plan.recreate), width, func(i int) error {
		pod := plan.recreate[i]
		if _, err := w.patchPod(ctx, v.set, recreated(pod)); err != nil {
			w.recorder.Eventf(v.set, corev1.EventTypeWarning, "FailedUpdatePodReCreate",
				"failed to patch pod %s specified-delete for update(revision %s): %v", pod.Name, plan.target.Name, err)
			return err
		}
		w.recorder.Eventf(v.set, corev1.EventTypeNormal, "SuccessfulUpdatePodReCreate",
			"successfully patch pod %s specified-delete for update(revision %s)", pod.Name, plan.target.Name)
		return nil
	})
	return errors.Join(held, inPlace, recreate)
}

// updateInPlace takes the Pod out of service, if a container must end, and then changes it. The last write replaces the very
// version that the one before it returned, so that it records the instances that it puts an end to.
func (w *writer) updateInPlace(ctx context.Context, v *view, update inPlaceUpdate, plan updating) error {
	base, interrupts := update.pod, update.change.Interrupts(update.pod)
	if interrupts {
		if err := w.budgets.leave(ctx, v.set, base); err != nil {
			return err
		}
	}
	if err := w.try(ctx, v, update, plan); err != nil {
		return err
	}
	delays := interrupts && v.graceSeconds() > 0
	if interrupts && !delays {
		held := base.DeepCopy()
		inplace.Hold(held, v.now)
		var err error
		if base, err = w.patchPod(ctx, v.set, change{before: update.pod, after: held, status: true}); err != nil {
			return err
		}
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		err := w.writeUpdate(ctx, v, &base, update, plan)
		if apierrors.IsConflict(err) {
			fresh, getErr := w.kube.CoreV1().Pods(base.Namespace).Get(ctx, base.Name, metav1.GetOptions{})
			if getErr != nil {
				return fmt.Errorf("get Pod %s: %w", base.Name, getErr)
			}
			if fresh.UID != update.pod.UID || fresh.DeletionTimestamp != nil {
				return nil
			}
			base = fresh
		}
		return err
	})
}

// writeUpdate writes the update over the very version of base. A change that waits for its grace period is metadata alone, so
// the write that takes the Pod out of service takes it along. Other amounts of processor and memory come first.
func (w *writer) writeUpdate(ctx context.Context, v *view, base **corev1.Pod, update inPlaceUpdate, plan updating) error {
	after, err := v.applied(*base, update, plan.target)
	if err != nil {
		return err
	}
	if inplace.Delayed(after) {
		inplace.Hold(after, v.now)
		_, err := w.patchPod(ctx, v.set, change{before: *base, after: after, status: true, exact: true})
		return err
	}
	if resized, _ := inplace.Split(*base, after); resized != nil {
		written, err := w.patchPod(ctx, v.set, change{before: *base, after: resized, resize: true})
		if err != nil {
			return err
		}
		*base = written
		if after, err = v.applied(written, update, plan.target); err != nil {
			return err
		}
	}
	_, err = w.patchPod(ctx, v.set, change{before: *base, after: after, exact: true})
	return err
}

// try asks the server whether it would take the change, if updates failed before. A Pod whose change is refused must not go
// out of service at each try for nothing; and taking it out would bring on the next try at once.
func (w *writer) try(ctx context.Context, v *view, update inPlaceUpdate, plan updating) error {
	if !v.failed(v1beta1.CloneSetConditionFailedUpdate) || !update.change.Interrupts(update.pod) {
		return nil
	}
	after, err := v.tried(update, plan.target)
	if err != nil {
		return err
	}
	resized, rest := inplace.Split(update.pod, after)
	if resized != nil {
		if _, err := w.patchPod(ctx, v.set, change{before: update.pod, after: resized, resize: true, trial: true}); err != nil {
			return err
		}
	}
	_, err = w.patchPod(ctx, v.set, change{before: update.pod, after: rest, trial: true})
	return err
}

// status reports, if there is anything new. On a conflict the fresh object gets the same report: it says which generation it
// is about.
func (w *writer) status(ctx context.Context, set *v1beta1.CloneSet, status v1beta1.CloneSetStatus) error {
	if sameStatus(&set.Status, &status) {
		return nil
	}
	client := w.kruise.AppsV1beta1().CloneSets(set.Namespace)
	target := set
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		report := target.DeepCopy()
		report.Status = status
		written, err := client.UpdateStatus(ctx, report, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			fresh, getErr := client.Get(ctx, set.Name, metav1.GetOptions{})
			if getErr != nil {
				return getErr
			}
			if fresh.UID != set.UID {
				return nil
			}
			target = fresh
		}
		if err == nil {
			w.guard.Wrote(set.UID, sets, written.ResourceVersion)
		}
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}

// clearPodsToDelete drops the names of Pods that are gone from the spec's list, and refuses to overwrite an edit of it.
func (w *writer) clearPodsToDelete(ctx context.Context, v *view) error {
	active := map[string]bool{}
	for _, pod := range v.pods {
		active[pod.Name] = true
	}
	keep := []string{}
	for _, name := range v.set.Spec.ScaleStrategy.PodsToDelete {
		if active[name] {
			keep = append(keep, name)
		}
	}
	if len(keep) == len(v.set.Spec.ScaleStrategy.PodsToDelete) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": v.set.ResourceVersion, "uid": v.set.UID},
		"spec":     map[string]any{"scaleStrategy": map[string]any{"podsToDelete": keep}},
	})
	if err != nil {
		return fmt.Errorf("encode podsToDelete: %w", err)
	}
	client := w.kruise.AppsV1beta1().CloneSets(v.set.Namespace)
	written, err := client.Patch(ctx, v.set.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// The change that we lost against brings us here again.
		return nil
	}
	if err != nil {
		return fmt.Errorf("clear scaleStrategy.podsToDelete: %w", err)
	}
	w.guard.Wrote(v.set.UID, sets, written.ResourceVersion)
	return nil
}
