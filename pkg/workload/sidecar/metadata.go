package sidecar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// MetadataError says that the annotation of a Pod cannot be merged. Admission refuses such a Pod (case 30).
type MetadataError struct {
	// Key is the annotation.
	Key string
	// Value is the value that is not JSON.
	Value string
	Err   error
}

// Error implements error.
func (e *MetadataError) Error() string { return fmt.Sprintf("merge annotation %q: %v", e.Key, e.Err) }

// Unwrap returns the cause.
func (e *MetadataError) Unwrap() error { return e.Err }

// Annotations returns the annotations that patchPodMetadata changes in a Pod with the given annotations. It returns a
// MetadataError if a value to merge is not JSON. A second call with the result changes nothing, because admission may be called
// twice for one Pod.
func Annotations(patches []v1beta1.SidecarSetPatchPodMetadata, pod map[string]string) (map[string]string, error) {
	changes := map[string]string{}
	for i := range patches {
		for key, value := range patches[i].Annotations {
			// Each patch is applied to the value of the Pod, not to the result of an earlier patch.
			existing, found := pod[key]
			switch patches[i].PatchPolicy {
			case v1beta1.SidecarSetOverwritePatchPolicy:
			case v1beta1.SidecarSetMergePatchJSONPatchPolicy:
				if existing == "" || existing == value {
					break // The value is not formatted, so that a second call changes nothing.
				}
				merged, err := mergeJSON(existing, value)
				if err != nil {
					return nil, &MetadataError{Key: key, Value: existing, Err: err}
				}
				value = merged
			// Retain: a value of the Pod stays.
			default:
				if found {
					continue
				}
			}
			if !found || existing != value {
				changes[key] = value
			}
		}
	}
	return changes, nil
}

// mergeJSON applies a merge patch of RFC 7396. The result is compact and its names are sorted.
func mergeJSON(document, patch string) (string, error) {
	before, err := decode(document)
	if err != nil {
		return "", fmt.Errorf("the value of the Pod is not JSON: %w", err)
	}
	change, err := decode(patch)
	if err != nil {
		return "", fmt.Errorf("the value of the SidecarSet is not JSON: %w", err)
	}
	text := &bytes.Buffer{}
	encoder := json.NewEncoder(text)
	// Characters such as < stay readable.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(merged(before, change)); err != nil {
		return "", err
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// decode returns the one JSON value of a text. Numbers keep their digits.
func decode(text string) (value any, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return value, nil
}

// merged applies a patch to a value. An object is merged by its names, where null removes one. Anything else replaces the
// value.
func merged(document, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	fields, ok := document.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	fields = maps.Clone(fields)
	for key, value := range changes {
		if value == nil {
			delete(fields, key)
			continue
		}
		fields[key] = merged(fields[key], value)
	}
	return fields
}
