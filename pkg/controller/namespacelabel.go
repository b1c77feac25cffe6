package controller

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// controlPlaneKey is a label of namespaces whose Pods are never sent to admission.
const controlPlaneKey = "control-plane"

// SendsNewPods reports whether the new Pods of a namespace can be sent to admission. The webhook leaves out the namespaces of control
// planes and the system namespace. Callers skip these namespaces, because a label there would have no effect.
func SendsNewPods(namespace *corev1.Namespace, system string) bool {
	_, controlPlane := namespace.Labels[controlPlaneKey]
	return !controlPlane && namespace.Name != metav1.NamespaceSystem && namespace.Name != system
}

// LabelNamespace sets labels of a namespace. An empty value removes the label. It writes nothing if the labels are already correct. A
// namespace that no longer exists is no error. It is a merge patch of these labels alone, so it cannot conflict with other clients
// and cannot restore labels that a stale cache still shows.
func LabelNamespace(ctx context.Context, kube kubernetes.Interface, namespace *corev1.Namespace, want map[string]string) error {
	changes := map[string]any{}
	for key, value := range want {
		switch current, labelled := namespace.Labels[key]; {
		// In a merge patch, null deletes the key.
		case value == "" && labelled:
			changes[key] = nil
		case value != "" && current != value:
			changes[key] = value
		}
	}
	if len(changes) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": changes}})
	if err != nil {
		return fmt.Errorf("encode labels: %w", err)
	}
	_, err = kube.CoreV1().Namespaces().Patch(ctx, namespace.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("label Namespace: %w", err)
	}
	return nil
}
