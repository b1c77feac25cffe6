package apiserver

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"

	kruiserest "kruise.io/kruise/pkg/registry/rest"
)

// Owners reads the metadata of objects of every served kind. It implements initializer.OwnerReader.
type Owners struct {
	client metadata.Interface
	// served has each kind in each served version, because an owner reference names a version. groups has the groups
	// of the kinds.
	served map[schema.GroupVersionKind]servedKind
	groups map[string]bool
	// stores has each kind once. It is empty until Open.
	stores []dependents
}

// dependents finds the dependents of one kind.
type dependents struct {
	resource      schema.GroupResource
	clusterScoped bool
	kruiserest.Owned
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

// Open keeps the storages of a kind, by path. It is called before the first request.
func (o *Owners) Open(kind kruiserest.AnyKind, storages map[string]genericrest.Storage) {
	resource := kind.Resource()
	if found, ok := storages[resource.Resource].(kruiserest.Owned); ok {
		o.stores = append(o.stores, dependents{resource, kind.Describe().ClusterScoped, found})
	}
}

// Dependents finds all objects of the namespace that name the owner. It returns resource and name of each dependent. It asks the stores
// of all kinds at the same time, because each waits until its cache is as new as the request. An error means that the result is unknown.
func (o *Owners) Dependents(ctx context.Context, namespace string, owner types.UID) (found []string, err error) {
	names, errs := make([][]string, len(o.stores)), make([]error, len(o.stores))
	var asking sync.WaitGroup
	for i := range o.stores {
		// An object in a namespace cannot own a cluster-scoped one.
		if store := &o.stores[i]; !store.clusterScoped || namespace == metav1.NamespaceNone {
			asking.Go(func() { names[i], errs[i] = store.OwnedBy(ctx, namespace, owner) })
		}
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := range names {
		for _, name := range names[i] {
			found = append(found, o.stores[i].resource.String()+"/"+name)
		}
	}
	return found, nil
}
