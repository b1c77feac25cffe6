package apiserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const examples = "../../artifacts/examples"

// example is one document of an example file.
type example struct {
	file string
	data []byte
	// content is the object as written in the file.
	content unstructured.Unstructured
}

func (e *example) String() string {
	return filepath.Base(e.file) + ": " + e.content.GetKind() + " " + e.content.GetName()
}

// readExamples reads every document of every example file.
func readExamples(t testing.TB) []*example {
	t.Helper()
	files, err := filepath.Glob(examples + "/*.yaml")
	require.NoError(t, err)
	var found []*example
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
			one := &example{file: file, data: document}
			require.NoError(t, yaml.Unmarshal(document, &one.content.Object), file)
			found = append(found, one)
		}
	}
	require.NotEmpty(t, found)
	return found
}

// TestExamplesAreValid decodes each example strictly, as the server does, and validates it with the rules of its
// kind. Objects of other groups are only decoded.
func TestExamplesAreValid(t *testing.T) {
	w := newWorld(t)
	strict := serializer.NewCodecFactory(w.scheme, serializer.EnableStrict).UniversalDecoder()
	core := serializer.NewCodecFactory(clientscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, example := range readExamples(t) {
		version := example.content.GroupVersionKind().GroupVersion()
		if !GroupNames().Has(version.Group) {
			_, err := runtime.Decode(core, example.data)
			assert.NoError(t, err, example)
			continue
		}
		object, err := runtime.Decode(strict, example.data)
		if !assert.NoError(t, err, example) {
			continue
		}
		kind := w.find(object)
		require.NotNil(t, kind, "%s: no group has this kind", example)
		accessor, err := meta.Accessor(object)
		require.NoError(t, err)
		genericrest.FillObjectMetaSystemFields(accessor)
		assert.NoError(t, genericrest.BeforeCreate(kind.main, kind.request(t, version), object), example)
	}
}

// TestExamplesGoTogether checks that all examples can be applied in one namespace. No two may have the same name or
// select each other's Pods, and the local cluster must have their images.
func TestExamplesGoTogether(t *testing.T) {
	seen := map[string]string{}
	once := func(what string, of *example) {
		assert.Empty(t, seen[what], "%s has the %s of another example", of, what)
		seen[what] = of.String()
	}
	for _, example := range readExamples(t) {
		kind := schema.GroupKind{Group: example.content.GroupVersionKind().Group, Kind: example.content.GetKind()}
		once(kind.String()+" "+example.content.GetName(), example)
		if app, found, _ := unstructured.NestedString(example.content.Object, "spec", "template", "metadata", "labels", "app"); found {
			once("label app "+app, example)
		}
		for _, image := range textsAt(example.content.Object, "image") {
			assert.True(t, strings.HasPrefix(image, "kruise.local/"), "%s: %s", example, image)
		}
	}
}

// textsAt returns the strings under a key anywhere in the tree.
func textsAt(tree any, key string) (found []string) {
	switch node := tree.(type) {
	case map[string]any:
		if text, ok := node[key].(string); ok {
			found = append(found, text)
		}
		for _, child := range node {
			found = append(found, textsAt(child, key)...)
		}
	case []any:
		for _, child := range node {
			found = append(found, textsAt(child, key)...)
		}
	}
	return found
}

// TestEveryKindHasAnExample reports kinds without an example. Users copy the examples, and other tests over all kinds start from them.
func TestEveryKindHasAnExample(t *testing.T) {
	w := newWorld(t)
	shown := map[schema.GroupKind]bool{}
	for _, example := range readExamples(t) {
		shown[example.content.GroupVersionKind().GroupKind()] = true
	}
	for _, kind := range w.kinds {
		assert.True(t, shown[kind.hub.GroupKind()], "%s has no example in artifacts/examples", kind.hub.Kind)
	}
}
