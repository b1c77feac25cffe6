package podunavailablebudget

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/workload/disruption"
)

// owners finds what a Pod belongs to. Our own kinds it asks of this server, past no proxy.
type owners struct {
	host     kubernetes.Interface
	kruise   versioned.Interface
	metadata metadata.Interface
	mapper   meta.RESTMapper
}

func (o *owners) complete() bool {
	return o.host != nil && o.kruise != nil && o.metadata != nil && o.mapper != nil
}

// of returns what controls the Pod, and what controls that; or that what controlled it is gone or goes, in which case the
// Pod's end is what its deletion brings about.
func (o *owners) of(ctx context.Context, pod *corev1.Pod) (workloads []disruption.Workload, orphaned bool, err error) {
	first, ref := controllerOf(pod)
	if ref == nil {
		return nil, false, nil
	}
	owner, err := o.get(ctx, pod.Namespace, ref)
	switch {
	case apierrors.IsNotFound(err):
		return nil, true, nil
	case err != nil:
		return nil, false, err
	case owner == nil:
		return []disruption.Workload{first}, false, nil
	case owner.GetUID() != ref.UID || owner.GetDeletionTimestamp() != nil:
		return nil, true, nil
	}
	workloads = []disruption.Workload{first}
	if second, above := controllerOf(owner); above != nil {
		workloads = append(workloads, second)
	}
	return workloads, false, nil
}

// get reads the owner, or returns nil where that is not ours to know.
func (o *owners) get(ctx context.Context, namespace string, ref *metav1.OwnerReference) (metav1.Object, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	options := metav1.GetOptions{}
	switch kind.GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		return o.host.AppsV1().ReplicaSets(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return o.host.AppsV1().StatefulSets(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return o.host.BatchV1().Jobs(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}:
		return o.kruise.AppsV1beta1().CloneSets(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "apps.kruise.io", Kind: "StatefulSet"}:
		return o.kruise.AppsV1beta1().StatefulSets(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "apps.kruise.io", Kind: "DaemonSet"}:
		return o.kruise.AppsV1beta1().DaemonSets(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "apps.kruise.io", Kind: "BroadcastJob"}:
		return o.kruise.AppsV1beta1().BroadcastJobs(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Kind: "Node"}:
		return nil, nil //nolint:nilnil // of a static Pod: it is in no namespace
	}
	return o.other(ctx, namespace, kind, ref.Name)
}

// other reads the owner of a kind that we have no types for. Where the administrator has not let us read that kind, it counts
// as being there.
func (o *owners) other(ctx context.Context, namespace string, kind schema.GroupVersionKind, name string) (metav1.Object, error) {
	mapping, err := o.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Owner's kind is not served, it counts as being there", "kind", kind, "err", err)
		return nil, nil //nolint:nilnil // see above
	}
	owner, err := o.metadata.Resource(mapping.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		klog.FromContext(ctx).V(2).Info("May not read the owner, it counts as being there: add the rule to a ClusterRole with the label "+
			"rbac.kruise.io/aggregate-to-workloads", "kind", kind, "err", err)
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", kind.Kind, name, err)
	}
	return owner, nil
}
