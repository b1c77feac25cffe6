package takeover

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RecordName is the name of the ConfigMap that says where a take-over stands.
const RecordName = "kruise-takeover"

// recordKey is the key of the ConfigMap with the record in JSON.
const recordKey = "record"

// Directions of a record. It has none before the first take-over and after a return.
const (
	forward   = "forward"
	backward  = "back"
	finishing = "finish"
)

// record is what a take-over must know after an interruption. It is written after each complete step, and before
// anything that cannot be read again.
type record struct {
	// Direction is one of the constants above, or empty.
	Direction string `json:"direction,omitempty"`
	// Step is the last complete step of the direction.
	Step string `json:"step,omitempty"`
	// Identity and Generation are the record of the store guard.
	Identity   string `json:"identity,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	// Old are the objects of OpenKruise that were deleted, and the namespace of the installation with the labels that it had.
	Old []*unstructured.Unstructured `json:"old,omitempty"`
	// Closed is when the old API was closed, for the length of the interruption.
	Closed *time.Time `json:"closed,omitempty"`

	// object is the ConfigMap as read, whose resourceVersion detects another process. It is nil before the first
	// write.
	object *unstructured.Unstructured
}

// readRecord returns an empty record if no take-over has begun.
func (t *Takeover) readRecord(ctx context.Context) (*record, error) {
	object, err := t.Dynamic.Resource(configMapResource).Namespace(t.Namespace).Get(ctx, RecordName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &record{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of the take-over: %w", err)
	}
	text, _, err := unstructured.NestedString(object.Object, "data", recordKey)
	state := &record{object: object}
	if err == nil {
		err = json.Unmarshal([]byte(text), state)
	}
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s, key %s: %w", t.Namespace, RecordName, recordKey, err)
	}
	return state, nil
}

// writeRecord writes the record. A conflict means that another process takes over at the same time; this one then
// ends.
func (t *Takeover) writeRecord(ctx context.Context, state *record) error {
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	client := t.Dynamic.Resource(configMapResource).Namespace(t.Namespace)
	object := state.object
	if object == nil {
		object = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": RecordName, "namespace": t.Namespace},
		}}
	}
	object = object.DeepCopy()
	if err := unstructured.SetNestedField(object.Object, string(text), "data", recordKey); err != nil {
		return err
	}
	// The first write creates the ConfigMap, so only one of two processes that start together goes on.
	if state.object == nil {
		object, err = client.Create(ctx, object, metav1.CreateOptions{})
	} else {
		object, err = client.Update(ctx, object, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("another process takes over at the same time: wait until it has ended, then run the command again: %w", err)
	}
	if err != nil {
		return fmt.Errorf("write the record of the take-over: %w", err)
	}
	state.object = object
	return nil
}

// deleteRecord removes the record at the end. A cluster without a record has no take-over in progress.
func (t *Takeover) deleteRecord(ctx context.Context, state *record) error {
	err := t.Dynamic.Resource(configMapResource).Namespace(t.Namespace).Delete(ctx, RecordName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the record of the take-over: %w", err)
	}
	state.object = nil
	return nil
}
