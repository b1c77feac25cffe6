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

// LabelNamespace sets a label of a namespace to a value, or removes the label if the value is empty. It writes nothing if the label
// is already correct. A namespace that no longer exists is no error.
func LabelNamespace(ctx context.Context, kube kubernetes.Interface, namespace *corev1.Namespace, key, value string) error {
	current, labelled := namespace.Labels[key]
	if labelled == (value != "") && current == value {
		return nil
	}
	var want any
	if value != "" {
		want = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{key: want}}})
	if err != nil {
		return fmt.Errorf("encode label: %w", err)
	}
	_, err = kube.CoreV1().Namespaces().Patch(ctx, namespace.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("label Namespace: %w", err)
	}
	return nil
}
