package sidecarset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// controlPlaneKey is a label of namespaces whose Pods are never sent to admission.
const controlPlaneKey = "control-plane"

// labelNamespace keeps the label on a namespace while no SidecarSet selects Pods in it.
func (r *Reconciler) labelNamespace(ctx context.Context, name string) error {
	namespace, err := r.namespaces.Get(name)
	if apierrors.IsNotFound(err) || err == nil && (namespace.DeletionTimestamp != nil || r.skips(namespace)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get Namespace: %w", err)
	}
	value := pub.SidecarSetNamespaceNone
	if r.selected(namespace) {
		value = ""
	}
	return controller.LabelNamespace(ctx, r.kube, namespace, pub.SidecarSetNamespaceKey, value)
}

// skips reports whether the webhook for new Pods leaves the namespace out.
func (r *Reconciler) skips(namespace *corev1.Namespace) bool {
	_, controlPlane := namespace.Labels[controlPlaneKey]
	return controlPlane || namespace.Name == metav1.NamespaceSystem || namespace.Name == r.Namespace
}

// selected reports whether a SidecarSet selects Pods in the namespace.
func (r *Reconciler) selected(namespace *corev1.Namespace) bool {
	for _, item := range r.sets.List() {
		if set, ok := item.(*v1beta1.SidecarSet); ok && sidecar.SelectsNamespace(set, namespace.Labels) {
			return true
		}
	}
	return false
}
