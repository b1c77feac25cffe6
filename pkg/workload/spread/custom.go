package spread

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Custom is a kind of workload that the administrator allows. The list is in a ConfigMap; its field names are those of the
// JSON.
type Custom struct {
	Group, Version, Kind string
	// SubResources are the kinds that stand between the workload and its Pods.
	SubResources []schema.GroupVersionKind
	// ReplicasPath is where the object has its number of replicas, or empty for the scale subresource.
	ReplicasPath string
}

// CustomIn returns the entry for a kind in the administrator's list, or nil. The version does not matter. It returns an error
// if the list is not valid JSON.
func CustomIn(list string, kind schema.GroupKind) (*Custom, error) {
	entries, err := customs(list)
	for i := range entries {
		if entry := &entries[i]; entry.Group == kind.Group && entry.Kind == kind.Kind {
			return entry, nil
		}
	}
	return nil, err
}

// KindsIn returns the kinds in one of the administrator's lists. It returns an error if the list is not valid JSON.
func KindsIn(list string) (sets.Set[schema.GroupKind], error) {
	entries, err := customs(list)
	kinds := sets.New[schema.GroupKind]()
	for i := range entries {
		kinds.Insert(schema.GroupKind{Group: entries[i].Group, Kind: entries[i].Kind})
	}
	return kinds, err
}

// customs returns the entries of a list. An empty list has none.
func customs(list string) ([]Custom, error) {
	if list == "" {
		return nil, nil
	}
	var parsed struct{ Workloads []Custom }
	if err := json.Unmarshal([]byte(list), &parsed); err != nil {
		return nil, fmt.Errorf("read the list of allowed kinds: %w", err)
	}
	return parsed.Workloads, nil
}

// Between reports whether objects of a kind stand between the workload and its Pods. A nil entry has no such kinds.
func (c *Custom) Between(kind schema.GroupKind) bool {
	if c == nil {
		return false
	}
	for _, sub := range c.SubResources {
		if sub.GroupKind() == kind {
			return true
		}
	}
	return false
}
