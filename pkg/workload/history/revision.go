package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Data returns what a revision stores of a template, for example of a Pod template: a patch that replaces the whole template.
func Data[T any](template *T) ([]byte, error) {
	fields, err := replacing(template)
	if err != nil {
		return nil, err
	}
	return encode(map[string]any{"spec": map[string]any{"template": fields}})
}

// SpecData returns what a revision stores of a part of a spec: a patch that replaces the whole spec.
func SpecData[T any](spec *T) ([]byte, error) {
	fields, err := replacing(spec)
	if err != nil {
		return nil, err
	}
	return encode(map[string]any{"spec": fields})
}

// replacing returns a patch that replaces a value. It is a map, so that the keys of its encoding are sorted. kube-apiserver sorts them when
// somebody patches a revision, and refuses a patch after which the bytes of the data differ. Then, for example, the garbage collector
// cannot remove an owner.
//
// OpenKruise compares revisions by their bytes, and the data of a revision cannot be changed. So each metadata without a creation time has
// a null there, as k8s.io/api up to 0.32 encodes it. Otherwise a return to OpenKruise would roll out each template that is stored here.
func replacing(value any) (map[string]any, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	addCreationTimes(reflect.ValueOf(value), fields)
	fields["$patch"] = "replace"
	return fields, nil
}

var metadata = reflect.TypeFor[metav1.ObjectMeta]()

// addCreationTimes adds the null of an empty creation time to each metadata in decoded, which is the decoded JSON of the value. The types
// say what is metadata: a Pod template, a claim template and an ephemeral volume have one. No map of the API contains metadata.
func addCreationTimes(value reflect.Value, decoded any) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			addCreationTimes(value.Elem(), decoded)
		}
	case reflect.Slice:
		// Bytes are encoded as a text.
		if list, ok := decoded.([]any); ok {
			for i := range list {
				addCreationTimes(value.Index(i), list[i])
			}
		}
	case reflect.Struct:
		// Some structs have another form, for example a time or a quantity.
		if fields, ok := decoded.(map[string]any); ok {
			addToFields(value, fields)
		}
	default:
	}
}

// addToFields is addCreationTimes for a struct.
func addToFields(value reflect.Value, fields map[string]any) {
	if _, set := fields["creationTimestamp"]; value.Type() == metadata && !set {
		fields["creationTimestamp"] = nil
		return
	}
	for i := range value.NumField() {
		field := value.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			addCreationTimes(value.Field(i), fields)
		} else if decoded, found := fields[name]; found {
			addCreationTimes(value.Field(i), decoded)
		}
	}
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
