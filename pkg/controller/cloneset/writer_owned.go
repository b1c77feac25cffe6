package cloneset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/podstate"
)

// createInstance creates an instance's claims, except those it finds again, and then its Pod.
func (w *writer) createInstance(ctx context.Context, v *view, blueprint *podcontrol.Blueprint, id string) error {
	existing := map[string]bool{}
	for _, claim := range v.claims {
		existing[claim.Name] = true
	}
	pod := blueprint.Build(id, v.now)
	wanted := slices.DeleteFunc(blueprint.Claims(id), func(c *corev1.PersistentVolumeClaim) bool { return existing[c.Name] })
	if err := w.tryCreate(ctx, v, pod, len(wanted)); err != nil {
		return err
	}
	for _, claim := range wanted {
		created, err := w.kube.CoreV1().PersistentVolumeClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
		if err != nil {
			w.failedCreate(v.set, "pvc", err)
			return fmt.Errorf("create claim %s: %w", claim.Name, err)
		}
		w.guard.Wrote(v.set.UID, claims, created.ResourceVersion)
	}
	created, err := w.kube.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if unsure(err) {
		created, err = w.createdAfterAll(ctx, v.set, pod, err)
	}
	if err != nil {
		w.failedCreate(v.set, "pod", err)
		return fmt.Errorf("create Pod %s: %w", pod.Name, err)
	}
	w.guard.Wrote(v.set.UID, pods, created.ResourceVersion)
	w.recorder.Eventf(v.set, corev1.EventTypeNormal, "SuccessfulCreate", "succeed to create pod %s", pod.Name)
	return nil
}

// tryCreate asks the server whether it would take a Pod, before claims are created for it, if creations failed before. Claims
// without a Pod are deleted again where they are not reused, and both would bring on the next try at once, without end.
func (w *writer) tryCreate(ctx context.Context, v *view, pod *corev1.Pod, claims int) error {
	if claims == 0 || !v.failed(v1beta1.CloneSetConditionFailedScale) {
		return nil
	}
	_, err := w.kube.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		w.failedCreate(v.set, "pod", err)
		return fmt.Errorf("create Pod %s: %w", pod.Name, err)
	}
	return nil
}

// unsure tells whether a write that failed may have been carried out: the answer was lost, or told of a server's trouble, or
// a retry on the way found the name taken.
func unsure(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError || apierrors.IsAlreadyExists(err)
	}
	return err != nil
}

// createdAfterAll looks for the Pod of a creation that failed. Without it, the next pass would create another one.
func (w *writer) createdAfterAll(ctx context.Context, set *v1beta1.CloneSet, pod *corev1.Pod, failure error) (*corev1.Pod, error) {
	found, err := w.kube.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil || !metav1.IsControlledBy(found, set) || !podstate.Active(found) {
		return nil, failure
	}
	return found, nil
}

// failedCreate says why, except to a namespace that goes away with all of it.
func (w *writer) failedCreate(set *v1beta1.CloneSet, what string, err error) {
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		w.recorder.Eventf(set, corev1.EventTypeWarning, "FailedCreate", "failed to create %s: %v", what, err)
	}
}

// deletePods deletes Pods, and with each the claims of its instance. It tells whether there are fewer Pods now.
func (w *writer) deletePods(ctx context.Context, v *view, doomed []*corev1.Pod) (acted bool, err error) {
	var effects effects
	err = podcontrol.Parallel(len(doomed), width, func(i int) error {
		pod := doomed[i]
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}
		err := w.kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
		if apierrors.IsNotFound(err) {
			err = nil
		}
		if effects.note(err) != nil {
			if !refused(err) {
				w.recorder.Eventf(v.set, corev1.EventTypeWarning, "FailedDelete", "failed to delete pod %s: %v", pod.Name, err)
			}
			return fmt.Errorf("delete Pod %s: %w", pod.Name, err)
		}
		w.guard.Deleted(v.set.UID, pods, pod)
		w.recorder.Eventf(v.set, corev1.EventTypeNormal, "SuccessfulDelete", "succeed to delete pod %s", pod.Name)
		var failures []error
		for _, claim := range v.claimsOf(pod) {
			failures = append(failures, w.deleteClaim(ctx, v.set, claim))
		}
		return errors.Join(failures...)
	})
	return effects.any(), err
}

