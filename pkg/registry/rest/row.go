package rest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
)

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

	// NewObject returns an empty hub object.
	NewObject() Object
	// Describe says what clients see of the kind before they see an object.
	Describe() Description
	// Strategy is how objects are defaulted and judged when they are written, StatusStrategy how
	// writes to /status are. Neither needs a store.
	Strategy(typer runtime.ObjectTyper) Strategy
	StatusStrategy(typer runtime.ObjectTyper) Strategy
}

// Strategy is the part of a kind that stands before its store.
type Strategy interface {
	genericrest.RESTCreateStrategy
	genericrest.RESTUpdateStrategy
}

// Description is what discovery and tables show of a kind.
type Description struct {
	Singular          string
	Short, Categories []string
	ClusterScoped     bool
	// Closed is the feature gate that keeps objects from being written, or empty.
	Closed string
	// Scales says that there is /scale.
	Scales bool
	// Columns are all, the name first.
	Columns []metav1.TableColumnDefinition
}
