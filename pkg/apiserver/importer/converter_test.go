package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	appsfuzzer "kruise.io/kruise/pkg/apis/apps/fuzzer"
	policyfuzzer "kruise.io/kruise/pkg/apis/policy/fuzzer"
	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/history"
)

const largest = 1 << 20

func newConverter(t *testing.T) *Converter {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	scheme, err := apiserver.NewScheme()
	require.NoError(t, err)
	factory := apiserver.NewStorageFactory(gate, storagebackend.Config{}, runtime.ContentTypeProtobuf, serializer.NewCodecFactory(scheme))
	converter, err := NewConverter(scheme, factory, apiserver.Kinds(gate), largest)
	require.NoError(t, err)
	return converter
}

// examples returns the documents of artifacts/examples that are objects of ours, as a server returns them.
func examples(t *testing.T, c *Converter) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("../../../artifacts/examples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var found []*unstructured.Unstructured
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			text, err := yaml.YAMLToJSON(document)
			require.NoError(t, err)
			object := &unstructured.Unstructured{}
			require.NoError(t, object.UnmarshalJSON(text), file)
			if known, ours := c.kinds[object.GroupVersionKind().GroupKind()]; ours {
				found = append(found, stored(object, known.Describe().ClusterScoped))
			}
		}
	}
	return found
}

// stored sets what a server sets in a new object.
func stored(object *unstructured.Unstructured, clusterScoped bool) *unstructured.Unstructured {
	object.SetUID("0b8d64ab-0a35-4c2e-9f2d-2d3c0a5b2f11")
	object.SetCreationTimestamp(metav1.NewTime(time.Date(2023, 4, 5, 6, 7, 8, 0, time.UTC)))
	object.SetGeneration(7)
	object.SetResourceVersion("4711")
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, APIVersion: object.GetAPIVersion(), FieldsType: "FieldsV1",
		Time: new(metav1.NewTime(time.Date(2023, 4, 5, 6, 7, 8, 0, time.UTC))), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
	}})
	if !clusterScoped && object.GetNamespace() == "" {
		object.SetNamespace("default")
	}
	return object
}

func jsonOf(t *testing.T, object any) []byte {
	t.Helper()
	data, err := json.Marshal(object)
	require.NoError(t, err)
	return data
}

// read returns what a client reads of a stored object in a version.
func (c *Converter) read(t *testing.T, kind kind, value []byte, version schema.GroupVersion) map[string]any {
	t.Helper()
	hub, err := runtime.Decode(kind.codec, value)
	require.NoError(t, err)
	versioned, err := c.scheme.ConvertToVersion(hub, version)
	require.NoError(t, err)
	content := map[string]any{}
	require.NoError(t, utiljson.Unmarshal(jsonOf(t, versioned), &content))
	return content
}

// unnamed returns the differences between two objects that the changes do not name.
func unnamed(before, after map[string]any, named []Change) []Change {
	var left []Change
	paths := map[string]bool{}
	for _, change := range named {
		paths[change.Path] = true
	}
	for _, change := range compare(before, after) {
		if !paths[change.Path] {
			left = append(left, change)
		}
	}
	return left
}

// TestImportedExamplesReadAsBefore imports each example and reads it in every served version.
func TestImportedExamplesReadAsBefore(t *testing.T) {
	t.Parallel()
	c := newConverter(t)
	for _, example := range examples(t, c) {
		t.Run(example.GetKind()+" "+example.GetAPIVersion()+" "+example.GetName(), func(t *testing.T) {
			object, err := c.Convert(t.Context(), jsonOf(t, example.Object))
			require.NoError(t, err)
			assert.Equal(t, example.GetUID(), object.UID)
			for _, change := range object.Changes {
				assert.False(t, change.Lost(), "%+v", change)
			}
			kind := c.kinds[example.GroupVersionKind().GroupKind()]
			for _, version := range kind.ServedVersions() {
				after := c.read(t, kind, object.Value, version)
				metadata := after["metadata"].(map[string]any)
				for _, field := range []string{"uid", "generation", "creationTimestamp", "managedFields"} {
					assert.Equal(t, example.Object["metadata"].(map[string]any)[field], metadata[field], field)
				}
				assert.NotContains(t, metadata, "resourceVersion", "each store sets its own")
				if version == example.GroupVersionKind().GroupVersion() {
					assert.Empty(t, unnamed(example.Object, after, object.Changes))
				}
			}
		})
	}
}

