package review

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// merge makes the change from before to after in raw. All three are trees of JSON. Before is what raw says as far as our types
// know it, so raw may have more fields, and keeps them wherever they are.
func merge(raw, before, after any) any {
	switch after := after.(type) {
	case map[string]any:
		return mergeObjects(raw, before, after)
	case []any:
		return mergeLists(raw, before, after)
	default:
		return after
	}
}

func mergeObjects(raw, before any, after map[string]any) any {
	existing, _ := raw.(map[string]any)
	known, _ := before.(map[string]any)
	result := maps.Clone(existing)
	if result == nil {
		result = make(map[string]any, len(after))
	}
	for key := range known {
		if _, stays := after[key]; !stays {
			delete(result, key)
		}
	}
	for key, value := range after {
		old, had := known[key]
		if had && reflect.DeepEqual(old, value) {
			continue // Also where raw leaves out what our types write.
		}
		result[key] = merge(existing[key], old, value)
	}
	return result
}

func mergeLists(raw, before any, after []any) any {
	existing, _ := raw.([]any)
	known, _ := before.([]any)
	result := make([]any, len(after))
	for i, from := range align(known, after) {
		switch {
		case from < 0 || len(existing) != len(known):
			result[i] = after[i]
		case reflect.DeepEqual(known[from], after[i]):
			result[i] = existing[from]
		default:
			result[i] = merge(existing[from], known[from], after[i])
		}
	}
	return result
}

// align says of each element of after which one of before it was, or -1: the one that is equal, else the first of the same
// identity that is left.
func align(before, after []any) []int {
	taken, from := make([]bool, len(before)), make([]int, len(after))
	take := func(i int, same func(old any) bool) {
		for j, old := range before {
			if !taken[j] && same(old) {
				taken[j], from[i] = true, j
				return
			}
		}
	}
	for i, element := range after {
		from[i] = -1
		take(i, func(old any) bool { return reflect.DeepEqual(old, element) })
	}
	for i, element := range after {
		if id := identity(element); from[i] < 0 && id != "" {
			take(i, func(old any) bool { return identity(old) == id })
		}
	}
	return from
}

// identities are the fields by which the elements of lists in core types are told apart. An element has some of them.
var identities = []string{
	"uid", "name", "conditionType", "type", "containerPort", "protocol", "mountPath", "devicePath", "ip", "topologyKey",
}

func identity(element any) string {
	object, ok := element.(map[string]any)
	if !ok {
		return ""
	}
	var id strings.Builder
	for _, field := range identities {
		switch value := object[field].(type) {
		case nil, map[string]any, []any:
		default:
			fmt.Fprintf(&id, "%s=%v;", field, value)
		}
	}
	return id.String()
}
