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
func Data[T any](template *T) ([]byte, error) { return templateData(template, map[string]any{}) }

// DataOf is Data for a template whose form depends on the version of the kind. The patch names the kind and the version.
func DataOf[T any](kind schema.GroupVersionKind, template *T) ([]byte, error) {
	apiVersion, name := kind.ToAPIVersionAndKind()
	return templateData(template, map[string]any{"apiVersion": apiVersion, "kind": name})
}

// SpecData returns what a revision stores of a part of a spec: a patch that replaces the whole spec.
func SpecData[T any](spec *T) ([]byte, error) {
	fields, err := replacing(spec)
	if err != nil {
		return nil, err
	}
	return encode(map[string]any{"spec": fields})
}

// templateData adds the template to the fields of the patch, which belong to it.
func templateData(template any, patch map[string]any) ([]byte, error) {
	fields, err := replacing(template)
	if err != nil {
		return nil, err
	}
	patch["spec"] = map[string]any{"template": fields}
	return encode(patch)
}

// replacing returns a patch that replaces a value. It is a map, so that the keys of its encoding are sorted. kube-apiserver sorts them when
// somebody patches a revision, and refuses a patch after which the bytes of the data differ. Then, for example, the garbage collector
// cannot remove an owner.
func replacing(value any) (map[string]any, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	fields["$patch"] = "replace"
	return fields, nil
}

func encode(patch map[string]any) ([]byte, error) {
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
