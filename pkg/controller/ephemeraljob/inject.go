package ephemeraljob

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/passes"
)

// subresource is the part of a Pod through which ephemeral containers are added.
const subresource = "ephemeralcontainers"

// inject adds the containers to the Pods. It starts with one Pod, so a template that the server rejects is sent once, and not once
// for each Pod. A patch whose answer was lost is repeated in the next pass with the same content, which changes nothing. The first
// error stops further batches. The error is returned, so the queue retries with growing delays. If left is true, the time of the pass
// is over, and the next pass goes on with the job as it is then: containers that were added cannot be removed.
func (r *Reconciler) inject(ctx context.Context, job *v1alpha1.EphemeralJob, pods []*corev1.Pod) (left bool, err error) {
	p := passes.Begin(r.clock, passes.Width)
	err = p.SlowStart(len(pods), passes.Width, func(i int) error { return r.injectPod(ctx, job, pods[i]) })
	if err != nil {
		r.recorder.Event(job, corev1.EventTypeWarning, "CreateFailed", err.Error())
	}
	return p.Unfinished(), err
}

// attempt is a job and a Pod, by their UIDs.
type attempt struct{ job, pod types.UID }

// putRefusedLast moves Pods that the server has refused behind the others, so that they do not hold up a job. The order is the same
// otherwise: after a lost answer, the next pass must begin with the same Pod.
func (r *Reconciler) putRefusedLast(job *v1alpha1.EphemeralJob, pods []*corev1.Pod) {
	refused := func(pod *corev1.Pod) int {
		if _, found := r.refused.Get(attempt{job.UID, pod.UID}); found {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return refused(a) - refused(b) })
}

// injectPod adds the containers to one Pod. A Pod that was deleted meanwhile is no error. A Pod that was replaced by another one of
// its name has another UID, so the server refuses the patch.
func (r *Reconciler) injectPod(ctx context.Context, job *v1alpha1.EphemeralJob, pod *corev1.Pod) error {
	patch, err := patchFor(job, pod.UID)
	if err != nil {
		return err
	}
	client := r.kube.CoreV1().Pods(pod.Namespace)
	// Only this subresource may add ephemeral containers.
	patched, err := client.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, subresource)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		r.refused.Add(attempt{job.UID, pod.UID}, nil)
		return fmt.Errorf("add ephemeral containers to Pod %s: %w", pod.Name, err)
	case err != nil:
		return fmt.Errorf("add ephemeral containers to Pod %s: %w", pod.Name, err)
	}
	r.guard.Wrote(job.UID, engine.PodResource.GroupResource(), patched.ResourceVersion)
	return nil
}

// patchFor returns a strategic merge patch that adds the containers of the job to the Pod with the UID. It keeps containers that
// others add at the same time. The variable with the UID of the job tells later passes whose container it is.
func patchFor(job *v1alpha1.EphemeralJob, pod types.UID) ([]byte, error) {
	// The job belongs to the cache, so the variable goes into a copy.
	containers := job.DeepCopy().Spec.Template.EphemeralContainers
	for i := range containers {
		containers[i].Env = append(containers[i].Env, corev1.EnvVar{Name: pub.EphemeralJobIDEnv, Value: string(job.UID)})
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod}, "spec": map[string]any{"ephemeralContainers": containers},
	})
	if err != nil {
		return nil, fmt.Errorf("encode ephemeral containers: %w", err)
	}
	return patch, nil
}
