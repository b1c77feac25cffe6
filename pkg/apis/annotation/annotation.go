package annotation

import (
	"encoding/json"
	"fmt"
	"maps"
)

// With returns values in which key has the value.
func With(values map[string]string, key, value string) map[string]string {
	result := maps.Clone(values)
	if result == nil {
		result = map[string]string{}
	}
	result[key] = value
	return result
}

// Without returns values in which key is not set.
func Without(values map[string]string, key string) map[string]string {
	result := maps.Clone(values)
	delete(result, key)
	return result
}

// Keep returns annotations that hold the fields too, as JSON.
func Keep(annotations map[string]string, key string, fields any) (map[string]string, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return annotations, fmt.Errorf("write annotation %s: %w", key, err)
	}
	return With(annotations, key, string(text)), nil
}

// Take reads what Keep wrote into fields, and returns the annotations without it. If the text was not
// written by Keep, the annotation and the fields do not change, even if a part of it can be parsed.
func Take[T any](annotations map[string]string, key string, fields *T) (rest map[string]string, found bool) {
	text, found := annotations[key]
	if !found {
		return annotations, false
	}
	var kept T
	if json.Unmarshal([]byte(text), &kept) != nil {
		return annotations, false
	}
	*fields = kept
	return Without(annotations, key), true
}
