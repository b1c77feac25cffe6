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
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workloadclient"
)

// Highest limits how many owners above a Pod are looked at. Custom workloads can be nested; the limit also ends a cycle of owner
// references.
const Highest = 5

// Finder reads owners. All fields are required. Plugins set them one by one during their initialization, and only
// read them afterwards.
// Host and Kruise read the kinds of the table in package kinds. Metadata and Mapper read all other kinds.
type Finder struct {
	Host     kubernetes.Interface
	Kruise   versioned.Interface
	Metadata metadata.Interface
	Mapper   meta.RESTMapper
}

// Complete returns true if all fields are set.
func (f *Finder) Complete() bool {
	return f.Host != nil && f.Kruise != nil && f.Metadata != nil && f.Mapper != nil
}

// Get returns the owner. It returns nil without an error if the owner cannot be read but counts as existing: a Node, a kind
// that is not served, or a kind that the administrator does not allow this server to read. A missing owner is a NotFound error.
func (f *Finder) Get(ctx context.Context, namespace string, ref *metav1.OwnerReference) (metav1.Object, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if kind.GroupKind() == (schema.GroupKind{Kind: "Node"}) {
		return nil, nil //nolint:nilnil // of a static Pod: it is in no namespace
	}
	owner, err := f.read(ctx, namespace, kind, ref.Name)
	// A custom owner that this server may not read must not block every disruption and every creation of its Pods.
	if apierrors.IsForbidden(err) {
		klog.FromContext(ctx).V(2).Info("Access to the owner is denied, so it counts as existing: add the rule to a ClusterRole with "+
			"the label rbac.kruise.io/aggregate-to-workloads", "kind", kind, "err", err)
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", kind.Kind, ref.Name, err)
	}
	return owner, nil
}

// read asks the server that stores the kind. It returns nil for a kind that is not served. A known kind whose absence
// permits a request is read by its typed client and not through the mapper: the mapper depends on discovery, and a
// failed discovery must not look like an owner that counts as existing.
func (f *Finder) read(ctx context.Context, namespace string, kind schema.GroupVersionKind, name string) (metav1.Object, error) {
	if known := kinds.Of(kind.GroupKind()); known != nil && known.AbsencePermits {
		return workloadclient.Clients{Kube: f.Host, Kruise: f.Kruise}.Get(ctx, known.GroupKind, namespace, name)
	}
	// The mapper covers the kinds that kube-apiserver serves, custom resources included. An error
	// counts as an existing owner, because then a budget still counts the Pod.
	mapping, err := f.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The owner's kind is not served, so the owner counts as existing", "kind", kind, "err", err)
		return nil, nil //nolint:nilnil // see above
	}
	return f.Metadata.Resource(mapping.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}
