package rest

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage/names"

	"kruise.io/kruise/pkg/registry/servable"
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

	// Keep, where set, puts back on an update what the request's version cannot say.
	Keep func(version string, obj, old T)
	// Closed names a feature gate that is off and without which nothing acts on the objects: they
	// can be read and deleted, not written.
	Closed string

	// Controlled says that something acts on the objects. Who creates one of another kind is told
	// that nothing will.
	Controlled bool

	// Default, where set, completes an object before it is validated. On create, old is nil.
	Default func(obj, old T)
	// StatusInMetadata, where set, copies the part of the status that objects of a version have in
	// their metadata: there a write to the main resource sets it, and a write to /status does not.
	StatusInMetadata func(version string, to, from T)
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

// Resource implements Row.
func (k *Kind[T]) Resource() schema.GroupResource {
	return k.Stored.WithResource(k.Plural).GroupResource()
}

// StoredVersion implements Row.
func (k *Kind[T]) StoredVersion() schema.GroupVersion { return k.Stored }

// ServedVersions implements Row.
func (k *Kind[T]) ServedVersions() []schema.GroupVersion { return k.Served }

// NewObject implements Row.
func (k *Kind[T]) NewObject() Object { return k.New() }

// Describe implements Row.
func (k *Kind[T]) Describe() Description {
	return Description{
		Singular: k.Singular, Short: k.Short, Categories: k.Categories, ClusterScoped: k.ClusterScoped,
		Closed: k.Closed, Scales: k.Scale != nil, Columns: (&tableConvertor[T]{kind: k}).headers(),
	}
}

// Strategy implements Row.
func (k *Kind[T]) Strategy(typer runtime.ObjectTyper) Strategy { return k.strategy(typer) }

// StatusStrategy implements Row.
func (k *Kind[T]) StatusStrategy(typer runtime.ObjectTyper) Strategy {
	return &statusStrategy[T]{strategy: k.strategy(typer)}
}

func (k *Kind[T]) strategy(typer runtime.ObjectTyper) *strategy[T] {
	return &strategy[T]{
		ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: k, values: servable.For(reflect.TypeFor[T]()),
	}
}
