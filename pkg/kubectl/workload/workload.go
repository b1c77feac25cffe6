package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
)

// Workload is an object of a kind in the table. Changes go to the copy in it until Save. The methods of metav1.Object
// read the object that it was made from.
type Workload struct {
	*Kind
	metav1.Object
	// version is the one in which the object was read, which decides where its fields are. content is the copy.
	version string
	object  runtime.Object
	content map[string]any
}

// Of reads an object. It returns nil without an error for an object of a kind that is not in the table.
func Of(object runtime.Object) (*Workload, error) {
	gvk, known := gvkOf(object)
	if !known {
		return nil, nil
	}
	kind := KindOf(gvk.GroupKind())
	if kind == nil {
		return nil, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kind.Title, err)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kind.Title, err)
	}
	return &Workload{Kind: kind, Object: accessor, version: gvk.Version, object: object, content: content}, nil
}

// gvkOf returns the kind of an object. A typed object does not say it, so the scheme is asked. It returns false for a
// type that the scheme does not know.
func gvkOf(object runtime.Object) (schema.GroupVersionKind, bool) {
	if found, ok := object.(*unstructured.Unstructured); ok {
		return found.GroupVersionKind(), true
	}
	found, _, err := kruisescheme.Scheme.ObjectKinds(object)
	if err != nil || len(found) == 0 {
		return schema.GroupVersionKind{}, false
	}
	return found[0], true
}

// Has reports whether the kind has a field in the object's version.
func (w *Workload) Has(path Path) bool { return path.In(w.version) != "" }

// fields returns a path as a list of names.
func (w *Workload) fields(path Path) []string { return strings.Split(path.In(w.version), ".") }

// get returns the value of a field without a copy. Callers must not change it, except changeContainers.
func (w *Workload) get(path Path) (any, bool) {
	if !w.Has(path) {
		return nil, false
	}
	value, found, err := unstructured.NestedFieldNoCopy(w.content, w.fields(path)...)
	return value, found && err == nil
}

// Int returns a number, or absent if the object does not have it.
func (w *Workload) Int(path Path, absent int) int {
	switch value, _ := w.get(path); number := value.(type) {
	case int64:
		return int(number)
	case float64:
		return int(number)
	default:
		return absent
	}
}

// Text returns a text, or "".
func (w *Workload) Text(path Path) string {
	value, _ := w.get(path)
	text, _ := value.(string)
	return text
}

// IsPaused reports whether updates are paused.
func (w *Workload) IsPaused() bool {
	value, _ := w.get(w.Paused)
	paused, _ := value.(bool)
	return paused
}

// onDelete reports whether the user deletes the old Pods.
func (w *Workload) onDelete() bool { return w.Text(w.Strategy) == "OnDelete" }

// SetPaused pauses or resumes updates.
func (w *Workload) SetPaused(paused bool) error { return w.set(paused, w.fields(w.Paused)...) }

// Wanted returns the wanted number of Pods. Missing replicas in the spec mean one, as the API defaults them; a
// missing count in the status means none.
func (w *Workload) Wanted() int {
	if w.Replicas.beta == "spec.replicas" {
		return w.Int(w.Replicas, 1)
	}
	return w.Int(w.Replicas, 0)
}

// Target returns how many Pods are to be updated, and whether a partition holds the others back. A percentage is
// rounded as the controller does it. With the strategy OnDelete, a partition has no effect.
func (w *Workload) Target() (target int, partitioned bool, err error) {
	wanted := w.Wanted()
	raw, found := w.get(w.Partition)
	if !found || w.onDelete() {
		return wanted, false, nil
	}
	value := &intstr.IntOrString{}
	if err := decode(raw, value); err != nil {
		return 0, false, fmt.Errorf("read the partition of %s %s: %w", w.Title, w.GetName(), err)
	}
	old, err := w.Kept(value, wanted)
	if err != nil {
		return 0, false, fmt.Errorf("%s %s: %w", w.Title, w.GetName(), err)
	}
	return wanted - old, old > 0, nil
}

// Read decodes a field. It returns false if the object does not have it or has it in another form.
func (w *Workload) Read(path Path, into any) bool {
	raw, found := w.get(path)
	return found && decode(raw, into) == nil
}

