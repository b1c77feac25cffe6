package takeover

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Version is the version of a CustomResourceDefinition by which the take-over reads and writes the old objects after the other
	// versions are no longer served from there. No client knows it. It sorts after every version, so that none prefers it.
	Version = "takeover"
	// originalAnnotation keeps what closing changes in a CustomResourceDefinition.
	originalAnnotation = "kruise.io/before-takeover"
	// helmPolicy keeps Helm from deleting an object that a new chart does not have.
	helmPolicy = "helm.sh/resource-policy"
)

// definition is a CustomResourceDefinition of Kruise. object is changed in place by close, shut and open, and then
// written by change.
type definition struct {
	object *unstructured.Unstructured
	group  string
	plural string
	kind   string
	// versions are all versions except that of the take-over.
	versions []string
	// storage is the version in which objects are stored.
	storage string
}

// original is what closing changes, as it was before. open restores it.
type original struct {
	Served     []string       `json:"served"`
	Conversion map[string]any `json:"conversion,omitempty"`
}

// definitions reads the CustomResourceDefinitions of Kruise, in the order of their names.
func (t *Takeover) definitions(ctx context.Context) ([]definition, error) {
	list, err := t.Dynamic.Resource(crdResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the CustomResourceDefinitions: %w", err)
	}
	var found []definition
	for i := range list.Items {
		if d := parse(&list.Items[i]); slices.Contains(Groups, d.group) {
			found = append(found, d)
		}
	}
	return found, nil
}

// parse reads a definition. The object stays shared with it.
func parse(object *unstructured.Unstructured) definition {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(object.Object, fields...)
		return value
	}
	d := definition{
		object: object, group: text("spec", "group"), plural: text("spec", "names", "plural"), kind: text("spec", "names", "kind"),
	}
	for _, version := range d.list() {
		name, _ := version["name"].(string)
		if name == Version {
			continue
		}
		d.versions = append(d.versions, name)
		if stored, _ := version["storage"].(bool); stored {
			d.storage = name
		}
	}
	return d
}

// list returns the versions, which the caller may change. NestedSlice copies them, so a change has no effect until it
// is set.
func (d *definition) list() []map[string]any {
	versions, _, _ := unstructured.NestedSlice(d.object.Object, "spec", "versions")
	var all []map[string]any
	for _, version := range versions {
		if version, ok := version.(map[string]any); ok {
			all = append(all, version)
		}
	}
	return all
}

// served returns the versions by which clients reach the objects.
func (d *definition) served() []string {
	var names []string
	// The take-over version is a part of served, if it is served.
	for _, version := range d.list() {
		if served, _ := version["served"].(bool); served {
			names = append(names, version["name"].(string))
		}
	}
	return names
}

// hasTakeover returns true if the definition has the take-over version, served or not.
func (d *definition) hasTakeover() bool {
	return slices.ContainsFunc(d.list(), func(version map[string]any) bool { return version["name"] == Version })
}

// name is the name of the definition, and also that of the resource in messages.
func (d *definition) name() string { return d.plural + "." + d.group }

// resource returns the resource in a version, for the dynamic client.
func (d *definition) resource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: d.group, Version: version, Resource: d.plural}
}

// closed returns what closing changed, or nil if the definition is open.
func (d *definition) closed() (*original, error) {
	text, found := d.object.GetAnnotations()[originalAnnotation]
	if !found {
		return nil, nil
	}
	before := &original{}
	if err := json.Unmarshal([]byte(text), before); err != nil {
		return nil, fmt.Errorf("annotation %s of CustomResourceDefinition %s: %w", originalAnnotation, d.name(), err)
	}
	return before, nil
}

