package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// pageSize is how many objects one request reads. An object can be large, so a page stays well below the limits of a
// response.
const pageSize = 500

// each calls do for each object of a resource, in all namespaces, page by page. An error of do ends it. The object is
// only valid during the call.
func (t *Takeover) each(ctx context.Context, resource schema.GroupVersionResource, do func(*unstructured.Unstructured) error) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := t.Dynamic.Resource(resource).List(ctx, options)
		if err != nil {
			return fmt.Errorf("list %s: %w", resource.GroupResource(), err)
		}
		for i := range page.Items {
			if err := do(&page.Items[i]); err != nil {
				return err
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// key names an object of any kind. It does not have the UID, so that it finds the same name on both sides.
type key struct {
	Resource        schema.GroupResource
	Namespace, Name string
}

func (k key) String() string {
	return k.Resource.String() + " " + types.NamespacedName{Namespace: k.Namespace, Name: k.Name}.String()
}

// sent are the resource versions of the objects that were sent to the store. Two of them are equal if no object
// changed, appeared or disappeared in between.
type sent map[key]string

// send writes all old objects to the stream of an import, in the version in which they are stored. Definitions that
// are closed are read by the take-over version, and their objects get the stored version again. The last line has the
// count.
func (t *Takeover) send(ctx context.Context, all []definition, to io.Writer) (sent, error) {
	seen, encoder := sent{}, json.NewEncoder(to)
	for _, d := range all {
		version := d.storage
		if before, err := d.closed(); err != nil {
			return nil, err
		} else if before != nil {
			version = Version
		}
		err := t.each(ctx, d.resource(version), func(object *unstructured.Unstructured) error {
			seen[keyOf(d, object)] = object.GetResourceVersion()
			object.SetAPIVersion(d.group + "/" + d.storage)
			return encoder.Encode(object.Object)
		})
		if err != nil {
			return nil, err
		}
	}
	return seen, encoder.Encode(map[string]int{"end": len(seen)})
}

// keyOf returns the key of an object of the definition.
func keyOf(d definition, object *unstructured.Unstructured) key {
	return key{schema.GroupResource{Group: d.group, Resource: d.plural}, object.GetNamespace(), object.GetName()}
}

// report is what `kruise-apiserver store import` prints. The type importer.Report describes most of the fields.
type report struct {
	// Objects and Bytes count what the import stores. SpaceBytes is the space of the store before the import, or negative if
	// etcd does not say.
	Objects    int            `json:"objects"`
	Bytes      int64          `json:"bytes"`
	SpaceBytes int64          `json:"spaceBytes"`
	Kinds      map[string]int `json:"kinds"`
	// MemoryBytes is what the import used beside the server, and MemoryLimit is the limit for both, or 0.
	MemoryBytes int64 `json:"memoryBytes"`
	MemoryLimit int64 `json:"memoryLimit"`
	// Refused are objects that this release cannot store. The import writes nothing if there is one.
	Refused []struct {
		Object   string   `json:"object"`
		Problems []string `json:"problems"`
	} `json:"refused"`
	// Changes are the fields that clients read differently after the take-over. Only lost values stop the import.
	Changes []struct {
		Kind    string `json:"kind"`
		Path    string `json:"path"`
		Before  string `json:"before"`
		After   string `json:"after"`
		Object  string `json:"object"`
		Objects int    `json:"objects"`
		Lost    bool   `json:"lost"`
	} `json:"changes"`
	// Done is nil if nothing was imported, such as after a dry run.
	Done *struct {
		Written   int `json:"written"`
		Unchanged int `json:"unchanged"`
		Deleted   int `json:"deleted"`
	} `json:"done"`
}

// importAll sends all old objects to the store. The objects are read while the store takes them, so they are never
// all in memory. It returns what was sent, and the report if the store printed one, also together with an error.
func (t *Takeover) importAll(ctx context.Context, all []definition, args ...string) (sent, *report, error) {
	// The decision about lost values is made by the import, which knows them.
	if t.AcceptLoss {
		args = append(args, "--accept-loss")
	}
	reader, writer := io.Pipe()
	type sending struct {
		seen sent
		err  error
	}
	sends := make(chan sending, 1)
	// The reader of the pipe is the import. It reads while the objects are listed.
	go func() {
		seen, err := t.send(ctx, all, writer)
		// An error of the sender must reach the store as a broken stream, and never as its end.
		writer.CloseWithError(err)
		sends <- sending{seen, err}
	}()
	out, err := t.Store.Run(ctx, reader, append([]string{"import", "-"}, args...)...)
	// If the command ended early, the sender must not wait for a reader.
	_ = reader.CloseWithError(io.ErrClosedPipe)
	// The sender has ended, so seen is complete.
	result := <-sends
	if result.err != nil && err == nil {
		err = result.err
	}
	printed := &report{}
	// A command that failed early prints no report; its own error is the better one then.
	if decoded := json.Unmarshal(out, printed); decoded != nil {
		if err == nil {
			err = fmt.Errorf("read the report of the import %q: %w", out, decoded)
		}
		return nil, nil, err
	}
	return result.seen, printed, err
}

// show prints the report for a person. Defaults and other forms are for information; refused and lost values stop an
// import.
func (t *Takeover) show(r *report) {
	for _, refused := range r.Refused {
		for _, problem := range refused.Problems {
			t.say("  refused: %s: %s", refused.Object, problem)
		}
	}
	for _, change := range r.Changes {
		switch {
		case change.Lost:
			t.say("  lost: %s of %d %s, such as %q in %s", change.Path, change.Objects, change.Kind, change.Before, change.Object)
		// The object had no value, so the new one is a default.
		case change.Before == "":
			t.say("  default: %s is %q in %d %s", change.Path, change.After, change.Objects, change.Kind)
		default:
			t.say("  other form: %s of %d %s, such as %q, now %q in %s", change.Path, change.Objects, change.Kind, change.Before, change.After,
				change.Object)
		}
	}
	space := "which does not say how much space it has"
	if r.SpaceBytes >= 0 {
		space = fmt.Sprintf("which has space for %d bytes", r.SpaceBytes)
	}
	t.say("  %d objects, %d bytes in the store, %s", r.Objects, r.Bytes, space)
	limit := "which has no limit"
	if r.MemoryLimit > 0 {
		limit = fmt.Sprintf("which may use %d bytes in all", r.MemoryLimit)
	}
	t.say("  the import used %d bytes of memory beside the server, in a container %s", r.MemoryBytes, limit)
}

// removeFinalizers removes all finalizers of an old object. No server serves it to their controllers, so these cannot remove them.
func (t *Takeover) removeFinalizers(ctx context.Context, client dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	if len(object.GetFinalizers()) == 0 {
		return nil
	}
	patch := func() error {
		_, err := client.Patch(ctx, object.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		return err
	}
	err := patch()
	if isNamespaceMissing(err) {
		err = t.inNamespace(ctx, object.GetNamespace(), patch)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// isNamespaceMissing returns true if kube-apiserver refused a write because the namespace of the object does not exist.
func isNamespaceMissing(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Group == "" && details.Kind == namespaceResource.Resource
}

// inNamespace creates a namespace, calls do, and deletes the namespace. Old objects can outlive their namespace: the
// deletion of a namespace deletes only the objects in kruise-apiserver. A namespace that somebody else has created stays.
func (t *Takeover) inNamespace(ctx context.Context, name string, do func() error) error {
	namespaces := t.Dynamic.Resource(namespaceResource)
	wanted := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	wanted.SetName(name)
	made, err := namespaces.Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return do()
	}
	if err != nil {
		return fmt.Errorf("create namespace %s for its old objects: %w", name, err)
	}
	uid := made.GetUID()
	done := do()
	err = namespaces.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return errors.Join(done, fmt.Errorf("delete namespace %s again: %w", name, err))
	}
	return done
}
