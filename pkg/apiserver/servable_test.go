package apiserver

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// spoil maps a type to a value that protobuf can carry and JSON cannot.
var spoil = map[reflect.Type]reflect.Value{
	reflect.TypeFor[intstr.IntOrString]():   reflect.ValueOf(intstr.IntOrString{Type: 7}),
	reflect.TypeFor[metav1.Time]():          reflect.ValueOf(metav1.Unix(1<<40, 0)),
	reflect.TypeFor[metav1.MicroTime]():     reflect.ValueOf(metav1.MicroTime{Time: time.Unix(1<<40, 0)}),
	reflect.TypeFor[runtime.RawExtension](): reflect.ValueOf(runtime.RawExtension{Raw: []byte("{")}),
	reflect.TypeFor[metav1.FieldsV1]():      reflect.ValueOf(*metav1.NewFieldsV1("{")),
}

// TestWhatJSONCannotShowIsRefused puts each such value into an object that has every field, in each version. It sends
// the object as protobuf and checks that each write names the path of the value.
func TestWhatJSONCannotShowIsRefused(t *testing.T) {
	w := newWorld(t)
	codecs, err := checkBodies(w.scheme, w.codecs)
	require.NoError(t, err)
	info, found := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	require.True(t, found)
	for i := range w.kinds {
		kind := &w.kinds[i]
		bodies := codecs.DecoderToVersion(info.StrictSerializer, kind.hub.GroupVersion())
		for _, version := range kind.ServedVersions() {
			t.Run(kind.hub.Kind+" in "+version.Version, func(t *testing.T) {
				t.Parallel()
				sent := w.sent(t, version.WithKind(kind.hub.Kind))
				require.NotEmpty(t, placesOf(sent), "metadata has times")
				_, err := runtime.Decode(bodies, w.encoded(t, version, sent))
				require.NoError(t, err)
				stored := w.received(t, w.encoded(t, version, sent))
				for n, path := range placesOf(sent) {
					spoilt := sent.DeepCopyObject()
					spoilPlaces(spoilt, func(i int) bool { return i == n })
					body := w.encoded(t, version, spoilt)
					_, err := runtime.Decode(bodies, body)
					require.ErrorContains(t, err, path+": Invalid value", "the body")
					kind.wantRefused(t, version, w.received(t, body), stored, path)
				}
			})
		}
	}
}

// TestWhatJSONCannotShowMayStay checks that such values are accepted if they are already stored.
func TestWhatJSONCannotShowMayStay(t *testing.T) {
	w := newWorld(t)
	for _, kind := range w.kinds {
		version := kind.StoredVersion()
		sent := w.sent(t, version.WithKind(kind.hub.Kind))
		spoilPlaces(sent, func(int) bool { return true })
		stored := w.received(t, w.encoded(t, version, sent))
		updated := stored.DeepCopyObject()
		updated.(metav1.Object).SetLabels(map[string]string{"changed": "label"})
		ctx := kind.request(t, version)
		kind.main.PrepareForUpdate(ctx, updated, stored)
		named := fields(kind.main.ValidateUpdate(ctx, updated, stored))
		for _, path := range placesOf(sent) {
			assert.NotContains(t, named, path, kind.hub.Kind)
		}
	}
}

// wantRefused creates the spoilt object and also updates a valid one with it.
func (k *kind) wantRefused(t *testing.T, version schema.GroupVersion, spoilt, stored runtime.Object, path string) {
	t.Helper()
	ctx := k.request(t, version)
	if inStatus := strings.HasPrefix(path, "status."); !inStatus {
		created := spoilt.DeepCopyObject()
		k.main.PrepareForCreate(ctx, created)
		assert.Contains(t, fields(k.main.Validate(ctx, created)), path, "create")
		updated := spoilt.DeepCopyObject()
		k.main.PrepareForUpdate(ctx, updated, stored)
		assert.Contains(t, fields(k.main.ValidateUpdate(ctx, updated, stored)), path, "update")
	} else {
		reported := spoilt.DeepCopyObject()
		k.status.PrepareForUpdate(ctx, reported, stored)
		assert.Contains(t, fields(k.status.ValidateUpdate(ctx, reported, stored)), path, "/status")
	}
}

// sent returns an object with every field set, in the version of a client.
func (w *world) sent(t *testing.T, kind schema.GroupVersionKind) runtime.Object {
	t.Helper()
	object, err := w.scheme.New(kind)
	require.NoError(t, err)
	require.NoError(t, w.scheme.Convert(w.stored(t, kind), object, nil))
	accessor := object.(metav1.Object)
	accessor.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: kind.GroupVersion().String(),
		Time: &metav1.Time{Time: time.Unix(1, 0)}, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}"),
	}})
	return object
}

// encoded returns the protobuf body that a client sends. received returns what the server decodes from it.
func (w *world) encoded(t *testing.T, version schema.GroupVersion, object runtime.Object) []byte {
	t.Helper()
	data, err := runtime.Encode(w.codecs.EncoderForVersion(w.protobuf, version), object)
	require.NoError(t, err)
	return data
}

func (w *world) received(t *testing.T, body []byte) runtime.Object {
	t.Helper()
	hub, err := runtime.Decode(w.codecs.UniversalDecoder(), body)
	require.NoError(t, err)
	return hub
}

// spoilPlaces spoils the chosen places of placesOf.
func spoilPlaces(object runtime.Object, chosen func(int) bool) {
	next := 0
	visit(nil, reflect.ValueOf(object).Elem(), func(_ *field.Path, value reflect.Value) {
		if chosen(next) {
			value.Set(spoil[value.Type()])
		}
		next++
	})
}

// placesOf returns the paths of the values that can be spoilt, in the order of visit.
func placesOf(object runtime.Object) (paths []string) {
	visit(nil, reflect.ValueOf(object).Elem(), func(path *field.Path, _ reflect.Value) { paths = append(paths, path.String()) })
	return paths
}

// visit calls show for each value that can be spoilt, always in the same order. The order is fixed because every map
// has one entry here.
func visit(path *field.Path, value reflect.Value, show func(*field.Path, reflect.Value)) {
	if _, found := spoil[value.Type()]; found {
		show(path, value)
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			visit(path, value.Elem(), show)
		}
	case reflect.Slice:
		for i := range value.Len() {
			visit(path.Index(i), value.Index(i), show)
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			entry := reflect.New(value.Type().Elem()).Elem()
			entry.Set(value.MapIndex(key))
			visit(path.Key(key.String()), entry, show)
			value.SetMapIndex(key, entry)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			switch name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ","); name {
			case "":
				visit(path, value.Field(i), show)
			case "-":
			default:
				visit(path.Child(name), value.Field(i), show)
			}
		}
	default:
	}
}
