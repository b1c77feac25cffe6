package takeover

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// sample returns the definition of CloneSets, with a version that is no longer served.
func sample(versions ...string) *unstructured.Unstructured {
	var list, stored []any
	for i, version := range versions {
		list = append(list, map[string]any{
			"name": version, "served": version != "v1alpha0", "storage": i == 0, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		})
		stored = append(stored, version)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "clonesets.apps.kruise.io", "annotations": map[string]any{"mine": "stays"}},
		"spec": map[string]any{
			"group": "apps.kruise.io", "names": map[string]any{"plural": "clonesets", "kind": "CloneSet"}, "versions": list,
			"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []any{"v1"}}},
		},
		"status": map[string]any{"storedVersions": stored},
	}}
}

// served returns which versions are served.
func servedVersions(d definition) map[string]bool {
	served := map[string]bool{}
	for _, version := range d.list() {
		served[version["name"].(string)] = version["served"].(bool)
	}
	return served
}

// TestClosedDefinitionsOpenAsTheyWere closes a definition, so that only the take-over version is served, and opens it again. Both are repeated.
func TestClosedDefinitionsOpenAsTheyWere(t *testing.T) {
	t.Parallel()
	object := sample("v1beta1", "v1alpha1", "v1alpha0")
	before := object.DeepCopy()
	d := parse(object)
	changed, err := d.close()
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, map[string]bool{"v1beta1": false, "v1alpha1": false, "v1alpha0": false, Version: true}, servedVersions(d))
	assert.NotContains(t, object.Object["spec"], "conversion", "the old manager no longer converts")
	again := parse(object.DeepCopy())
	assert.Equal(t, []string{"v1beta1", "v1alpha1", "v1alpha0"}, again.versions)
	assert.Equal(t, "v1beta1", again.storage)
	changed, err = again.close()
	require.NoError(t, err)
	assert.False(t, changed)

	shut := parse(object.DeepCopy())
	changed, err = shut.shut()
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, map[string]bool{"v1beta1": false, "v1alpha1": false, "v1alpha0": false, Version: false}, servedVersions(shut))
	changed, err = shut.shut()
	require.NoError(t, err)
	assert.False(t, changed)

	changed, err = again.open()
	require.NoError(t, err)
	assert.True(t, changed)
	_, err = again.shut()
	require.ErrorContains(t, err, "still serves its objects", "a definition that is open again")
	assert.Equal(t, before.Object, again.object.Object)
	changed, err = again.open()
	require.NoError(t, err)
	assert.False(t, changed)
}

// TestDefinitionsThatCannotBeTakenOverAreRefused names the field, the value and the remedy.
func TestDefinitionsThatCannotBeTakenOverAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		versions []string
		change   func(*unstructured.Unstructured)
		want     string
	}{
		"fine": {versions: []string{"v1alpha1"}},
		"a version that is not served here": {
			versions: []string{"v2", "v1beta1"}, want: `spec.versions has "v2", which this release does not serve: use a release that does`,
		},
		"two stored versions that only the manager converts": {
			versions: []string{"v1beta1", "v1alpha1"}, want: `status.storedVersions is ["v1beta1" "v1alpha1"], and only the old manager converts`,
		},
		"two stored versions without conversion": {
			versions: []string{"v1beta1", "v1alpha1"},
			change:   func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "conversion") },
		},
		"a deletion": {
			versions: []string{"v1alpha1"},
			change:   func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(new(metav1.Now())) }, want: "has been in deletion since",
		},
	} {
		object := sample(test.versions...)
		if test.change != nil {
			test.change(object)
		}
		d := parse(object)
		if err := checkDefinition(&d); test.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, test.want, name)
		}
	}
}

// TestOnlyWrittenFieldsDiffer compares what a client wrote, and not what a server set.
func TestOnlyWrittenFieldsDiffer(t *testing.T) {
	t.Parallel()
	old := sample("v1")
	now := old.DeepCopy()
	now.SetUID("other")
	now.SetResourceVersion("9")
	now.SetGeneration(3)
	annotate(old, "other")
	assert.False(t, differs(old, now))
	assert.True(t, sameObject(old, now), "an earlier attempt has created it")
	now.SetLabels(map[string]string{"a": "b"})
	assert.True(t, differs(old, now))
	assert.False(t, sameObject(sample("v1"), now))
}
