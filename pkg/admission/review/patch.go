package review

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apiserver/pkg/admission"
)

// Operation is one operation of a JSON patch, see RFC 6902. Value is nil for "remove". omitempty leaves out a nil
// value only: an empty list or map in the interface stays in the patch.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Patcher is a plugin that changes objects of the host cluster. It writes the operations itself: they touch only the fields that
// the plugin changes, so fields of a newer server that our types do not know stay as they are.
type Patcher interface {
	// Patch returns the operations that change the object of the attributes, or none.
	Patch(ctx context.Context, attributes admission.Attributes) ([]Operation, error)
}

// encode returns the JSON patch, or nil if there are no operations. The API requires that an answer without changes
// has no patch.
func encode(operations []Operation) ([]byte, error) {
	if len(operations) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("encode the patch: %w", err)
	}
	return text, nil
}
