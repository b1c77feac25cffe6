package review

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/runtime"
)

// patch is the JSON patch that does to raw what was done to the object that was read from it, or nil where nothing was. Raw may
// come from a server that knows more fields than our types have: none of them is lost, and none goes from one element of a list
// to another.
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
		// Numbers stay as they are written.
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
