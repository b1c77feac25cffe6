package takeover

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kruise.io/kruise/pkg/apis/pub"
)

// formerAnnotation is the UID that an object had in kruise-apiserver. Only a server sets UIDs, so an object that was created after the
// take-over gets another one.
const formerAnnotation = "kruise.io/uid-before-return"

// returning writes changes into the old objects.
type returning struct {
	*Takeover
	// moved maps UIDs of kruise-apiserver to those of the old API.
	moved map[string]string
	// created, updated and deleted count objects for the progress.
	created, updated, deleted int
}

// returnChanges makes the objects in the take-over version what kruise-apiserver has stored. It can be repeated: an
// object that it created names its former UID. No watch of a client sees its writes, because nobody else knows the
// take-over version. If kruise-apiserver has never served the store, the old objects are newer, and stay as they are.
func (t *Takeover) returnChanges(ctx context.Context, _ *record) error {
	if closed, err := t.anyClosed(ctx); err != nil || !closed {
		return err
	}
	if err := t.closeAgain(ctx); err != nil {
		return err
	}
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	now, err := t.exportAgain(ctx, all)
	if errors.Is(err, errUnserved) {
		t.say("  %v: the old objects stay as they are", err)
		return nil
	}
	if err != nil {
		return err
	}
	r := &returning{Takeover: t, moved: map[string]string{}}
	for _, d := range all {
		if err := r.definition(ctx, d, now[schema.GroupResource{Group: d.group, Resource: d.plural}]); err != nil {
			return err
		}
	}
	// Kinds that only this release has cannot return.
	for resource, objects := range now {
		known := func(d definition) bool { return d.group == resource.Group && d.plural == resource.Resource }
		if !slices.ContainsFunc(all, known) && len(objects) > 0 {
			t.say("  %d %s are lost: the old API does not have the kind", len(objects), resource)
		}
	}
	// The dependents are last, because all new UIDs must be known.
	if err := r.reown(ctx, all); err != nil {
		return err
	}
	t.say("  %d objects created, %d changed, %d deleted", r.created, r.updated, r.deleted)
	return nil
}

// exportAgain is export with some attempts, because the container of the server starts again at this time. The store is closed, so one
// export has everything.
func (t *Takeover) exportAgain(
	ctx context.Context, all []definition,
) (now map[schema.GroupResource][]*unstructured.Unstructured, err error) {
	for range 6 {
		if now, err = t.export(ctx, all); err == nil || errors.Is(err, errUnserved) {
			return now, err
		}
		t.say("  %v; trying again", err)
		if err := t.pause(ctx, t.settle); err != nil {
			return nil, err
		}
	}
	return nil, err
}

// errUnserved says that kruise-apiserver has never served the store.
var errUnserved = errors.New("the import of the take-over was not completed")

// export reads all objects of the closed store, in the versions in which the old API stores them. It returns them by
// resource. The last line of the stream proves that it is complete.
func (t *Takeover) export(ctx context.Context, all []definition) (map[schema.GroupResource][]*unstructured.Unstructured, error) {
	var wanted []string
	resources := map[schema.GroupKind]schema.GroupResource{}
	for _, d := range all {
		wanted = append(wanted, d.name()+"="+d.storage)
		resources[schema.GroupKind{Group: d.group, Kind: d.kind}] = schema.GroupResource{Group: d.group, Resource: d.plural}
	}
	out, err := t.Store.Run(ctx, nil, "export", "--versions="+strings.Join(wanted, ","))
	if err != nil {
		return nil, err
	}
	found, count := map[schema.GroupResource][]*unstructured.Unstructured{}, 0
	lines := bufio.NewScanner(bytes.NewReader(out))
	// A line is at most as long as the whole output.
	lines.Buffer(nil, len(out)+1)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte(`{"unserved":true`)) {
			return nil, errUnserved
		}
		if line := lines.Bytes(); bytes.HasPrefix(line, []byte(`{"end":`)) {
			if want := fmt.Sprintf(`{"end":%d}`, count); string(line) != want {
				return nil, fmt.Errorf("the export has %d objects, but its last line is %s", count, line)
			}
			return found, nil
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("read the export: %w", err)
		}
		// A kind without a definition: the caller reports it as lost.
		resource, known := resources[object.GroupVersionKind().GroupKind()]
		if !known {
			resource = schema.GroupResource{Group: object.GroupVersionKind().Group, Resource: strings.ToLower(object.GetKind())}
		}
		found[resource] = append(found[resource], object)
		count++
	}
	return nil, errors.Join(errors.New("the export was cut off"), lines.Err())
}

