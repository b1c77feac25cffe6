package review

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/runtime"
)

// patch returns the JSON patch that applies to raw the change from before to after, or nil if nothing changed. raw
// may come from a newer server and contain fields that our types do not know. The patch keeps those fields, and keeps
// each one with its own list element.
func patch(raw []byte, before, after runtime.Object) ([]byte, error) {
	old, err := json.Marshal(before)
	if err != nil {
		return nil, fmt.Errorf("encode the object: %w", err)
	}
	changed, err := json.Marshal(after)
	if err != nil {
		return nil, fmt.Errorf("encode the changed object: %w", err)
	}
	if bytes.Equal(old, changed) {
		return nil, nil
	}
	var trees [3]any
	for i, data := range [][]byte{raw, old, changed} {
		// UseNumber keeps the notation of numbers.
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if err := decoder.Decode(&trees[i]); err != nil {
			return nil, fmt.Errorf("read the object: %w", err)
		}
	}
	merged, err := json.Marshal(merge(trees[0], trees[1], trees[2]))
	if err != nil {
		return nil, fmt.Errorf("encode the merged object: %w", err)
	}
	operations, err := jsonpatch.CreatePatch(raw, merged)
	if err != nil {
		return nil, fmt.Errorf("compare the objects: %w", err)
	}
	if len(operations) == 0 {
		return nil, nil
	}
	return json.Marshal(operations)
}
