package apps

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// OneJSONForm returns embedded JSON without spaces and with sorted keys, and nil for null. So another
// formatting of the same manifest is not a change, and a hash of the bytes is a hash of the content.
// Invalid JSON is returned unchanged, so that validation can refuse it. The argument is not changed.
func OneJSONForm(raw []byte) []byte {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return raw
	}
	if value == nil {
		return nil
	}
	form, err := json.Marshal(value)
	if err != nil || bytes.Equal(form, raw) {
		return raw
	}
	return form
}

// RawInOneForm is OneJSONForm for a field. Its Object is not looked at: nothing of ours sets it.
func RawInOneForm(raw runtime.RawExtension) runtime.RawExtension {
	return runtime.RawExtension{Raw: OneJSONForm(raw.Raw)}
}

// PatchInOneForm is OneJSONForm for a field that may be missing. An empty one is missing too.
func PatchInOneForm(patch *runtime.RawExtension) *runtime.RawExtension {
	if patch == nil {
		return nil
	}
	form := RawInOneForm(*patch)
	if len(form.Raw) == 0 {
		return nil
	}
	return &form
}
