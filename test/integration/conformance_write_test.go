//go:build integration

package integration

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

var dryRun = []string{metav1.DryRunAll}

// checkCreateAndGet checks that the stored object has all fields of the example.
func checkCreateAndGet(t *testing.T, k *kind) {
	written := k.object("created")
	created := k.create(t, "created")
	assert.Equal(t, int64(1), created.GetGeneration())
	assert.NotEmpty(t, created.GetUID())
	assert.NotZero(t, created.GetCreationTimestamp())
	for _, at := range leaves(written.Object["spec"], leaf{"spec"}) {
		if want := at.get(written.Object); want != nil {
			assert.Equal(t, want, at.get(created.Object), at.String())
		}
	}
	assert.Equal(t, created, k.get(t, "created"))
}

// checkCreateAgain refuses a second object with the same name, and requests for names that do not exist.
func checkCreateAgain(t *testing.T, k *kind) {
	created := k.create(t, "taken")
	_, err := k.client().Create(t.Context(), k.object("taken"), metav1.CreateOptions{})
	assert.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	_, err = k.client().Update(t.Context(), k.object("nobody"), metav1.UpdateOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = k.client().Get(t.Context(), k.name("nobody"), metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	assert.Equal(t, created, k.get(t, "taken"))
}

// checkGeneration changes a field of the spec, and a field outside of it. If the spec of a kind is immutable, the server must
// refuse the change.
func checkGeneration(t *testing.T, k *kind) {
	created := k.create(t, "counted")
	labelled, err := k.client().Update(t.Context(), withLabel(created, "a", "b"), metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, int64(1), labelled.GetGeneration(), "a label is not of the spec")
	for _, at := range leaves(labelled.Object["spec"], leaf{"spec"}) {
		value, ok := changed(at.get(labelled.Object))
		if !ok {
			continue
		}
		updated := labelled.DeepCopy()
		at.set(updated.Object, value)
		updated, err = k.client().Update(t.Context(), updated, metav1.UpdateOptions{})
		if err == nil {
			t.Logf("changed %s to %v", at, value)
			assert.Equal(t, int64(2), updated.GetGeneration())
			return
		}
		require.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err), "%v", err)
	}
	assert.ErrorContains(t, err, "immutable", "no field of the spec can change")
}

// checkConflict updates and deletes an object that has changed since it was read.
func checkConflict(t *testing.T, k *kind) {
	stale := k.create(t, "contended")
	fresh, err := k.client().Update(t.Context(), withLabel(stale, "by", "one"), metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, stale.GetResourceVersion(), fresh.GetResourceVersion())
	_, err = k.client().Update(t.Context(), withLabel(stale, "by", "another"), metav1.UpdateOptions{})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	_, err = k.client().UpdateStatus(t.Context(), stale, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	same, err := k.client().Update(t.Context(), fresh, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, fresh.GetResourceVersion(), same.GetResourceVersion(), "no change, no write")

	stored := stale.GetResourceVersion()
	err = k.client().Delete(t.Context(), stale.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &stored}})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	assert.Equal(t, "one", k.get(t, "contended").GetLabels()["by"])
}

// checkPatches uses each type of patch that built-in kinds support, except server-side apply.
func checkPatches(t *testing.T, k *kind) {
	created := k.create(t, "patched")
	for kind, body := range map[types.PatchType]string{
		types.JSONPatchType:           `[{"op":"add","path":"/metadata/labels/patched","value":"json"}]`,
		types.MergePatchType:          `{"metadata":{"labels":{"patched":"merge"}}}`,
		types.StrategicMergePatchType: `{"metadata":{"labels":{"patched":"strategic"}}}`,
	} {
		patched, err := k.client().Patch(t.Context(), created.GetName(), kind, []byte(body), metav1.PatchOptions{})
		require.NoError(t, err, kind)
		assert.Contains(t, body, patched.GetLabels()["patched"])
		assert.Equal(t, k.run, patched.GetLabels()[runLabel], "the others stay")
		assert.Equal(t, created.Object["spec"], patched.Object["spec"])
	}
	failed := []byte(`[{"op":"test","path":"/metadata/labels/patched","value":"never"},{"op":"remove","path":"/metadata/labels"}]`)
	_, err := k.client().Patch(t.Context(), created.GetName(), types.JSONPatchType, failed, metav1.PatchOptions{})
	assert.Error(t, err)
	assert.NotEmpty(t, k.get(t, "patched").GetLabels())
	old := []byte(`{"metadata":{"resourceVersion":"` + created.GetResourceVersion() + `","labels":{"a":"b"}}}`)
	_, err = k.client().Patch(t.Context(), created.GetName(), types.MergePatchType, old, metav1.PatchOptions{})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
}