// definition writes the objects of one kind. An old object that another one of the same name has replaced is deleted
// first, because a UID cannot change. Old objects that are left at the end were deleted since the take-over.
func (r *returning) definition(ctx context.Context, d definition, now []*unstructured.Unstructured) error {
	olds := map[key]*unstructured.Unstructured{}
	// All old objects of the kind are in memory, to find those that are gone.
	err := r.each(ctx, d.resource(Version), func(object *unstructured.Unstructured) error {
		olds[keyOf(d, object)] = object.DeepCopy()
		return nil
	})
	if err != nil {
		return err
	}
	client := r.Dynamic.Resource(d.resource(Version))
	for _, object := range now {
		old := olds[keyOf(d, object)]
		// The name was deleted and created again since the take-over.
		if old != nil && !sameObject(old, object) {
			if err := r.remove(ctx, client, old); err != nil {
				return err
			}
			old = nil
		}
		delete(olds, keyOf(d, object))
		if err := r.write(ctx, d, client.Namespace(object.GetNamespace()), old, object); err != nil {
			return fmt.Errorf("return %s: %w", keyOf(d, object), err)
		}
	}
	// What is left was deleted since the take-over.
	for _, gone := range olds {
		if err := r.remove(ctx, client, gone); err != nil {
			return err
		}
	}
	return nil
}

// sameObject returns true if an old object is the one in kruise-apiserver: it has the same UID, or an earlier call
// created it for that one.
func sameObject(old, now *unstructured.Unstructured) bool {
	return old.GetUID() == now.GetUID() || old.GetAnnotations()[formerAnnotation] == string(now.GetUID())
}

// remove deletes an old object that is gone in kruise-apiserver. The garbage collector does not see this, and what
// the object owned is gone already. Finalizers are removed first, because nobody serves the object to their
// controllers.
func (r *returning) remove(ctx context.Context, resource dynamic.NamespaceableResourceInterface, old *unstructured.Unstructured) error {
	client := resource.Namespace(old.GetNamespace())
	if err := r.removeFinalizers(ctx, client, old); err != nil {
		return fmt.Errorf("remove the finalizers of %s %s: %w", old.GetKind(), old.GetName(), err)
	}
	uid := old.GetUID()
	err := client.Delete(ctx, old.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s %s: %w", old.GetKind(), old.GetName(), err)
	}
	r.deleted++
	return nil
}

