package apps

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// CanonicalJSON returns embedded JSON without spaces and with sorted keys, and nil for null. So another
// formatting of the same manifest is not a change, and a hash of the bytes is a hash of the content.
// Invalid JSON is returned unchanged, so that validation can refuse it. The argument is not changed.
func CanonicalJSON(raw []byte) []byte {
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

// CanonicalRaw is CanonicalJSON for a field. Its Object is not looked at: nothing of ours sets it.
func CanonicalRaw(raw runtime.RawExtension) runtime.RawExtension {
	return runtime.RawExtension{Raw: CanonicalJSON(raw.Raw)}
}

// CanonicalPatch is CanonicalJSON for a field that may be missing. An empty one is missing too.
func CanonicalPatch(patch *runtime.RawExtension) *runtime.RawExtension {
	if patch == nil {
		return nil
	}
	form := CanonicalRaw(*patch)
	if len(form.Raw) == 0 {
		return nil
	}
	return &form
}