// close serves the objects only by the take-over version. This also ends all watches of the old versions: otherwise
// their clients would see each object as deleted when the definition is deleted. Conversion by a webhook of the old
// manager ends too. It does nothing if the definition is closed already. If somebody has written the versions back, it closes them again.
func (d *definition) close() (changed bool, err error) {
	before, err := d.closed()
	if err != nil || before != nil && d.hasTakeover() {
		return false, err
	}
	// What is changed below is recorded in the annotation, in the same write. What was recorded first stays.
	if before == nil {
		before = &original{Served: d.served()}
		before.Conversion, _, _ = unstructured.NestedMap(d.object.Object, "spec", "conversion")
	}
	versions := make([]any, 0, len(d.versions)+1)
	var hidden map[string]any
	for _, version := range d.list() {
		version["served"] = false
		versions = append(versions, version)
		if version["name"] == d.storage {
			// The schema of the stored version, so that the objects have the defaults that clients saw.
			hidden = map[string]any{
				"name": Version, "served": true, "storage": false, "subresources": version["subresources"], "schema": version["schema"],
			}
			if hidden["subresources"] == nil {
				delete(hidden, "subresources")
			}
		}
	}
	text, err := json.Marshal(before)
	if err != nil {
		return false, err
	}
	setAnnotation(d.object, originalAnnotation, string(text))
	// Without a conversion, kube-apiserver only changes the apiVersion, so the take-over version reads what is
	// stored.
	unstructured.RemoveNestedField(d.object.Object, "spec", "conversion")
	return true, unstructured.SetNestedSlice(d.object.Object, append(versions, hidden), "spec", "versions")
}

// shut stops serving the take-over version too. Watches by the take-over version end without an event. It refuses an
// open definition, whose objects clients still watch.
func (d *definition) shut() (changed bool, err error) {
	before, err := d.closed()
	if err != nil {
		return false, err
	}
	if before == nil {
		return false, fmt.Errorf("CustomResourceDefinition %s still serves its objects: clients that watch them would see them as deleted",
			d.name())
	}
	versions := make([]any, 0, len(d.versions)+1)
	for _, version := range d.list() {
		if served, _ := version["served"].(bool); served {
			version["served"], changed = false, true
		}
		versions = append(versions, version)
	}
	return changed, unstructured.SetNestedSlice(d.object.Object, versions, "spec", "versions")
}

// open undoes close. It removes the take-over version and the annotation, and restores what was served.
func (d *definition) open() (changed bool, err error) {
	before, err := d.closed()
	if before == nil || err != nil {
		return false, err
	}
	var versions []any
	for _, version := range d.list() {
		if version["name"] == Version {
			continue
		}
		version["served"] = slices.Contains(before.Served, version["name"].(string))
		versions = append(versions, version)
	}
	// The annotation is removed in the same write, so a definition without it is open.
	annotations := d.object.GetAnnotations()
	delete(annotations, originalAnnotation)
	d.object.SetAnnotations(annotations)
	// A definition without a conversion had none before.
	if len(before.Conversion) > 0 {
		if err := unstructured.SetNestedMap(d.object.Object, before.Conversion, "spec", "conversion"); err != nil {
			return false, err
		}
	}
	return true, unstructured.SetNestedSlice(d.object.Object, versions, "spec", "versions")
}

// change updates each definition that the function changes. A conflict is repeated with the current object, because
// kube-apiserver writes the status of definitions all the time. edit must be repeatable.
func (t *Takeover) change(ctx context.Context, edit func(*definition) (bool, error)) error {
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		for {
			changed, err := edit(&d)
			if err != nil {
				return err
			}
			if !changed {
				break
			}
			_, err = t.Dynamic.Resource(crdResource).Update(ctx, d.object, metav1.UpdateOptions{})
			if err == nil {
				break
			}
			if !apierrors.IsConflict(err) {
				return fmt.Errorf("update CustomResourceDefinition %s: %w", d.name(), err)
			}
			// The change is applied again to what another client has written.
			current, err := t.Dynamic.Resource(crdResource).Get(ctx, d.name(), metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("read CustomResourceDefinition %s: %w", d.name(), err)
			}
			d = parse(current)
		}
	}
	return nil
}

// keepDefinitions makes Helm keep the definitions when a chart does not have them.
func (t *Takeover) keepDefinitions(ctx context.Context, _ *record) error {
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"keep"}}}`, helmPolicy)
	for _, d := range all {
		if d.object.GetAnnotations()[helmPolicy] == "keep" {
			continue
		}
		_, err := t.Dynamic.Resource(crdResource).Patch(ctx, d.name(), types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("annotate CustomResourceDefinition %s: %w", d.name(), err)
		}
	}
	return nil
}
