package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// PatchPodStatus applies a strategic merge patch to the status and the metadata of a Pod. The patch names the UID. It returns the
// stored Pod, or nil if the Pod is gone or another Pod has its name. A UID that differs makes the server answer Conflict. Neither
// case is an error: the caller has nothing left to change.
func PatchPodStatus(ctx context.Context, kube kubernetes.Interface, pod *corev1.Pod, patch []byte) (*corev1.Pod, error) {
	written, err := kube.CoreV1().Pods(pod.Namespace).
		Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil, nil //nolint:nilnil // See above.
	case err != nil:
		return nil, fmt.Errorf("patch the status of Pod %s: %w", klog.KObj(pod), err)
	}
	klog.FromContext(ctx).V(4).Info("Patched the status of a Pod", "pod", klog.KObj(pod), "patch", string(patch))
	return written, nil
}