// withoutRules imports objects that are not valid, so that random ones can be compared.
func (c *Converter) withoutRules(t *testing.T, data []byte, kind kind, version schema.GroupVersion) ([]byte, []Change) {
	t.Helper()
	hub, err := c.decode(data, kind)
	require.NoError(t, err)
	value, err := runtime.Encode(kind.codec, hub)
	require.NoError(t, err)
	content := map[string]any{}
	require.NoError(t, utiljson.Unmarshal(data, &content))
	changes, err := c.changes(kind, version, value, content)
	require.NoError(t, err)
	return value, changes
}

// TestImportedRandomObjectsReadAsBefore imports random objects in every version. In the version in which they were read before, they
// have the same values but for what the changes name. In the others, they are what conversion makes of them.
func TestImportedRandomObjectsReadAsBefore(t *testing.T) {
	t.Parallel()
	c := newConverter(t)
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	text := func(continuation randfill.Continue) string {
		return strings.ReplaceAll(continuation.String(0), "<<", "")
	}
	codecs := serializer.NewCodecFactory(c.scheme)
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, appsfuzzer.Funcs, policyfuzzer.Funcs,
		func(serializer.CodecFactory) []any {
			return []any{func(value *string, continuation randfill.Continue) { *value = text(continuation) }}
		}), rand.NewSource(seed), codecs)
	for _, kind := range c.kinds {
		for _, version := range kind.ServedVersions() {
			for range 20 {
				written, err := c.scheme.New(version.WithKind(kind.hub.Kind))
				require.NoError(t, err)
				filler.Fill(written)
				c.scheme.Default(written)
				written.GetObjectKind().SetGroupVersionKind(version.WithKind(kind.hub.Kind))
				data := jsonOf(t, written)
				value, changes := c.withoutRules(t, data, kind, version)
				before := map[string]any{}
				require.NoError(t, utiljson.Unmarshal(data, &before))
				require.Empty(t, unnamed(before, c.read(t, kind, value, version), changes), "%s", data)
				for _, change := range changes {
					require.False(t, change.Lost(), "%s: %+v", version.WithKind(kind.hub.Kind), change)
					require.NotContains(t, []string{"metadata.uid", "metadata.generation", "metadata.finalizers"}, change.Path)
				}
			}
		}
	}
}

// TestUnknownFieldsAreNamed imports an object with fields that this release does not have.
func TestUnknownFieldsAreNamed(t *testing.T) {
	t.Parallel()
	c := newConverter(t)
	object := cloneSet()
	require.NoError(t, unstructured.SetNestedField(object.Object, int64(3), "spec", "fromTheFuture"))
	require.NoError(t, unstructured.SetNestedField(object.Object, "x", "spec", "template", "spec", "alsoUnknown"))
	converted, err := c.Convert(t.Context(), jsonOf(t, object.Object))
	require.NoError(t, err)
	var lost []Change
	for _, change := range converted.Changes {
		if change.Lost() {
			lost = append(lost, change)
		}
	}
	assert.Equal(t, []Change{
		{Path: "spec.fromTheFuture", Before: "3"}, {Path: "spec.template.spec.alsoUnknown", Before: "x"},
	}, lost)
}

func cloneSet() *unstructured.Unstructured {
	return stored(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"replicas": int64(1), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:v1"}}},
			},
		},
		"status": map[string]any{"replicas": int64(1), "observedGeneration": int64(7), "updateRevision": "web-1", "currentRevision": "web-1"},
	}}, false)
}

// TestObjectsThatCannotBeStoredAreRefused names the field, the value and the remedy.
func TestObjectsThatCannotBeStoredAreRefused(t *testing.T) {
	t.Parallel()
	c := newConverter(t)
	for name, test := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   string
	}{
		"unknown version": {
			func(o *unstructured.Unstructured) { o.SetAPIVersion("apps.kruise.io/v1") },
			`cloneset.apps.kruise.io default/web: apiVersion: Unsupported value: "apps.kruise.io/v1": supported values: "apps.kruise.io/v1beta1", `,
		},
		"unknown kind": {func(o *unstructured.Unstructured) { o.SetKind("Rollout") }, `kind: Unsupported value: "Rollout.apps.kruise.io"`},
		"no UID":       {func(o *unstructured.Unstructured) { o.SetUID("") }, "metadata.uid: Required value: only an object that a server"},
		"no creation": {
			func(o *unstructured.Unstructured) { o.SetCreationTimestamp(metav1.Time{}) }, "metadata.creationTimestamp: Required value",
		},
		"no namespace": {func(o *unstructured.Unstructured) { o.SetNamespace("") }, "metadata.namespace: Required value"},
		"a name that is a path": {
			func(o *unstructured.Unstructured) { o.SetName("../nodeimages/x") }, `metadata.name: Invalid value: "../nodeimages/x"`,
		},
		"a namespace that is a path": {
			func(o *unstructured.Unstructured) { o.SetNamespace("a/b") }, `metadata.namespace: Invalid value: "a/b"`,
		},
		"a rule": {
			func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, int64(-1), "spec", "replicas")
			}, "spec.replicas: Invalid value: -1",
		},
		"a wrong type": {
			func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, "many", "spec", "replicas")
			}, "replicas",
		},
		"too large": {
			func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{"a": strings.Repeat("x", largest)})
			}, "Too long",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := cloneSet()
			test.change(object)
			_, err := c.Convert(t.Context(), jsonOf(t, object.Object))
			refusal, refused := errors.AsType[*Refusal](err)
			require.True(t, refused, "%v", err)
			assert.Contains(t, refusal.Error(), test.want)
		})
	}
}

