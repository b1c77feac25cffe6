package kubectltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Write is a request that changes an object.
type Write struct {
	Method, Path, Type string
	Body               string
}

// Server is an API server in memory. Its methods may be called while a command runs.
type Server struct {
	URL string

	resources []resource
	// definitions is true if the kinds of Kruise are CustomResourceDefinitions.
	definitions bool
	// removed are resources that only discovery still lists.
	removed []string
	// lock guards the fields below it.
	lock sync.Mutex
	// version is the last resourceVersion. It grows with each write of any object.
	version  int
	objects  map[string]map[string]any
	writes   []Write
	changes  []change
	watchers []chan change
}

// change is an event of a watch, in the form in which it is sent. key and version are not sent.
type change struct {
	key     string
	version int
	Type    string         `json:"type"`
	Object  map[string]any `json:"object"`
}

// New starts a server with objects, written as YAML documents. It ends with the test. An object without a namespace
// is in the namespace default.
func New(t *testing.T, documents ...string) *Server {
	t.Helper()
	s := &Server{resources: resources(), objects: map[string]map[string]any{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.CloseClientConnections)
	s.URL = server.URL
	for _, document := range documents {
		for part := range strings.SplitSeq(document, "\n---\n") {
			s.Put(t, part)
		}
	}
	return s
}

// Prefer makes a version of the group of the workloads the preferred one.
func (s *Server) Prefer(version string) *Server {
	for i := range s.resources {
		// Only the groups of Kruise have several versions here.
		if versions := s.resources[i].versions; len(versions) > 1 {
			others := slices.DeleteFunc(slices.Clone(versions), func(v string) bool { return v == version })
			s.resources[i].versions = append([]string{version}, others...)
		}
	}
	return s
}

// Define makes the kinds of Kruise CustomResourceDefinitions with only v1alpha1, as OpenKruise has them. They refuse strategic merge
// patches.
func (s *Server) Define() *Server {
	s.definitions = true
	for i := range s.resources {
		if len(s.resources[i].versions) > 1 {
			s.resources[i].versions = []string{"v1alpha1"}
		}
	}
	return s
}

// Omit removes a resource, also from discovery, as in a release that does not have the kind.
func (s *Server) Omit(group, plural string) *Server {
	s.resources = slices.DeleteFunc(s.resources, func(r resource) bool { return r.group == group && r.plural == plural })
	return s
}

// Remove stops serving a resource that discovery still lists. A client sees that after the deletion of a CustomResourceDefinition,
// because it keeps what discovery answered for hours.
func (s *Server) Remove(group, plural string) *Server {
	s.removed = append(s.removed, group+"/"+plural)
	return s
}

// Put stores an object, written as YAML. The object becomes one of the first resource with its kind and group.
// Watches see the change.
func (s *Server) Put(t *testing.T, document string) {
	t.Helper()
	object := map[string]any{}
	encoded, err := yaml.YAMLToJSON([]byte(document))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, &object), document)
	read := unstructured.Unstructured{Object: object}
	if read.GetNamespace() == "" {
		read.SetNamespace("default")
	}
	for _, r := range s.resources {
		if r.kind == read.GetKind() && strings.HasPrefix(read.GetAPIVersion(), r.group) && (r.group != "" || read.GetAPIVersion() == "v1") &&
			(strings.Contains(r.group, ".") == strings.Contains(read.GetAPIVersion(), ".")) {
			if r.cluster {
				read.SetNamespace("")
			}
			if read.GetUID() == "" {
				read.SetUID(types.UID("uid-of-" + read.GetName()))
			}
			s.lock.Lock()
			s.store(key(r.group, r.plural, read.GetNamespace(), read.GetName()), read.Object)
			s.lock.Unlock()
			return
		}
	}
	t.Fatalf("no resource for %s %s", read.GetAPIVersion(), read.GetKind())
}

// Get returns a stored object of the namespace default, or one without a namespace. A missing object fails the test.
func (s *Server) Get(t *testing.T, group, plural, name string) *unstructured.Unstructured {
	t.Helper()
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, namespace := range []string{"default", ""} {
		if object, found := s.objects[key(group, plural, namespace, name)]; found {
			return (&unstructured.Unstructured{Object: object}).DeepCopy()
		}
	}
	t.Fatalf("no %s %s", plural, name)
	return nil
}

// Writes returns the requests that changed objects.
func (s *Server) Writes() []Write {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.writes)
}

// key returns the key of an object. An empty namespace is that of an object without one.
func key(group, plural, namespace, name string) string {
	return strings.Join([]string{group, plural, namespace, name}, "/")
}

// store keeps an object and tells watchers. The lock is held. It sets the resourceVersion.
func (s *Server) store(key string, object map[string]any) {
	s.version++
	read := unstructured.Unstructured{Object: object}
	read.SetResourceVersion(fmt.Sprint(s.version))
	kind := "MODIFIED"
	if _, found := s.objects[key]; !found {
		kind = "ADDED"
	}
	s.objects[key] = object
	event := change{key: key, version: s.version, Type: kind, Object: read.DeepCopy().Object}
	s.changes = append(s.changes, event)
	for _, watcher := range s.watchers {
		watcher <- event
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/version":
		answer(w, http.StatusOK, map[string]any{"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
	case r.URL.Path == "/api":
		answer(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		answer(w, http.StatusOK, s.groups())
	case len(parts) == 2 && parts[0] == "api":
		answer(w, http.StatusOK, s.ofVersion("", parts[1]))
	case len(parts) == 3 && parts[0] == "apis":
		answer(w, http.StatusOK, s.ofVersion(parts[1], parts[2]))
	case parts[0] == "api":
		s.serve(w, r, "", parts[1], parts[2:])
	case parts[0] == "apis" && len(parts) > 3:
		s.serve(w, r, parts[1], parts[2], parts[3:])
	default:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	}
}

// serve answers a request for objects. rest is the path after the version.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, group, version string, rest []string) {
	namespace := ""
	if len(rest) > 2 && rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	for _, candidate := range s.resources {
		if candidate.group != group || candidate.plural != rest[0] || !slices.Contains(candidate.versions, version) ||
			slices.Contains(s.removed, group+"/"+candidate.plural) {
			continue
		}
		at := request{server: s, resource: candidate, version: version, namespace: namespace}
		if len(rest) > 1 {
			at.name = rest[1]
		}
		if len(rest) > 2 {
			at.subresource = rest[2]
		}
		at.body, _ = io.ReadAll(r.Body)
		at.answer(w, r)
		return
	}
	refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

// answer writes a value in JSON.
func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}

// refuse writes an error in the form of the API.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	answer(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message,
	})
}

// matches reports whether a request's selectors select an object. Field selectors may name any field.
func matches(r *http.Request, object *unstructured.Unstructured) bool {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil || !selector.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	for term := range strings.SplitSeq(r.URL.Query().Get("fieldSelector"), ",") {
		path, want, found := strings.Cut(term, "=")
		if !found {
			continue
		}
		value, _, _ := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...)
		if fmt.Sprint(value) != strings.TrimPrefix(want, "=") {
			return false
		}
	}
	return true
}
