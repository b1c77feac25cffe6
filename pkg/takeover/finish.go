package takeover

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// finishSteps are the steps after which there is no way back.
func (t *Takeover) finishSteps() []step {
	return []step{
		{"release", "remove the finalizers of the old objects, which no controller handles any more", t.releaseOld},
		{"shut", "stop serving the old objects", t.shutDefinitions},
		{"delete", "delete the CustomResourceDefinitions", t.deleteDefinitions},
		{"remains", "delete what is left of OpenKruise", t.removeRemains},
		{forget, "delete the record", t.deleteRecord},
	}
}

// releaseOld removes finalizers. The deletion of a CustomResourceDefinition deletes its objects, and would wait for
// them without end. It refuses an open definition before it changes anything of it.
func (t *Takeover) releaseOld(ctx context.Context, _ *record) error {
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		before, err := d.closed()
		if err != nil {
			return err
		}
		// The definition is open: clients use its objects, and may depend on the finalizers.
		if before == nil {
			return fmt.Errorf("CustomResourceDefinition %s still serves its objects: clients that watch them would see them as deleted",
				d.name())
		}
		client := t.Dynamic.Resource(d.resource(Version))
		err = t.each(ctx, d.resource(Version), func(object *unstructured.Unstructured) error {
			if err := t.removeFinalizers(ctx, client.Namespace(object.GetNamespace()), object); err != nil {
				return fmt.Errorf("remove the finalizers of %s: %w", keyOf(d, object), err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shutDefinitions ends watches by the take-over version, if a client has found it, before its objects are deleted. It
// then waits until these watches have ended.
func (t *Takeover) shutDefinitions(ctx context.Context, _ *record) error {
	if err := t.change(ctx, (*definition).shut); err != nil {
		return err
	}
	return t.pause(ctx, t.settle)
}

// deleteDefinitions deletes only definitions that no longer serve their objects to anybody else. It waits until they
// are gone. The precondition keeps it from deleting a definition that somebody creates again at this time.
func (t *Takeover) deleteDefinitions(ctx context.Context, _ *record) error {
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		before, err := d.closed()
		if err != nil {
			return err
		}
		if before == nil {
			return fmt.Errorf("CustomResourceDefinition %s was created after the take-over: delete it yourself", d.name())
		}
		uid := d.object.GetUID()
		err = t.Dynamic.Resource(crdResource).Delete(ctx, d.name(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete CustomResourceDefinition %s: %w", d.name(), err)
		}
	}
	// kube-apiserver deletes the objects of a definition before the definition itself, which takes time.
	waits := t.Clock.Now()
	return t.until(ctx, "the CustomResourceDefinitions to go", func() (bool, error) {
		left, err := t.definitions(ctx)
		if err != nil || len(left) == 0 {
			return err == nil, err
		}
		if t.Clock.Since(waits) > nudgePeriod {
			waits = t.Clock.Now()
			err = t.nudge(ctx, left)
		}
		return false, err
	})
}

const (
	// nudgePeriod is how long the deletion of a definition may take before it is nudged.
	nudgePeriod = 5 * time.Second
	// nudgedAnnotation is the time of the last nudge.
	nudgedAnnotation = "kruise.io/takeover-waits-since"
)

// nudge changes definitions that are being deleted, which makes kube-apiserver try again. Its controller gives up after a conflict with its
// own write, until it looks at all definitions again after some minutes.
func (t *Takeover) nudge(ctx context.Context, left []definition) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, nudgedAnnotation, t.Clock.Now().Format(time.RFC3339))
	for _, d := range left {
		_, err := t.Dynamic.Resource(crdResource).Patch(ctx, d.name(), types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("nudge CustomResourceDefinition %s: %w", d.name(), err)
		}
	}
	return nil
}
