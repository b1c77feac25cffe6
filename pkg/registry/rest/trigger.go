package rest

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
)

// watchField is the field under which the watch cache finds the watches for one value of a label. Clients cannot select by it.
const watchField = "watch-label"

// watchByLabel makes the cost of an event independent of the number of watches, for kinds that each node watches for itself.
//
// It lets the watch cache pass an event only to the watches that select the value of the label which the object has, and
// to those that do not select a value. Otherwise every event is compared with the selector of every watch.
func watchByLabel(store *registry.Store, options *generic.StoreOptions, label string, namespaced bool) {
	attributes := storage.DefaultClusterScopedAttr
	if namespaced {
		attributes = storage.DefaultNamespaceScopedAttr
	}
	valueOf := func(obj runtime.Object) string {
		object, err := meta.Accessor(obj)
		if err != nil {
			return ""
		}
		return object.GetLabels()[label]
	}
	// The watch cache computes the fields of an object once, for all watches.
	options.AttrFunc = func(obj runtime.Object) (labels.Set, fields.Set, error) {
		labelled, fielded, err := attributes(obj)
		if err == nil {
			fielded[watchField] = valueOf(obj)
		}
		return labelled, fielded, err
	}
	options.TriggerFunc = storage.IndexerFuncs{watchField: valueOf}
	store.PredicateFunc = func(byLabel labels.Selector, byField fields.Selector) storage.SelectionPredicate {
		if value, exact := exactValue(byLabel, label); exact {
			byField = fields.AndSelectors(byField, fields.OneTermEqualSelector(watchField, value))
		}
		return storage.SelectionPredicate{Label: byLabel, Field: byField, IndexFields: []string{watchField}, GetAttrs: options.AttrFunc}
	}
}

// exactValue returns the value that a selector requires for the label, if it requires a single one. A selector with several values, or
// with none, gets every event, and the watch compares it as usual: nothing is lost, it only costs more.
func exactValue(selector labels.Selector, label string) (string, bool) {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return "", false
	}
	for i := range requirements {
		switch requirements[i].Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			values := requirements[i].ValuesUnsorted()
			if requirements[i].Key() == label && len(values) == 1 {
				return values[0], true
			}
		default:
		}
	}
	return "", false
}