// write creates or updates an old object, and then its status. It writes nothing that is equal already, so a
// repetition is quick. The generation of a created object begins at 1, because only a server sets it.
func (r *returning) write(ctx context.Context, d definition, client dynamic.ResourceInterface, old, now *unstructured.Unstructured) error {
	wanted := now.DeepCopy()
	wanted.SetAPIVersion(d.group + "/" + Version)
	wanted.SetManagedFields(nil)
	// An old release of the manager may not know this finalizer, and would never remove it. Later ones add it themselves.
	if old == nil || !slices.Contains(old.GetFinalizers(), pub.DeletionProtectionFinalizer) {
		withoutFinalizer(wanted, pub.DeletionProtectionFinalizer)
	}
	var err error
	switch {
	case old == nil:
		old, err = r.create(ctx, client, wanted)
		// kube-apiserver creates no object in a terminating namespace. The namespace ends only after its objects in kruise-apiserver are gone.
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			r.say("  %s is not created, because its namespace is being deleted; if you need it, create both again", keyOf(d, now))
			return nil
		}
		if err != nil {
			return err
		}
		r.created++
	// The object exists on both sides. Fields that only a server sets are taken from the old object.
	case differs(old, wanted):
		// An earlier call created this object for a UID that only kruise-apiserver knew.
		if old.GetUID() != now.GetUID() {
			annotate(wanted, string(now.GetUID()))
			wanted.SetUID(old.GetUID())
		}
		wanted.SetResourceVersion(old.GetResourceVersion())
		wanted.SetCreationTimestamp(old.GetCreationTimestamp())
		// A write cannot begin a deletion. deleteToo does that.
		wanted.SetDeletionTimestamp(old.GetDeletionTimestamp())
		wanted.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
		if old, err = client.Update(ctx, wanted, metav1.UpdateOptions{}); err != nil {
			return err
		}
		r.updated++
	}
	// The dependents of the object still name the UID of kruise-apiserver.
	if old.GetUID() != now.GetUID() {
		r.moved[string(now.GetUID())] = string(old.GetUID())
	}
	// The main resource ignores the status, so it needs a write of its own.
	if status := now.Object["status"]; status != nil && !apiequality.Semantic.DeepEqual(old.Object["status"], status) {
		old.Object["status"] = status
		if _, err := client.UpdateStatus(ctx, old, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return r.deleteToo(ctx, client, old, now)
}

// withoutFinalizer removes a finalizer from an object in memory.
func withoutFinalizer(object *unstructured.Unstructured, name string) {
	kept := slices.DeleteFunc(object.GetFinalizers(), func(finalizer string) bool { return finalizer == name })
	if len(kept) == 0 {
		kept = nil // An empty list would differ from a missing one.
	}
	object.SetFinalizers(kept)
}

// create creates an object in the take-over version, and remembers its former UID in an annotation. The fields that a
// server sets are removed. Its deletion, if one has begun, is repeated by deleteToo.
func (r *returning) create(
	ctx context.Context, client dynamic.ResourceInterface, wanted *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	object := wanted.DeepCopy()
	annotate(object, string(object.GetUID()))
	// A create request with a resourceVersion is refused, and the others would be overwritten.
	for _, field := range []string{
		"uid", "resourceVersion", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds",
	} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	return client.Create(ctx, object, metav1.CreateOptions{})
}

// deleteToo begins the deletion of an object whose deletion began after the take-over. The finalizers say which
// propagation the client asked for.
func (r *returning) deleteToo(ctx context.Context, client dynamic.ResourceInterface, old, now *unstructured.Unstructured) error {
	if now.GetDeletionTimestamp() == nil || old.GetDeletionTimestamp() != nil {
		return nil
	}
	way := metav1.DeletePropagationBackground
	switch {
	case slices.Contains(now.GetFinalizers(), metav1.FinalizerDeleteDependents):
		way = metav1.DeletePropagationForeground
	case slices.Contains(now.GetFinalizers(), metav1.FinalizerOrphanDependents):
		way = metav1.DeletePropagationOrphan
	}
	return client.Delete(ctx, old.GetName(), metav1.DeleteOptions{PropagationPolicy: &way})
}

// annotate records the UID that the object had in kruise-apiserver.
func annotate(object *unstructured.Unstructured, former string) {
	setAnnotation(object, formerAnnotation, former)
}

// differs compares what a client can write. Fields that a server sets, and the annotation of this package, do not
// count.
func differs(old, now *unstructured.Unstructured) bool {
	content := func(object *unstructured.Unstructured) map[string]any {
		object = object.DeepCopy()
		annotations := object.GetAnnotations()
		delete(annotations, formerAnnotation)
		return map[string]any{
			"spec": object.Object["spec"], "labels": object.GetLabels(), "annotations": annotations,
			"finalizers": object.GetFinalizers(), "owners": object.GetOwnerReferences(),
		}
	}
	return !apiequality.Semantic.DeepEqual(content(old), content(now))
}