// TestTerminatingObjectsKeepTheirState imports an object that waits for its finalizers.
func TestTerminatingObjectsKeepTheirState(t *testing.T) {
	t.Parallel()
	c := newConverter(t)
	object := cloneSet()
	object.SetDeletionTimestamp(new(metav1.NewTime(time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC))))
	object.SetDeletionGracePeriodSeconds(new(int64))
	object.SetFinalizers([]string{"foregroundDeletion"})
	converted, err := c.Convert(t.Context(), jsonOf(t, object.Object))
	require.NoError(t, err)
	kind := c.kinds[object.GroupVersionKind().GroupKind()]
	read := &unstructured.Unstructured{Object: c.read(t, kind, converted.Value, kind.StoredVersion())}
	assert.Equal(t, object.GetDeletionTimestamp().UTC(), read.GetDeletionTimestamp().UTC())
	assert.Equal(t, object.GetFinalizers(), read.GetFinalizers())
}

// TestStreamsMustBeComplete refuses streams whose missing objects would count as deleted.
func TestStreamsMustBeComplete(t *testing.T) {
	t.Parallel()
	c := newConverter(t)
	first := cloneSet()
	second := cloneSet()
	second.SetName("other")
	second.SetUID("other")
	line := func(object *unstructured.Unstructured) string { return string(jsonOf(t, object.Object)) + "\n" }
	same := second.DeepCopy()
	same.SetUID(types.UID(first.GetUID()))
	for name, test := range map[string]struct{ stream, want string }{
		"complete":         {line(first) + line(second) + `{"end":2}` + "\n", ""},
		"no last line":     {line(first) + line(second), "cut off after 2 objects"},
		"half a last line": {line(first) + `{"end":`, "read the last line"},
		"an object less":   {line(first) + `{"end":2}`, "has 1 objects, but its last line says 2"},
		"a name twice":     {line(first) + line(first) + `{"end":2}`, "occurs twice"},
		"a UID twice":      {line(first) + line(same) + `{"end":2}`, "has the same UID"},
		"half an object":   {line(first)[:50] + "\n" + `{"end":1}`, "object 1 of the stream: read an object"},
	} {
		objects, report, err := c.ReadAll(t.Context(), strings.NewReader(test.stream))
		if test.want != "" {
			require.ErrorContains(t, err, test.want, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Len(t, objects, 2)
		assert.Equal(t, 2, report.Objects)
		assert.Equal(t, map[string]int{"clonesets.apps.kruise.io": 2}, report.Kinds)
	}
}

// TestReportsCountWhatChanges names each changed field once for a kind.
func TestReportsCountWhatChanges(t *testing.T) {
	t.Parallel()
	c := newConverter(t)
	var stream bytes.Buffer
	for _, name := range []string{"one", "two", "refused"} {
		object := cloneSet()
		object.SetName(name)
		object.SetUID(types.UID(name))
		require.NoError(t, unstructured.SetNestedField(object.Object, "v", "spec", "fromTheFuture"))
		if name == "refused" {
			require.NoError(t, unstructured.SetNestedField(object.Object, int64(-1), "spec", "replicas"))
		}
		stream.Write(append(jsonOf(t, object.Object), '\n'))
	}
	require.NoError(t, WriteEnd(&stream, 3))
	_, report, err := c.ReadAll(t.Context(), &stream)
	require.NoError(t, err)
	require.Len(t, report.Refused, 1)
	assert.Equal(t, "cloneset.apps.kruise.io default/refused", report.Refused[0].Object)
	assert.Equal(t, []KindChange{{
		Kind: "clonesets.apps.kruise.io", Change: Change{Path: "spec.fromTheFuture", Before: "v"}, Object: "default/one", Objects: 2, Lost: true,
	}}, report.Losses())
}

// TestImportedTemplatesMakeNoRevision compares the template that a revision of before holds with the one that a controller reads. If they
// differed, a rollout would begin. The examples have no defaults, which an older release may have left out.
func TestImportedTemplatesMakeNoRevision(t *testing.T) {
	t.Parallel()
	c := newConverter(t)
	compared := 0
	for _, example := range examples(t, c) {
		before, found, err := unstructured.NestedMap(example.Object, "spec", "template")
		require.NoError(t, err)
		if _, pods, _ := unstructured.NestedSlice(before, "spec", "containers"); !found || !pods {
			continue
		}
		object, err := c.Convert(t.Context(), jsonOf(t, example.Object))
		require.NoError(t, err)
		kind := c.kinds[example.GroupVersionKind().GroupKind()]
		for _, version := range kind.ServedVersions() {
			after := c.read(t, kind, object.Value, version)
			template, _, err := unstructured.NestedMap(after, "spec", "template")
			require.NoError(t, err)
			assert.True(t, history.SamePodTemplate(revision(t, before), revision(t, template)), "%s %s", example.GetKind(), example.GetName())
			compared++
		}
	}
	assert.Greater(t, compared, 50)
}

// TestExportedClaimsAreThoseThatWereImported compares the claim templates of objects that move here and back. If they differed,
// OpenKruise would take the template of a UnitedDeployment for a new one.
func TestExportedClaimsAreThoseThatWereImported(t *testing.T) {
	t.Parallel()
	c := newConverter(t)
	withClaims := func(spec map[string]any) map[string]any {
		spec["volumeClaimTemplates"] = []any{map[string]any{
			"metadata": map[string]any{"name": "data"},
			"spec":     map[string]any{"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}}},
		}}
		return spec
	}
	clones := cloneSet()
	spec, _, err := unstructured.NestedMap(clones.Object, "spec")
	require.NoError(t, err)
	clones.Object["spec"] = withClaims(spec)
	objects := map[string]*unstructured.Unstructured{"CloneSet": clones}
	for _, template := range []string{"cloneSetTemplate", "statefulSetTemplate", "advancedStatefulSetTemplate"} {
		united := cloneSet()
		united.SetKind("UnitedDeployment")
		united.Object["status"] = map[string]any{}
		united.Object["spec"] = map[string]any{
			"selector": spec["selector"], "topology": map[string]any{"subsets": []any{map[string]any{"name": "a"}}},
			"template": map[string]any{template: map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": withClaims(map[string]any{"template": spec["template"]}),
			}},
		}
		objects[template] = united
	}
	for name, object := range objects {
		t.Run(name, func(t *testing.T) {
			resource := schema.GroupResource{Group: "apps.kruise.io", Resource: strings.ToLower(object.GetKind()) + "s"}
			converted, err := c.Convert(t.Context(), jsonOf(t, object.Object))
			require.NoError(t, err)
			data, err := c.Export(resource, converted.Value, "v1alpha1")
			require.NoError(t, err)
			exported := map[string]any{}
			require.NoError(t, utiljson.Unmarshal(data, &exported))
			assert.Equal(t, claimsIn(object.Object), claimsIn(exported))
			assert.Len(t, claimsIn(exported), 1)
		})
	}
}

// claimsIn returns the claim templates anywhere in a value, without their status, which is always there.
func claimsIn(value any) (claims []any) {
	fields, _ := value.(map[string]any)
	for key, value := range fields {
		list, found := value.([]any)
		if key != "volumeClaimTemplates" || !found {
			claims = append(claims, claimsIn(value)...)
			continue
		}
		for _, claim := range list {
			unstructured.RemoveNestedField(claim.(map[string]any), "status")
			claims = append(claims, claim)
		}
	}
	return claims
}

// revision returns a revision as OpenKruise writes it: with an empty creation time.
func revision(t *testing.T, template map[string]any) *appsv1.ControllerRevision {
	t.Helper()
	template = runtime.DeepCopyJSON(template)
	template["$patch"] = "replace"
	require.NoError(t, unstructured.SetNestedField(template, nil, "metadata", "creationTimestamp"))
	data := jsonOf(t, map[string]any{"spec": map[string]any{"template": template}})
	return &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}}
}
