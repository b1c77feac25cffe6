package review

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// merge applies the change from before to after to raw. All three are JSON trees. before is raw reduced to the fields
// that our types know. merge keeps the unknown fields of raw.
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

// mergeObjects deletes the known fields that after does not have, and keeps the unknown fields.
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
			continue // raw may omit a default that our types write. It stays omitted.
		}
		result[key] = merge(existing[key], old, value)
	}
	return result
}

// mergeLists merges each element with the element of raw that it comes from. It drops unknown fields if raw has
// another length than before, because the elements then cannot be matched.
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

// align returns, for each element of after, the index of its element in before, or -1. It looks for an equal element
// first, and then for the first unused element with the same identity.
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

// identities lists the fields that identify list elements in core types. An element has some of these fields.
var identities = []string{
	"uid", "name", "conditionType", "type", "containerPort", "protocol", "mountPath", "devicePath", "ip", "topologyKey",
}

// identity returns the values of the identifying fields, or an empty string if the element has none.
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
