package rest

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
)

// Object is a hub object: a pointer to a registered type.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind says everything about a kind that the registry does not know by itself.
type Kind[T Object] struct {
	// Plural, Singular and Short are its names in URLs and on the command line.
	Plural, Singular string
	Short            []string
	// Categories are the groups of kinds, such as "all", that it answers to.
	Categories []string
	// ClusterScoped kinds have no namespace.
	ClusterScoped bool
	// Stored is the version in which objects are written to the store. It changes only with a
	// migration and a release of overlap.
	Stored schema.GroupVersion
	// Served are all versions, the stored one among them.
	Served []schema.GroupVersion

	New     func() T
	NewList func() runtime.Object
	// Spec and Status point into the object.
	Spec, Status func(T) any

	// Default, where set, completes an object before it is validated. On create, old is nil.
	Default func(obj, old T)
	// Validate and ValidateUpdate hold the rules of the object, ValidateStatus those of /status.
	Validate                       func(obj T) field.ErrorList
	ValidateUpdate, ValidateStatus func(obj, old T) field.ErrorList
	// ErrorsIn, where set, gives errors the paths that the request's version has for them.
	ErrorsIn func(version string, errs field.ErrorList) field.ErrorList
	// Warnings, where set, are sent to the client beside the answer.
	Warnings func(ctx context.Context, obj, old T) []string

	// Columns follow the name in a table.
	Columns []Column[T]
	// Scale is nil for kinds without /scale.
	Scale *Scale[T]
}

// Row is a Kind of any type: a line in a group's table.
type Row interface {
	// Resource is the kind's name in its group.
	Resource() schema.GroupResource
	// StoredVersion is the version that is written to the store.
	StoredVersion() schema.GroupVersion
	// ServedVersions are the versions in which clients reach it.
	ServedVersions() []schema.GroupVersion
	// Storage opens the store and returns what to serve, by path. maxBytes bounds an object's stored form.
	Storage(scheme *runtime.Scheme, options generic.RESTOptionsGetter, maxBytes int) (map[string]genericrest.Storage, error)
}

// Resource implements Row.
func (k *Kind[T]) Resource() schema.GroupResource {
	return k.Stored.WithResource(k.Plural).GroupResource()
}

// StoredVersion implements Row.
func (k *Kind[T]) StoredVersion() schema.GroupVersion { return k.Stored }

// ServedVersions implements Row.
func (k *Kind[T]) ServedVersions() []schema.GroupVersion { return k.Served }
