package history

import (
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Data returns what a revision stores of a template, for example of a Pod template: a patch that replaces the whole template.
func Data[T any](template *T) ([]byte, error) { return encode(template, map[string]any{}) }

// DataOf is Data for a template whose form depends on the version of the kind. The patch names the kind and the version.
func DataOf[T any](kind schema.GroupVersionKind, template *T) ([]byte, error) {
	apiVersion, name := kind.ToAPIVersionAndKind()
	return encode(template, map[string]any{"apiVersion": apiVersion, "kind": name})
}

// encode adds the template to the fields of the patch, which belong to it.
func encode(template any, patch map[string]any) ([]byte, error) {
	encoded, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode template: %w", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, fmt.Errorf("encode template: %w", err)
	}
	fields["$patch"] = "replace"
	patch["spec"] = map[string]any{"template": fields}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	return data, nil
}

// Template returns the template that a revision stores.
func Template(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var stored struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &stored); err != nil {
		return nil, fmt.Errorf("decode revision %q: %w", revision.Name, err)
	}
	return &stored.Spec.Template, nil
}

// ShortHash returns the part after the last dash. This is the hash of a revision, both for a revision's name and for a Pod's
// label in either form.
func ShortHash(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// Matches reports whether a Pod's revision label, full or short, names the revision.
func Matches(label, revisionName string) bool {
	return label != "" && (label == revisionName || ShortHash(label) == ShortHash(revisionName))
}
