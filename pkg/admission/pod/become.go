package pod

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// become changes the Pod into another one, with operations for the fields that differ. Mutators that change single
// fields use the other methods of edit; become is for a change by patches of users, which can touch any field. Fields
// that our types do not know stay, except in lists whose elements were removed or moved: such a list is replaced as a
// whole.
func (e *edit) become(after *corev1.Pod) error {
	from, err := tree(e.pod)
	if err != nil {
		return err
	}
	to, err := tree(after)
	if err != nil {
		return err
	}
	e.differ("", from, to)
	e.pod = after
	return nil
}

// tree returns the JSON of a Pod.
func tree(pod *corev1.Pod) (content any, err error) {
	text, err := json.Marshal(pod)
	if err != nil {
		return nil, fmt.Errorf("encode Pod: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	// UseNumber keeps large integers exact. Without it, every number becomes a float64.
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("decode Pod: %w", err)
	}
	return content, nil
}

// differ adds the operations that change one value into another. path is a JSON pointer. Maps are compared key by
// key. Lists are compared element by element as long as they only grow, because an operation names an element by its
// index.
func (e *edit) differ(path string, from, to any) {
	if reflect.DeepEqual(from, to) {
		return
	}
	switch before := from.(type) {
	case map[string]any:
		if after, ok := to.(map[string]any); ok {
			e.differInMap(path, before, after)
			return
		}
	// A list that did not only grow is replaced as a whole by the operation at the end.
	case []any:
		if after, ok := to.([]any); ok && grown(before, after) {
			for i := range before {
				e.differ(path+"/"+strconv.Itoa(i), before[i], after[i])
			}
			for _, added := range after[len(before):] {
				e.do("add", path+"/-", added)
			}
			return
		}
	}
	e.do("replace", path, to)
}

// differInMap adds the operations for one object. The keys are sorted, so the same change always gives the same
// patch.
func (e *edit) differInMap(path string, before, after map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, stays := after[key]; !stays {
			e.do("remove", path+"/"+pointer(key), nil)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if value, found := before[key]; found {
			e.differ(path+"/"+pointer(key), value, after[key])
		} else {
			e.do("add", path+"/"+pointer(key), after[key])
		}
	}
}

// grown reports whether elements were only changed or appended. Elements with a name, such as containers, must keep
// their place; otherwise a change would be written into another container. Elements without a name are compared by
// place only.
func grown(before, after []any) bool {
	if len(before) > len(after) {
		return false
	}
	for i := range before {
		if nameIn(before[i]) != nameIn(after[i]) {
			return false
		}
	}
	return true
}

// nameIn returns the field name of a list element, or nil if the element has none.
func nameIn(element any) any {
	if fields, ok := element.(map[string]any); ok {
		return fields["name"]
	}
	return nil
}
