package apiserver

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
)

// Owners reads the metadata of objects of every served kind. It implements initializer.OwnerReader.
type Owners struct {
	client metadata.Interface
	// served has each kind in each served version, because an owner reference names a version. groups has the groups
	// of the kinds.
	served map[schema.GroupVersionKind]servedKind
	groups map[string]bool
	// all has each kind once.
	all []servedKind
}

// servedKind is a resource in one version.
type servedKind struct {
	resource      schema.GroupVersionResource
	clusterScoped bool
}

// NewOwners returns a reader. The configuration must connect to this server without a proxy, so that a missing
// APIService cannot look like a missing object. It does not connect.
func NewOwners(inside *rest.Config, gate featuregate.FeatureGate) (*Owners, error) {
	client, err := metadata.NewForConfig(inside)
	if err != nil {
		return nil, fmt.Errorf("create a metadata client for this server: %w", err)
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	o := &Owners{client: client, served: map[schema.GroupVersionKind]servedKind{}, groups: map[string]bool{}}
	for _, kind := range Kinds(gate) {
		names, _, err := scheme.ObjectKinds(kind.NewObject())
		if err != nil {
			return nil, err
		}
		resource := kind.Resource()
		o.groups[resource.Group] = true
		o.all = append(o.all, servedKind{kind.StoredVersion().WithResource(resource.Resource), kind.Describe().ClusterScoped})
		// A version that a feature gate turns off is not served, and its owners cannot be read.
		for _, version := range kind.ServedVersions() {
			o.served[version.WithKind(names[0].Kind)] = servedKind{resource.WithVersion(version.Version), kind.Describe().ClusterScoped}
		}
	}
	return o, nil
}

// Has reports whether this server serves a group.
func (o *Owners) Has(group string) bool { return o.groups[group] }

// Get reads an object from the store. It returns a NotFound error only if the object does not exist. A kind or
// version that is not served is another error, and while the store is closed the error is 503.
func (o *Owners) Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	served, known := o.served[kind]
	if !known {
		return nil, fmt.Errorf("this server does not serve %s", kind)
	}
	if served.clusterScoped {
		namespace = metav1.NamespaceNone
	}
	return o.client.Resource(served.resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Dependents lists all objects of the namespace, kind by kind. It is for rare requests only. It returns resource and
// name of each dependent. It asks for the stored version, which needs no conversion. An error means that the result
// is unknown.
func (o *Owners) Dependents(ctx context.Context, namespace string, owner types.UID) (found []string, err error) {
	for _, kind := range o.all {
		// An object in a namespace cannot own a cluster-scoped one.
		if kind.clusterScoped && namespace != metav1.NamespaceNone {
			continue
		}
		list, err := o.client.Resource(kind.resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.resource.Resource, err)
		}
		for i := range list.Items {
			if slices.ContainsFunc(list.Items[i].OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner }) {
				found = append(found, kind.resource.GroupResource().String()+"/"+list.Items[i].Name)
			}
		}
	}
	return found, nil
}
