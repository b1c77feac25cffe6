package pod

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/selectorindex"
	"kruise.io/kruise/pkg/workload/spread"
	"kruise.io/kruise/pkg/workloadclient"
)

// kept returns the labels of a patched Pod, without those that take it out of the selector of its controller. Validation of the
// WorkloadSpread refuses such a patch, but the workload can be created later.
func (s *spreads) kept(ctx context.Context, found *v1beta1.WorkloadSpread, pod *corev1.Pod, after map[string]string) map[string]string {
	if maps.Equal(pod.Labels, after) {
		return after
	}
	selector := s.selectorOf(ctx, pod)
	if selector == nil {
		return after
	}
	kept, all := spread.KeepSelected(selector, pod.Labels, after)
	if !all {
		warning.AddWarning(ctx, "", fmt.Sprintf("WorkloadSpread %s: labels of its patch were left out, because the Pod would not match the "+
			"selector %q of its controller any more; remove these labels from the patch", found.Name, selector))
	}
	return kept
}

// selectorOf returns the selector of the Pod's controller, or nil if it has none or cannot be read. It is cached for the other Pods of
// the same controller.
func (s *spreads) selectorOf(ctx context.Context, pod *corev1.Pod) labels.Selector {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return nil
	}
	kind := kinds.Of(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind())
	if kind == nil || kind.Selector == nil {
		return nil
	}
	key := owner{pod.Namespace, ref.APIVersion, ref.Kind, ref.Name, ref.UID}
	if remembered, found := s.selectors.Get(key); found {
		if selector, ok := remembered.(labels.Selector); ok {
			return selector
		}
	}
	ctx, cancel := context.WithTimeout(ctx, targetPatience)
	defer cancel()
	workload, err := workloadclient.Clients{Kube: s.owners.Host, Kruise: s.owners.Kruise}.Get(ctx, kind.GroupKind, pod.Namespace, ref.Name)
	if err != nil || workload.GetUID() != ref.UID {
		klog.FromContext(ctx).V(2).Info("The controller of the Pod cannot be read, so its selector is not checked", "kind", ref.Kind,
			"name", ref.Name, "err", err)
		return nil
	}
	selector := selectorindex.Parse(kind.Selector(workload))
	s.selectors.Add(key, selector, rememberedFor)
	return selector
}
