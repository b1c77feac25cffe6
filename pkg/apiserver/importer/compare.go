package importer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Change is a field that reads differently after the import.
type Change struct {
	// Path is the field, such as spec.template.spec.containers[0].image.
	Path string `json:"path"`
	// Before and After are the values, shortened. An empty value means that the field is missing.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Lost returns true if a value is no longer there. The others are defaults, and other forms of a value.
func (c Change) Lost() bool { return c.After == "" }

// longest is the length to which values are shortened, in bytes.
const longest = 80

// ignored are the fields that each store sets itself.
var ignored = []string{"metadata.resourceVersion", "metadata.selfLink"}

// compare returns the fields that differ, in the order of their paths. A field without a value equals a missing one,
// because servers leave out empty fields in different ways. The inputs are decoded JSON.
func compare(before, after map[string]any) []Change {
	c := &comparison{}
	c.maps("", before, after)
	slices.SortFunc(c.changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return c.changes
}

// comparison collects the changes of one object.
type comparison struct{ changes []Change }

// maps compares two objects key by key. A key that only one of them has is compared with nil.
func (c *comparison) maps(path string, before, after map[string]any) {
	for key, value := range before {
		c.values(join(path, key), value, after[key])
	}
	for key, value := range after {
		if _, found := before[key]; !found {
			c.values(join(path, key), nil, value)
		}
	}
}

// values compares two values at a path. Lists of different length are one change as a whole, because their elements
// cannot be assigned to each other.
func (c *comparison) values(path string, before, after any) {
	if slices.Contains(ignored, path) || reflect.DeepEqual(before, after) || empty(before) && empty(after) {
		return
	}
	switch before := before.(type) {
	case map[string]any:
		if after, ok := after.(map[string]any); ok {
			c.maps(path, before, after)
			return
		}
	case []any:
		if after, ok := after.([]any); ok && len(before) == len(after) {
			for i := range before {
				c.values(fmt.Sprintf("%s[%d]", path, i), before[i], after[i])
			}
			return
		}
	}
	// Quantities are read in their shortest form, which is no change.
	if sameQuantity(before, after) {
		return
	}
	c.changes = append(c.changes, Change{Path: path, Before: short(before), After: short(after)})
}

// sameQuantity returns true for two forms of a quantity, such as 1000m and 1. Every API server shows the shortest
// form. before may be a number, as JSON allows for a quantity.
func sameQuantity(before, after any) bool {
	a, isText := after.(string)
	if !isText || before == nil {
		return false
	}
	one, err := resource.ParseQuantity(fmt.Sprint(before))
	if err != nil {
		return false
	}
	other, err := resource.ParseQuantity(a)
	return err == nil && one.Cmp(other) == 0 && one.String() == other.String()
}

// empty returns true for what a field without a value looks like: nil, zero, false, an empty text or list, and a map
// of such values.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, each := range value {
			if !empty(each) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	case string:
		return value == ""
	case bool:
		return !value
	case int64:
		return value == 0
	case float64:
		return value == 0
	}
	return false
}

// short returns a value as text for a report. A missing value is empty, so an empty text is shown as quotes.
func short(value any) string {
	if value == nil {
		return ""
	}
	text := fmt.Sprint(value)
	if text == "" {
		text = `""`
	}
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// join appends a key to a path. A key that contains separators, such as that of a label, is put into brackets.
func join(path, key string) string {
	if strings.ContainsAny(key, "./[") {
		return path + "[" + key + "]"
	}
	return strings.TrimPrefix(path+"."+key, ".")
}