// checkApply lets two managers apply the same field, in different versions if the kind has two.
func checkApply(t *testing.T, k *kind) {
	one := withLabel(withLabel(k.object("applied"), "color", "blue"), "mine", "yes")
	apply := func(object *unstructured.Unstructured, manager string, force bool) (*unstructured.Unstructured, error) {
		version := object.GroupVersionKind().Version
		return k.in(version).Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: manager, Force: force})
	}
	applied, err := apply(one, "one", false)
	require.NoError(t, err)
	again, err := apply(one, "one", false)
	require.NoError(t, err)
	assert.Equal(t, applied.GetResourceVersion(), again.GetResourceVersion(), "the same again changes nothing")

	for _, version := range k.versions() {
		two := &unstructured.Unstructured{}
		two.SetGroupVersionKind(k.gvk.GroupKind().WithVersion(version))
		two.SetName(one.GetName())
		two.SetLabels(map[string]string{"color": "red-in-" + version})
		_, err = apply(two, "from-"+version, false)
		require.True(t, apierrors.IsConflict(err), "%v", err)
		assert.ErrorContains(t, err, ".metadata.labels.color")
		forced, err := apply(two, "from-"+version, true)
		require.NoError(t, err)
		assert.Equal(t, "red-in-"+version, forced.GetLabels()["color"])
		assert.Equal(t, []string{"from-" + version}, managers(t, forced, "f:color"))
	}

	fewer := one.DeepCopy()
	fewer.SetLabels(map[string]string{runLabel: k.run})
	after, err := apply(fewer, "one", false)
	require.NoError(t, err)
	assert.NotContains(t, after.GetLabels(), "mine", "what its only owner leaves out goes")
	assert.Contains(t, after.GetLabels(), "color", "what another owns stays")
	assert.Equal(t, applied.Object["spec"], after.Object["spec"])
}

// managers returns the owners of a field, regardless of its path.
func managers(t *testing.T, object *unstructured.Unstructured, field string) []string {
	t.Helper()
	var names []string
	for _, entry := range object.GetManagedFields() {
		var owned map[string]any
		require.NoError(t, json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned))
		if has(owned, field) {
			names = append(names, entry.Manager)
		}
	}
	return names
}

func has(tree map[string]any, key string) bool {
	for name, child := range tree {
		below, _ := child.(map[string]any)
		if name == key || has(below, key) {
			return true
		}
	}
	return false
}

// checkDryRun sends every write as a dry run and checks that nothing changed.
func checkDryRun(t *testing.T, k *kind) {
	client := k.client()
	_, err := client.Create(t.Context(), k.object("imagined"), metav1.CreateOptions{DryRun: dryRun})
	require.NoError(t, err)
	_, err = client.Get(t.Context(), k.name("imagined"), metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)

	created := k.create(t, "unharmed")
	updated, err := client.Update(t.Context(), withLabel(created, "a", "b"), metav1.UpdateOptions{DryRun: dryRun})
	require.NoError(t, err)
	assert.Equal(t, "b", updated.GetLabels()["a"], "the answer shows what would be")
	_, err = client.Patch(t.Context(), created.GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: dryRun})
	require.NoError(t, err)
	_, err = client.Apply(t.Context(), created.GetName(), withLabel(k.object("unharmed"), "a", "b"), metav1.ApplyOptions{FieldManager: "one", Force: true, DryRun: dryRun})
	require.NoError(t, err)
	require.NoError(t, client.Delete(t.Context(), created.GetName(), metav1.DeleteOptions{DryRun: dryRun}))
	require.NoError(t, client.DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: dryRun}, metav1.ListOptions{LabelSelector: k.selector()}))
	assert.Equal(t, created, k.get(t, "unharmed"))
}

// checkVersions writes an object in each version after it was written in another, and checks that no field is lost.
func checkVersions(t *testing.T, k *kind) {
	first := k.create(t, "in-"+k.gvk.Version)
	for _, version := range k.versions() {
		if version == k.gvk.Version {
			continue
		}
		other, err := k.in(version).Get(t.Context(), first.GetName(), metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, first.GetUID(), other.GetUID())
		_, err = k.in(version).Update(t.Context(), withLabel(other, "through", version), metav1.UpdateOptions{})
		require.NoError(t, err)
		back, err := k.client().Get(t.Context(), first.GetName(), metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, version, back.GetLabels()["through"])
		assert.Equal(t, first.Object["spec"], back.Object["spec"], "%s, written as %s, read as %s", k.gvk.Version, version, k.gvk.Version)
		assert.Equal(t, first.GetGeneration(), back.GetGeneration())

		written := k.converted(t, k.object("in-"+version), version)
		created, err := k.in(version).Create(t.Context(), written, metav1.CreateOptions{})
		require.NoError(t, err)
		read, err := k.client().Get(t.Context(), written.GetName(), metav1.GetOptions{})
		require.NoError(t, err)
		_, err = k.client().Update(t.Context(), withLabel(read, "through", k.gvk.Version), metav1.UpdateOptions{})
		require.NoError(t, err)
		after, err := k.in(version).Get(t.Context(), written.GetName(), metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, created.Object["spec"], after.Object["spec"], "%s, written as %s, read as %s", version, k.gvk.Version, version)
	}
}
