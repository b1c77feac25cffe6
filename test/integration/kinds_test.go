//go:build integration

package integration

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/yaml"

	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/registry/rest"
)

// runLabel marks the objects of one run of the conformance test, because cluster-scoped objects of all runs share one space.
const runLabel = "conformance"

// kind is a kind under test and its namespace.
type kind struct {
	rest.AnyKind
	about rest.Description
	// gvk is that of the example. Objects are written in its version.
	gvk     schema.GroupVersionKind
	scheme  *runtime.Scheme
	example *unstructured.Unstructured
	// run is the value of runLabel.
	run string
	// namespace is empty for cluster-scoped kinds.
	namespace string

	// examples are the examples of all kinds, including kinds of Kubernetes.
	examples map[schema.GroupKind]*unstructured.Unstructured
	clients  dynamic.Interface
	metadata metadata.Interface
}

// kinds returns all registered kinds.
func kinds(t *testing.T) []*kind {
	t.Helper()
	scheme, err := apiserver.NewScheme()
	require.NoError(t, err)
	clients, err := dynamic.NewForConfig(env.config)
	require.NoError(t, err)
	metadataClient, err := metadata.NewForConfig(env.config)
	require.NoError(t, err)
	examples := shortestExamples(t)
	var all []*kind
	for _, registered := range apiserver.Kinds(env.gate) {
		hubs, _, err := scheme.ObjectKinds(registered.NewObject())
		require.NoError(t, err)
		example := examples[hubs[0].GroupKind()]
		require.NotNil(t, example, "%s has no example in artifacts/examples", hubs[0])
		all = append(all, &kind{
			AnyKind: registered, about: registered.Describe(), gvk: example.GroupVersionKind(), scheme: scheme, example: example,
			examples: examples, clients: clients, metadata: metadataClient,
		})
	}
	return all
}

// shortestExamples returns the shortest document of each kind in artifacts/examples.
func shortestExamples(t *testing.T) map[schema.GroupKind]*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("../../artifacts/examples/*.yaml")
	require.NoError(t, err)
	found, length := map[schema.GroupKind]*unstructured.Unstructured{}, map[schema.GroupKind]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, file)
			text, err := yaml.YAMLToJSON(document)
			require.NoError(t, err, file)
			object := &unstructured.Unstructured{}
			require.NoError(t, object.UnmarshalJSON(text), file)
			kind := object.GroupVersionKind().GroupKind()
			if found[kind] == nil || len(document) < length[kind] {
				found[kind], length[kind] = object, len(document)
			}
		}
	}
	return found
}

// resource returns the resource of the kind in a version.
func (k *kind) resource(version string) schema.GroupVersionResource {
	return k.Resource().WithVersion(version)
}

// in returns the client of the kind in a version.
func (k *kind) in(version string) dynamic.ResourceInterface {
	if k.about.ClusterScoped {
		return k.clients.Resource(k.resource(version))
	}
	return k.clients.Resource(k.resource(version)).Namespace(k.namespace)
}

// client returns the client of the kind in the version of the example.
func (k *kind) client() dynamic.ResourceInterface { return k.in(k.gvk.Version) }

// path returns the URL of the objects of the kind in a version.
func (k *kind) path(version string) string {
	path := "/apis/" + k.gvk.Group + "/" + version
	if !k.about.ClusterScoped {
		path += "/namespaces/" + k.namespace
	}
	return path + "/" + k.Resource().Resource
}

// selector returns the label selector of the objects of this run.
func (k *kind) selector() string { return runLabel + "=" + k.run }

// object returns the example with the name. Its selectors and targets also contain the name, because several objects with the same
// selectors or targets would conflict.
func (k *kind) object(name string) *unstructured.Unstructured {
	object := k.example.DeepCopy()
	object.SetName(k.name(name))
	object.SetNamespace(k.namespace)
	object.SetLabels(map[string]string{runLabel: k.run})
	distinguish(object.Object["spec"], "-"+name)
	return object
}

// name returns a name that is unique in the cluster.
func (k *kind) name(name string) string {
	if k.about.ClusterScoped {
		return k.run + "-" + name
	}
	return name
}

