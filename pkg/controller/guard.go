package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/controller/consistency"
)

// NewGuard returns the guard of a controller for objects of the kind. A controller that is made with For already has one.
func NewGuard(deps Deps, name string, kind schema.GroupKind) *consistency.Guard {
	return consistency.New(consistency.Config{
		Controller: name, Kind: kind, Timeout: deps.ExpectationTimeout, Clock: deps.Clock, Metrics: deps.Consistency, Look: deps.look,
	})
}

// look reads the version of a resource from the server. If a name is given, it also reads the object. It lists in the same namespace
// and with the same label as the informer, so it needs no other permission than the informer. Limit is 1: the version of a list is
// the version of the whole store, so the items do not matter.
func (d *Deps) look(ctx context.Context, resource schema.GroupResource, namespace, name string) (string, metav1.Object, error) {
	mapping, err := d.mapping(resource)
	if err != nil {
		return "", nil, fmt.Errorf("find %s: %w", resource, err)
	}
	watched := d.scopeOf(mapping.GroupVersionKind.GroupKind())
	options := metav1.ListOptions{Limit: 1, LabelSelector: watched.label}
	if name == "" {
		namespace = watched.namespace
	} else {
		// A list with a field selector returns the object and the version in one request. A GET would need another permission, and a
		// missing object would have no version.
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
	// The client would put a namespace into the path, and no cluster-scoped resource is served there.
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	list, err := d.Dynamic.Resource(mapping.Resource).Namespace(namespace).List(ctx, options)
	if err != nil {
		return "", nil, fmt.Errorf("list %s: %w", resource, err)
	}
	if name == "" || len(list.Items) == 0 {
		return list.GetResourceVersion(), nil, nil
	}
	return list.GetResourceVersion(), &list.Items[0], nil
}

// liveOf reads an object of a kind from the server, as look does. It returns nil if the object does not exist.
func (d *Deps) liveOf(ctx context.Context, kind schema.GroupKind, namespace, name string) (metav1.Object, error) {
	mapping, err := d.Mapper.RESTMapping(kind)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", kind, err)
	}
	_, found, err := d.look(ctx, mapping.Resource.GroupResource(), namespace, name)
	return found, err
}

// mapping finds the served kind and scope of a resource. It uses the version that the server prefers, because a guard knows only the
// group and the resource.
func (d *Deps) mapping(resource schema.GroupResource) (*meta.RESTMapping, error) {
	kind, err := d.Mapper.KindFor(resource.WithVersion(""))
	if err != nil {
		return nil, err
	}
	return d.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// scopeOf returns what the controller's informer of a kind watches. A kind that it does not watch has the empty scope, which means
// everything.
func (d *Deps) scopeOf(kind schema.GroupKind) scope {
	for _, need := range d.Needs() {
		if need.Kind.GroupKind() == kind {
			return scope{need.Namespace, need.Label}
		}
	}
	return scope{}
}
