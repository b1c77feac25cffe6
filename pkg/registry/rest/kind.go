package rest

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"

	"kruise.io/kruise/pkg/registry/servable"
)

// Object is a hub object, which is a pointer to a registered type.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind describes what is specific to one kind.
type Kind[T Object] struct {
	// Plural, Singular and Short are the names of the kind in URLs and in kubectl.
	Plural, Singular string
	Short            []string
	// Categories are the kubectl categories of the kind, such as "all".
	Categories []string
	// ClusterScoped kinds have no namespace.
	ClusterScoped bool
	// Stored is the version that is written to the store. A change requires a migration, and one release that reads both versions.
	Stored schema.GroupVersion
	// Served lists all served versions, including the stored one.
	Served []schema.GroupVersion

	New     func() T
	NewList func() runtime.Object
	// Spec and Status return pointers to the spec and status of the object.
	Spec, Status func(T) any

	// Keep, if set, restores on update what the version of the request cannot represent.
	Keep func(version string, obj, old T)
	// Closed names a disabled feature gate that the kind requires. The objects can then be read and deleted, but not
	// written. It is empty if all required gates are on.
	Closed string

	// Exclusive is true if objects are created and updated one at a time in the whole installation. A kind needs it if admission
	// compares an object with all others of the kind: two objects that conflict would both pass otherwise.
	Exclusive bool

	// ForNodes is true if the manager writes the objects for the node agents. It limits what each tenant adds to such an object, so their
	// elements are not counted: a limit for all together would let one tenant block the others.
	ForNodes bool

	// Controlled is true if a controller acts on the objects. A user who creates an object of another kind gets a warning.
	Controlled bool

	// Default, if set, completes an object before validation. old is nil on create.
	Default func(obj, old T)
	// StatusInMetadata, if set, copies the part of the status that a version stores in metadata. In that version a
	// write to the main resource sets this part, and a write to /status does not.
	StatusInMetadata func(version string, to, from T)
	// Validate and ValidateUpdate validate the object. ValidateStatus validates a write to /status.
	Validate                       func(obj T) field.ErrorList
	ValidateUpdate, ValidateStatus func(obj, old T) field.ErrorList
	// ErrorsIn, if set, translates the paths of errors to the version of the request.
	ErrorsIn func(version string, errs field.ErrorList) field.ErrorList
	// WrittenIn, if set, returns the version whose fields an object of a version was written with. ErrorsIn gets that version.
	WrittenIn func(version string, obj T) string
	// Warnings, if set, returns warnings for the client.
	Warnings func(ctx context.Context, obj, old T) []string

	// WatchLabel, if set, is a label by which many clients watch, each for one value. Events reach only the watches of their value.
	WatchLabel string

	// Columns are the table columns after the name.
	Columns []Column[T]
	// Scale is nil if the kind has no /scale.
	Scale *Scale[T]
	// Extend, if set, gets the storages of the kind, by path, before the first request is served. It may add subresources and
	// keep storages.
	Extend func(storages map[string]genericrest.Storage)
}

// Resource implements AnyKind.
func (k *Kind[T]) Resource() schema.GroupResource {
	return k.Stored.WithResource(k.Plural).GroupResource()
}

// StoredVersion implements AnyKind.
func (k *Kind[T]) StoredVersion() schema.GroupVersion { return k.Stored }

// ServedVersions implements AnyKind.
func (k *Kind[T]) ServedVersions() []schema.GroupVersion { return k.Served }

// NewObject implements AnyKind.
func (k *Kind[T]) NewObject() Object { return k.New() }

// Describe implements AnyKind.
func (k *Kind[T]) Describe() Description {
	return Description{
		Singular: k.Singular, Short: k.Short, Categories: k.Categories, ClusterScoped: k.ClusterScoped,
		Closed: k.Closed, Scales: k.Scale != nil, Columns: (&tableConvertor[T]{kind: k}).headers(),
	}
}

// Strategy implements AnyKind.
func (k *Kind[T]) Strategy(typer runtime.ObjectTyper) Strategy { return k.strategy(typer) }

// StatusStrategy implements AnyKind.
func (k *Kind[T]) StatusStrategy(typer runtime.ObjectTyper) Strategy {
	return &statusStrategy[T]{strategy: k.strategy(typer)}
}

func (k *Kind[T]) strategy(typer runtime.ObjectTyper) *strategy[T] {
	s := &strategy[T]{
		ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: k, values: servable.For(reflect.TypeFor[T]()),
	}
	if !k.ForNodes {
		s.elements = elementsOf(reflect.TypeFor[T]())
	}
	return s
}
