//go:build integration

package integration

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// checkStatus checks that a write to /status does not change the spec, and that other writes do not change the status.
func checkStatus(t *testing.T, k *kind) {
	probe := k.create(t, "probed")
	reported := k.status(t, probe)
	at := leaves(reported, leaf{"status"})[0]
	want := at.get(map[string]any{"status": reported})

	object := k.object("reported")
	object.Object["status"] = reported
	created, err := k.client().Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, want, at.get(created.Object), "a create does not set the status")
	assert.Empty(t, managers(t, created, "f:status"))

	meddling := withLabel(created, "through", "status")
	meddling.Object["status"] = reported
	for _, place := range leaves(meddling.Object["spec"], leaf{"spec"}) {
		if value, ok := changed(place.get(meddling.Object)); ok {
			place.set(meddling.Object, value)
			break
		}
	}
	updated, err := k.client().UpdateStatus(t.Context(), meddling, metav1.UpdateOptions{FieldManager: "controller"})
	require.NoError(t, err)
	assert.Equal(t, want, at.get(updated.Object), at.String())
	assert.Equal(t, created.Object["spec"], updated.Object["spec"], "/status leaves the spec alone")
	assert.Equal(t, created.GetLabels(), updated.GetLabels())
	assert.Equal(t, created.GetGeneration(), updated.GetGeneration())
	assert.Equal(t, []string{"controller"}, managers(t, updated, "f:status"))
	assert.NotContains(t, managers(t, updated, "f:labels"), "controller", "what it could not change")

	forged := withLabel(updated, "through", "spec")
	value, _ := changed(want)
	at.set(forged.Object, value)
	after, err := k.client().Update(t.Context(), forged, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, updated.Object["status"], after.Object["status"], "the main resource leaves the status alone")
	assert.Equal(t, "spec", after.GetLabels()["through"])
}

// status returns a status with one field: the first that the server accepts.
func (k *kind) status(t *testing.T, object *unstructured.Unstructured) map[string]any {
	t.Helper()
	typed, err := k.scheme.New(k.gvk)
	require.NoError(t, err)
	status, ok := reflect.TypeOf(typed).Elem().FieldByName("Status")
	require.True(t, ok, "%s has a status", k.gvk)
	for field := range status.Type.Fields() {
		value := sample(field.Type)
		if value == nil {
			continue
		}
		reported := object.DeepCopy()
		reported.Object["status"] = map[string]any{jsonName(field): value}
		answer, err := k.client().UpdateStatus(t.Context(), reported, metav1.UpdateOptions{DryRun: dryRun})
		if err != nil {
			continue // It has rules that a sample does not meet.
		}
		if at := leaves(value, leaf{"status", jsonName(field)})[0]; at.get(answer.Object) == at.get(reported.Object) {
			return map[string]any{jsonName(field): value}
		}
	}
	require.Fail(t, "nothing in the status that the test can write")
	return nil
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

var (
	writesJSON = reflect.TypeFor[json.Marshaler]()
	writesText = reflect.TypeFor[encoding.TextMarshaler]()
)

// sample returns a value of a type, or nil for types with a special format. It leaves out lists of lists.
func sample(of reflect.Type) any {
	if pointer := reflect.PointerTo(of); pointer.Implements(writesJSON) || pointer.Implements(writesText) {
		return nil
	}
	switch of.Kind() {
	case reflect.Int64, reflect.Int32:
		return int64(3)
	case reflect.String:
		return "a"
	case reflect.Slice:
		if element := sample(of.Elem()); element != nil {
			return []any{element}
		}
	case reflect.Struct:
		values := map[string]any{}
		for field := range of.Fields() {
			value := sample(field.Type)
			if value != nil && jsonName(field) != "" && field.Type.Kind() != reflect.Slice {
				values[jsonName(field)] = value
			}
		}
		if len(values) > 0 {
			return values
		}
	default:
	}
	return nil
}

// checkScale reads and changes the replicas, if the kind has /scale.
func checkScale(t *testing.T, k *kind) {
	created := k.create(t, "scaled")
	scale, err := k.client().Get(t.Context(), created.GetName(), metav1.GetOptions{}, "scale")
	if !k.about.Scales {
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
		return
	}
	require.NoError(t, err)
	at := leaf{"spec", "replicas"}
	wanted, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	require.NoError(t, err)
	assert.Equal(t, "autoscaling/v1", scale.GetAPIVersion())
	assert.Equal(t, at.get(created.Object), wanted)
	selector, _, err := unstructured.NestedString(scale.Object, "status", "selector")
	require.NoError(t, err)
	assert.NotEmpty(t, selector, "autoscalers need it")

	at.set(scale.Object, wanted+3)
	scaled, err := k.client().Update(t.Context(), scale, metav1.UpdateOptions{}, "scale")
	require.NoError(t, err)
	after := k.get(t, "scaled")
	assert.Equal(t, wanted+3, at.get(after.Object))
	assert.Equal(t, scaled.GetResourceVersion(), after.GetResourceVersion())
	assert.Equal(t, created.GetGeneration()+1, after.GetGeneration())

	_, err = k.client().Update(t.Context(), scale, metav1.UpdateOptions{}, "scale")
	assert.True(t, apierrors.IsConflict(err), "an old resourceVersion: %v", err)
	at.set(scaled.Object, int64(-1))
	_, err = k.client().Update(t.Context(), scaled, metav1.UpdateOptions{}, "scale")
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
}