// distinguish appends to the values of labels that select or are selected, and to the names of targets.
func distinguish(tree any, suffix string) {
	switch node := tree.(type) {
	case []any:
		for _, child := range node {
			distinguish(child, suffix)
		}
	case map[string]any:
		for key, child := range node {
			values, ok := child.(map[string]any)
			switch {
			case ok && (key == "matchLabels" || key == "labels"):
				for label, value := range values {
					if text, ok := value.(string); ok {
						values[label] = text + suffix
					}
				}
			case ok && (key == "targetRef" || key == "targetReference"):
				if name, ok := values["name"].(string); ok {
					values["name"] = name + suffix
				}
			default:
				distinguish(child, suffix)
			}
		}
	}
}

// converted returns the object as a user would write it in another version, which may have other defaults.
func (k *kind) converted(t *testing.T, object *unstructured.Unstructured, version string) *unstructured.Unstructured {
	t.Helper()
	from, err := k.scheme.New(k.gvk)
	require.NoError(t, err)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, from))
	k.scheme.Default(from)
	hub, err := k.scheme.ConvertToVersion(from, schema.GroupVersion{Group: k.gvk.Group, Version: runtime.APIVersionInternal})
	require.NoError(t, err)
	to, err := k.scheme.ConvertToVersion(hub, schema.GroupVersion{Group: k.gvk.Group, Version: version})
	require.NoError(t, err)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(to)
	require.NoError(t, err)
	return &unstructured.Unstructured{Object: content}
}

// create creates the example with the name.
func (k *kind) create(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	created, err := k.client().Create(t.Context(), k.object(name), metav1.CreateOptions{})
	require.NoError(t, err)
	return created
}

// free removes the finalizers that the API gives to new objects of some kinds. Their controllers, which remove them after a deletion, do
// not run.
func (k *kind) free(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	body := []byte(`{"metadata":{"finalizers":null}}`)
	_, err := k.client().Patch(t.Context(), object.GetName(), types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(t, err)
}

// get reads the object in the version of the example.
func (k *kind) get(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	got, err := k.client().Get(t.Context(), k.name(name), metav1.GetOptions{})
	require.NoError(t, err)
	return got
}

// versions returns the names of the served versions.
func (k *kind) versions() []string {
	var names []string
	for _, version := range k.ServedVersions() {
		names = append(names, version.Version)
	}
	return names
}

// withLabel returns a copy of the object with one more label.
func withLabel(object *unstructured.Unstructured, key, value string) *unstructured.Unstructured {
	object = object.DeepCopy()
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	object.SetLabels(labels)
	return object
}

// leaf is the path of a value in an object.
type leaf []any

// get returns the value at the path.
func (l leaf) get(tree any) any {
	for _, step := range l {
		switch node := tree.(type) {
		case map[string]any:
			tree = node[step.(string)]
		case []any:
			tree = node[step.(int)]
		}
	}
	return tree
}

// set changes the value at the path.
func (l leaf) set(tree, value any) {
	last := len(l) - 1
	switch node := l[:last].get(tree).(type) {
	case map[string]any:
		node[l[last].(string)] = value
	case []any:
		node[l[last].(int)] = value
	}
}

func (l leaf) String() string {
	var text strings.Builder
	for _, step := range l {
		switch step := step.(type) {
		case string:
			text.WriteString("." + step)
		case int:
			text.WriteString("[]")
		}
	}
	return text.String()
}

// leaves returns the paths of all values below a path, in a fixed order.
func leaves(tree any, at leaf) []leaf {
	var found []leaf
	switch node := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			found = append(found, leaves(node[key], append(slices.Clone(at), key))...)
		}
	case []any:
		for i, child := range node {
			found = append(found, leaves(child, append(slices.Clone(at), i))...)
		}
	default:
		found = append(found, at)
	}
	return found
}

// changed returns another value of the same type, or false if it knows none.
func changed(value any) (any, bool) {
	switch value := value.(type) {
	case int64:
		return value + 1, true
	case bool:
		return !value, true
	case string:
		_, err := time.Parse(time.RFC3339, value)
		return value + "x", err != nil
	default:
		return nil, false
	}
}
