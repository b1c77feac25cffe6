package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StrategicMerge applies a strategic merge patch to a document. Both are JSON. schema is a value of the Go type of the document. Users
// write the patch: one with directives of the wrong form makes the library panic, and this function returns an error instead.
func StrategicMerge(document, patch []byte, schema any) (merged []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			merged, err = nil, fmt.Errorf("a directive of the patch, such as $retainKeys, has a wrong form: %v", cause)
		}
	}()
	return strategicpatch.StrategicMergePatch(document, patch, schema)
}

const (
	// largestPatch is the maximum length of a patch, in bytes. longestPatchList is the maximum length of each list in it. The patch is merged
	// into each new Pod, and the library compares each element of a list with all others.
	largestPatch     = 64 << 10
	longestPatchList = 100
)

// ValidatePatch checks a strategic merge patch of objects of the type that into points to. wanted says what the patch must be, for
// messages. A patch over the limits is not tried. A stored one can stay, and become shorter.
func ValidatePatch(patch []byte, into any, wanted string, path *field.Path) field.ErrorList {
	if len(patch) > largestPatch {
		return field.ErrorList{{
			Type: field.ErrorTypeTooLong, Field: path.String(), BadValue: len(patch),
			Detail: fmt.Sprintf("must have at most %d bytes; move data to a ConfigMap", largestPatch),
		}}
	}
	var content any
	if json.Unmarshal(patch, &content) == nil {
		if errs := longLists(content, path); len(errs) > 0 {
			return errs
		}
	}
	if err := CheckStrategicMerge(patch, into); err != nil {
		return field.ErrorList{field.Invalid(path, string(patch), fmt.Sprintf("must be %s: %v", wanted, err))}
	}
	return nil
}

// longLists returns an error for each list that is too long.
func longLists(content any, path *field.Path) (errs field.ErrorList) {
	switch content := content.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(content)) {
			errs = append(errs, longLists(content[name], path.Child(name))...)
		}
	case []any:
		if len(content) > longestPatchList {
			errs = append(errs, field.TooMany(path, len(content), longestPatchList))
		}
		for i := range content {
			errs = append(errs, longLists(content[i], path.Index(i))...)
		}
	default:
	}
	return errs
}

// CheckStrategicMerge returns an error unless a strategic merge patch can be applied to objects of the type that into points to, which gets
// the patched fields. The patch is applied twice, because most directives are read only where the document has the field.
func CheckStrategicMerge(patch []byte, into any) error {
	merged := []byte("{}")
	for range 2 {
		var err error
		if merged, err = StrategicMerge(merged, patch, into); err != nil {
			return err
		}
	}
	return json.Unmarshal(merged, into)
}
