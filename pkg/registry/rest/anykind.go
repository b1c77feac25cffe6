package rest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
)

// AnyKind is a Kind of any Go type.
type AnyKind interface {
	// Resource returns the resource name and group of the kind.
	Resource() schema.GroupResource
	// StoredVersion returns the version that is written to the store.
	StoredVersion() schema.GroupVersion
	// ServedVersions returns the served versions.
	ServedVersions() []schema.GroupVersion
	// Storage opens the store and returns the REST storages, by path. maxBytes is the maximum encoded size of an object.
	Storage(scheme *runtime.Scheme, options generic.RESTOptionsGetter, maxBytes int) (map[string]genericrest.Storage, error)
	// TakeTurns makes writes of the storages wait for their turn if the kind is exclusive. It is called before the first request.
	TakeTurns(storages map[string]genericrest.Storage, turns Turns)
	// AwaitEffects makes the answers to writes of the kind wait until the server acts on them. It is called before the first
	// request.
	AwaitEffects(storages map[string]genericrest.Storage, effects Effects)

	// NewObject returns an empty hub object.
	NewObject() Object
	// Describe returns what clients see of the kind in discovery and tables.
	Describe() Description
	// Strategy returns how written objects are defaulted and validated. StatusStrategy returns the same for writes to
	// /status. Neither needs a store.
	Strategy(typer runtime.ObjectTyper) Strategy
	StatusStrategy(typer runtime.ObjectTyper) Strategy
}

// Strategy prepares and validates objects before they reach the store.
type Strategy interface {
	genericrest.RESTCreateStrategy
	genericrest.RESTUpdateStrategy
}

// Description is what discovery and tables show of a kind.
type Description struct {
	Singular          string
	Short, Categories []string
	ClusterScoped     bool
	// Closed is the disabled feature gate that prevents writes, or empty.
	Closed string
	// Scales is true if the kind has /scale.
	Scales bool
	// Columns lists all table columns, the name first.
	Columns []metav1.TableColumnDefinition
}