// PodSelector returns the selector of the Pods in the form of the object.
func (w *Workload) PodSelector() (*metav1.LabelSelector, error) {
	raw, found := w.get(w.Selector)
	if !found {
		return nil, fmt.Errorf("%s %s has no selector", w.Title, w.GetName())
	}
	selector := &metav1.LabelSelector{}
	if err := decode(raw, selector); err != nil {
		return nil, fmt.Errorf("read the selector of %s %s: %w", w.Title, w.GetName(), err)
	}
	return selector, nil
}

// LabelSelector returns the selector of the Pods, for lists.
func (w *Workload) LabelSelector() (labels.Selector, error) {
	selector, err := w.PodSelector()
	if err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// PodTemplate returns a copy of the Pod template. Fields that this program does not know are lost.
func (w *Workload) PodTemplate() (*corev1.PodTemplateSpec, error) {
	raw, found := w.get(w.Template)
	if !found {
		return nil, fmt.Errorf("%s %s has no Pod template", w.Title, w.GetName())
	}
	template := &corev1.PodTemplateSpec{}
	if err := decode(raw, template); err != nil {
		return nil, fmt.Errorf("read the Pod template of %s %s: %w", w.Title, w.GetName(), err)
	}
	return template, nil
}

// ChangePodSpec applies a change to the spec of the Pods. For a kind without a Pod template, the spec has only the
// containers. The change is in the copy; call Save after it.
func (w *Workload) ChangePodSpec(change func(*corev1.PodSpec) error) error {
	if w.Has(w.Containers) {
		return w.changeContainers(change)
	}
	return w.ChangePodTemplate(func(template *corev1.PodTemplateSpec) error { return change(&template.Spec) })
}

// ChangePodTemplate applies a change to the Pod template. The change is in the copy; call Save after it.
func (w *Workload) ChangePodTemplate(change func(*corev1.PodTemplateSpec) error) error {
	template, err := w.PodTemplate()
	if err != nil {
		return err
	}
	if err := change(template); err != nil {
		return err
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		return err
	}
	return w.set(raw, w.fields(w.Template)...)
}

// changeContainers applies a change to containers that have more fields than those of a Pod. The other fields stay.
// The change must not add, remove or move containers.
func (w *Workload) changeContainers(change func(*corev1.PodSpec) error) error {
	raw, _ := w.get(w.Containers)
	spec := &corev1.PodSpec{}
	if err := decode(map[string]any{
		"containers": field(raw, "containers"), "initContainers": field(raw, "initContainers"),
	}, spec); err != nil {
		return fmt.Errorf("read the containers of %s %s: %w", w.Title, w.GetName(), err)
	}
	// The difference between the two is what the change did.
	before := spec.DeepCopy()
	if err := change(spec); err != nil {
		return err
	}
	for name, lists := range map[string][2][]corev1.Container{
		"containers": {before.Containers, spec.Containers}, "initContainers": {before.InitContainers, spec.InitContainers},
	} {
		list, _ := field(raw, name).([]any)
		for i := range list {
			if err := overlay(list[i], &lists[0][i], &lists[1][i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// overlay writes the fields of a container that a change touched into its JSON form. A field that the change removed
// is removed.
func overlay(target any, before, after *corev1.Container) error {
	into, ok := target.(map[string]any)
	if !ok {
		return fmt.Errorf("container %s is not an object", before.Name)
	}
	old, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err != nil {
		return err
	}
	changed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return err
	}
	for key := range old {
		if _, kept := changed[key]; !kept {
			delete(into, key)
		}
	}
	maps.Copy(into, changed)
	return nil
}

// Save writes the changes into the object that the workload was read from. It sends nothing.
func (w *Workload) Save() error {
	if object, ok := w.object.(*unstructured.Unstructured); ok {
		object.Object = w.content
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(w.content, w.object)
}

// set sets a field of the copy, and creates the fields above it.
func (w *Workload) set(value any, fields ...string) error {
	return unstructured.SetNestedField(w.content, value, fields...)
}

// field returns a field of a JSON object, or nil.
func field(of any, name string) any {
	object, _ := of.(map[string]any)
	return object[name]
}

// decode reads a part of an object in its JSON form.
func decode(raw, into any) error {
	encoded, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	return json.Unmarshal(encoded, into)
}

// PausingPatch returns the merge patch that pauses or resumes updates, in the version of the object.
func (w *Workload) PausingPatch(paused bool) []byte {
	patch := fmt.Appendf(nil, "%t", paused)
	fields := w.fields(w.Paused)
	for _, field := range slices.Backward(fields) {
		patch = fmt.Appendf(nil, `{%q:%s}`, field, patch)
	}
	return patch
}
