package rules

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
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
