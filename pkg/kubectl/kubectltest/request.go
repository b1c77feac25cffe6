package kubectltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kubectl/pkg/scheme"
)

// request is a request for the objects of a resource.
type request struct {
	server                                *Server
	resource                              resource
	version, namespace, name, subresource string
	body                                  []byte
}

// answer answers a request for objects. A watch does not hold the lock, because it lasts as long as the client wants.
// Writes are recorded, except for dry runs.
func (q *request) answer(w http.ResponseWriter, r *http.Request) {
	s := q.server
	// Informers ask for the existing objects by a watch first. After this answer they list, as with an older server.
	if r.URL.Query().Get("sendInitialEvents") != "" {
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is not supported: list, and then watch")
		return
	}
	if r.Method == http.MethodGet && r.URL.Query().Get("watch") != "" {
		q.watch(w, r)
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if r.Method != http.MethodGet && r.URL.Query().Get("dryRun") == "" {
		s.writes = append(s.writes, Write{Method: r.Method, Path: r.URL.Path, Type: r.Header.Get("Content-Type"), Body: string(q.body)})
	}
	switch {
	case s.definitions && strings.HasSuffix(q.resource.group, ".kruise.io") &&
		types.PatchType(r.Header.Get("Content-Type")) == types.StrategicMergePatchType:
		refuse(w, http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "the body of the request was in an unknown format")
	case q.name == "" && r.Method == http.MethodGet:
		q.list(w, r)
	case q.name == "" && r.Method == http.MethodPost:
		q.create(w, r)
	default:
		q.one(w, r)
	}
}

// key returns the key of an object in the namespace of the request.
func (q *request) key(name string) string {
	return key(q.resource.group, q.resource.plural, q.namespace, name)
}

// shown returns an object in the version of the request.
func (q *request) shown(object map[string]any) map[string]any {
	copied := (&unstructured.Unstructured{Object: object}).DeepCopy()
	copied.SetAPIVersion(groupVersion(q.resource.group, q.version))
	return copied.Object
}

// selected returns the objects that the request selects, in the order of their keys. Without a namespace, it selects
// all.
func (q *request) selected(r *http.Request) (items []any) {
	prefix := key(q.resource.group, q.resource.plural, "", "")
	if q.namespace != "" {
		prefix = q.key("")
	}
	var keys []string
	for key := range q.server.objects {
		if strings.HasPrefix(key, strings.TrimSuffix(prefix, "/")) {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	items = []any{}
	for _, key := range keys {
		object := q.server.objects[key]
		if matches(r, &unstructured.Unstructured{Object: object}) {
			items = append(items, q.shown(object))
		}
	}
	return items
}

// list answers with the current version, at which a watch can begin.
func (q *request) list(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"kind": q.resource.kind + "List", "apiVersion": groupVersion(q.resource.group, q.version),
		"metadata": map[string]any{"resourceVersion": fmt.Sprint(q.server.version)}, "items": q.selected(r),
	})
}

// create stores an object with a UID that follows from its name, so tests know it.
func (q *request) create(w http.ResponseWriter, r *http.Request) {
	object := map[string]any{}
	if err := json.Unmarshal(q.body, &object); err != nil {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	read := unstructured.Unstructured{Object: object}
	read.SetNamespace(q.namespace)
	read.SetUID(types.UID("uid-of-" + read.GetName()))
	q.keep(r, read.GetName(), object)
	answer(w, http.StatusCreated, q.shown(object))
}

// keep stores an object unless the request is a dry run.
func (q *request) keep(r *http.Request, name string, object map[string]any) {
	if r.URL.Query().Get("dryRun") == "" {
		q.server.store(q.key(name), object)
	}
}

// one answers a request for one object or its subresource.
func (q *request) one(w http.ResponseWriter, r *http.Request) {
	object, found := q.server.objects[q.key(q.name)]
	switch {
	case !found:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound,
			fmt.Sprintf("%s %q not found", schema.GroupResource{Group: q.resource.group, Resource: q.resource.plural}, q.name))
	case q.subresource == "log":
		_, _ = io.WriteString(w, "log of "+q.name+"\n")
	case q.subresource == "scale":
		q.scale(w, r, object)
	case r.Method == http.MethodGet:
		answer(w, http.StatusOK, q.shown(object))
	default:
		q.change(w, r, object)
	}
}

// change answers an update or a patch. It checks the resourceVersion as a real server does.
func (q *request) change(w http.ResponseWriter, r *http.Request, object map[string]any) {
	changed, err := q.changed(r, q.shown(object))
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
		return
	}
	// Without a resourceVersion in the request, the object has its own, and the write is unconditional.
	given := (&unstructured.Unstructured{Object: changed}).GetResourceVersion()
	if given != "" && given != (&unstructured.Unstructured{Object: object}).GetResourceVersion() {
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified")
		return
	}
	q.keep(r, q.name, changed)
	answer(w, http.StatusOK, q.shown(changed))
}