func (w *writer) deleteClaim(ctx context.Context, set *v1beta1.CloneSet, claim *corev1.PersistentVolumeClaim) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}}
	err := w.kube.CoreV1().PersistentVolumeClaims(claim.Namespace).Delete(ctx, claim.Name, options)
	if err != nil && !apierrors.IsNotFound(err) {
		w.recorder.Eventf(set, corev1.EventTypeWarning, "FailedDelete", "failed to clean up PVC %s: %v", claim.Name, err)
		return fmt.Errorf("delete claim %s: %w", claim.Name, err)
	}
	w.guard.Deleted(set.UID, claims, claim)
	return nil
}

// cleanClaim deletes a claim that has no Pod, and hands one over that has.
func (w *writer) cleanClaim(ctx context.Context, set *v1beta1.CloneSet, orphan orphanedClaim) error {
	if orphan.pod == nil {
		return w.deleteClaim(ctx, set, orphan.claim)
	}
	return w.handOver(ctx, set, orphan.claim, orphan.pod)
}

// handOver makes a claim go with a Pod that is no longer ours.
func (w *writer) handOver(ctx context.Context, set *v1beta1.CloneSet, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":             claim.UID,
		"ownerReferences": []any{map[string]any{"$patch": "delete", "uid": set.UID}, podRef(pod)},
	}})
	if err != nil {
		return fmt.Errorf("encode owner of claim %s: %w", claim.Name, err)
	}
	written, err := w.kube.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.recorder.Eventf(set, corev1.EventTypeWarning, "FailedUpdate", "failed to update PVC %s: %v", claim.Name, err)
		return fmt.Errorf("hand claim %s over to Pod %s: %w", claim.Name, pod.Name, err)
	}
	w.guard.Wrote(set.UID, claims, written.ResourceVersion)
	return nil
}

// release lets go of Pods that the selector no longer matches. Their claims go with them.
func (w *writer) release(ctx context.Context, v *view, leave []*corev1.Pod) error {
	return podcontrol.Parallel(len(leave), width, func(i int) error {
		pod := leave[i]
		for _, claim := range v.claimsOf(pod) {
			if err := w.handOver(ctx, v.set, claim, pod); err != nil {
				return err
			}
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": pod.UID, "ownerReferences": []any{map[string]any{"$patch": "delete", "uid": v.set.UID}},
		}})
		if err != nil {
			return fmt.Errorf("encode owner of Pod %s: %w", pod.Name, err)
		}
		written, err := w.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("release Pod %s: %w", pod.Name, err)
		}
		w.guard.Wrote(v.set.UID, pods, written.ResourceVersion)
		return nil
	})
}

// createRevision creates a revision. When its name is taken by the same data of the same owner, that one is it; when it is
// taken by anything else, it collided.
func (w *writer) createRevision(ctx context.Context, set *v1beta1.CloneSet,
	wanted *appsv1.ControllerRevision) (revision *appsv1.ControllerRevision, collided bool, err error) {
	client := w.kube.AppsV1().ControllerRevisions(wanted.Namespace)
	revision, err = client.Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		revision, err = client.Get(ctx, wanted.Name, metav1.GetOptions{})
		if err != nil {
			return nil, false, fmt.Errorf("get revision %s: %w", wanted.Name, err)
		}
		return revision, !history.SameData(revision.Data.Raw, wanted.Data.Raw) || !metav1.IsControlledBy(revision, set), nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("create revision %s: %w", wanted.Name, err)
	}
	w.guard.Wrote(set.UID, revisions, revision.ResourceVersion)
	return revision, false, nil
}

// bumpRevision writes an older revision that is the newest one now.
func (w *writer) bumpRevision(ctx context.Context, set *v1beta1.CloneSet,
	bumped *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	written, err := w.kube.AppsV1().ControllerRevisions(bumped.Namespace).Update(ctx, bumped, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("bump revision %s to %d: %w", bumped.Name, bumped.Revision, err)
	}
	w.guard.Wrote(set.UID, revisions, written.ResourceVersion)
	return written, nil
}

func (w *writer) deleteRevision(ctx context.Context, set *v1beta1.CloneSet, revision *appsv1.ControllerRevision) error {
	err := w.kube.AppsV1().ControllerRevisions(revision.Namespace).Delete(ctx, revision.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &revision.UID}})
	if err == nil {
		w.guard.Deleted(set.UID, revisions, revision)
	}
	return err
}
