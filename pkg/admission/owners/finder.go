package owners

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// Finder reads owners. Every field is needed.
type Finder struct {
	Host     kubernetes.Interface
	Kruise   versioned.Interface
	Metadata metadata.Interface
	Mapper   meta.RESTMapper
}

// Complete tells whether it can read.
func (f *Finder) Complete() bool {
	return f.Host != nil && f.Kruise != nil && f.Metadata != nil && f.Mapper != nil
}

// Get reads the owner, or returns nil where that is not ours to know.
func (f *Finder) Get(ctx context.Context, namespace string, ref *metav1.OwnerReference) (metav1.Object, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	options := metav1.GetOptions{}
	switch kind.GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		return f.Host.AppsV1().ReplicaSets(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return f.Host.AppsV1().StatefulSets(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return f.Host.BatchV1().Jobs(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}:
		return f.Kruise.AppsV1beta1().CloneSets(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "apps.kruise.io", Kind: "StatefulSet"}:
		return f.Kruise.AppsV1beta1().StatefulSets(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "apps.kruise.io", Kind: "DaemonSet"}:
		return f.Kruise.AppsV1beta1().DaemonSets(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Group: "apps.kruise.io", Kind: "BroadcastJob"}:
		return f.Kruise.AppsV1beta1().BroadcastJobs(namespace).Get(ctx, ref.Name, options)
	case schema.GroupKind{Kind: "Node"}:
		return nil, nil //nolint:nilnil // of a static Pod: it is in no namespace
	}
	return f.other(ctx, namespace, kind, ref.Name)
}

// other reads the owner of a kind that we have no types for. Where the administrator has not let us read that kind, it counts
// as being there.
func (f *Finder) other(ctx context.Context, namespace string, kind schema.GroupVersionKind, name string) (metav1.Object, error) {
	mapping, err := f.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Owner's kind is not served, it counts as being there", "kind", kind, "err", err)
		return nil, nil //nolint:nilnil // see above
	}
	owner, err := f.Metadata.Resource(mapping.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
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