// changed returns an object after the request. The content type says which patch it is; without one, the body
// replaces the object.
func (q *request) changed(r *http.Request, object map[string]any) (map[string]any, error) {
	before, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	after := q.body
	// A PUT has another content type, and its body is the new object.
	switch types.PatchType(r.Header.Get("Content-Type")) {
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, q.body)
	case types.JSONPatchType:
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch(q.body); err == nil {
			after, err = patch.Apply(before)
		}
	case types.StrategicMergePatchType:
		gvk := schema.GroupVersionKind{Group: q.resource.group, Version: q.version, Kind: q.resource.kind}
		typed, unknown := scheme.Scheme.New(gvk)
		if unknown != nil {
			return nil, unknown
		}
		after, err = strategicpatch.StrategicMergePatch(before, q.body, typed)
	default:
	}
	if err != nil {
		return nil, err
	}
	changed := map[string]any{}
	return changed, json.Unmarshal(after, &changed)
}

// scale answers requests for the subresource scale. Every kind with it keeps its replicas in spec.replicas.
func (q *request) scale(w http.ResponseWriter, r *http.Request, object map[string]any) {
	replicas, _, _ := unstructured.NestedFieldCopy(object, "spec", "replicas")
	scale := map[string]any{
		"kind": "Scale", "apiVersion": "autoscaling/v1",
		"metadata": map[string]any{"name": q.name, "namespace": q.namespace}, "spec": map[string]any{"replicas": replicas},
	}
	if r.Method != http.MethodGet {
		changed, err := q.changed(r, scale)
		if err != nil {
			refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
			return
		}
		scale = changed
		wanted, _, _ := unstructured.NestedFieldCopy(scale, "spec", "replicas")
		copied := q.shown(object)
		_ = unstructured.SetNestedField(copied, wanted, "spec", "replicas")
		q.keep(r, q.name, copied)
	}
	answer(w, http.StatusOK, scale)
}

// watch sends the changes after the version of the request, and then each change, of the selected objects. Past
// changes are sent from memory, so a watch can begin at any version.
func (q *request) watch(w http.ResponseWriter, r *http.Request) {
	s := q.server
	changes := make(chan change, 100)
	s.lock.Lock()
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	for _, event := range s.changes {
		if event.version > since {
			changes <- event
		}
	}
	s.watchers = append(s.watchers, changes)
	s.lock.Unlock()
	defer func() {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.watchers = slices.DeleteFunc(s.watchers, func(other chan change) bool { return other == changes })
	}()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-changes:
			if !strings.HasPrefix(event.key, strings.TrimSuffix(q.key(""), "/")) || !matches(r, &unstructured.Unstructured{Object: event.Object}) {
				continue
			}
			event.Object = q.shown(event.Object)
			_ = json.NewEncoder(w).Encode(event)
			w.(http.Flusher).Flush()
		}
	}
}
