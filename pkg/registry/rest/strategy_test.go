package rest

import (
	"cmp"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The registry has no kind of its own, so its tests use a core kind.
type sample = corev1.ReplicationController

func newKind() *Kind[*sample] {
	problem := func(name string) field.ErrorList { return field.ErrorList{field.Required(field.NewPath(name), "")} }
	return &Kind[*sample]{
		Plural: "samples", Singular: "sample", Stored: schema.GroupVersion{Group: "g", Version: "v2"},
		Served:         []schema.GroupVersion{{Group: "g", Version: "v1"}, {Group: "g", Version: "v2"}},
		Spec:           func(s *sample) any { return &s.Spec },
		Status:         func(s *sample) any { return &s.Status },
		Default:        func(s, _ *sample) { s.Spec.MinReadySeconds = max(s.Spec.MinReadySeconds, 1) },
		Validate:       func(*sample) field.ErrorList { return problem("create") },
		ValidateUpdate: func(*sample, *sample) field.ErrorList { return problem("update") },
		ValidateStatus: func(*sample, *sample) field.ErrorList { return problem("status") },
		ErrorsIn: func(version string, errs field.ErrorList) field.ErrorList {
			errs[0].Field = version + "." + errs[0].Field
			return errs
		},
		Columns: []Column[*sample]{
			{Name: "WANTED", Type: "integer", Value: func(s *sample) any { return int64(*s.Spec.Replicas) }},
			Age[*sample](),
			{Name: "EXTRA", Type: "string", Wide: true, Value: func(*sample) any { return "x" }},
		},
		Scale: &Scale[*sample]{
			Replicas:    func(s *sample) int32 { return *s.Spec.Replicas },
			SetReplicas: func(s *sample, n int32) { s.Spec.Replicas = &n },
			Current:     func(s *sample) int32 { return s.Status.Replicas },
			Selector:    func(s *sample) *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: s.Spec.Selector} },
		},
	}
}

func newSample() *sample {
	return &sample{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Generation: 4, UID: "uid", ResourceVersion: "7", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.ReplicationControllerSpec{Replicas: ptr.To[int32](2), MinReadySeconds: 1, Selector: map[string]string{"app": "demo"}},
		Status:     corev1.ReplicationControllerStatus{Replicas: 3},
	}
}

func TestCreateStartsWithoutAStatus(t *testing.T) {
	obj := newSample()
	obj.Spec.MinReadySeconds = 0
	newKind().strategy(nil).PrepareForCreate(t.Context(), obj)
	assert.Zero(t, obj.Status)
	assert.Equal(t, int64(1), obj.Generation)
	assert.Equal(t, int32(1), obj.Spec.MinReadySeconds, "defaulted")
}

func TestUpdateCountsGenerations(t *testing.T) {
	tests := map[string]struct {
		change func(*sample)
		want   int64
	}{
		"nothing":                    {func(*sample) {}, 4},
		"labels":                     {func(s *sample) { s.Labels = nil }, 4},
		"status":                     {func(s *sample) { s.Status.Replicas = 9 }, 4},
		"a generation of their own":  {func(s *sample) { s.Generation = 99 }, 4},
		"what the default puts back": {func(s *sample) { s.Spec.MinReadySeconds = 0 }, 4},
		"spec":                       {func(s *sample) { s.Spec.Replicas = ptr.To[int32](9) }, 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			obj := newSample()
			test.change(obj)
			newKind().strategy(nil).PrepareForUpdate(t.Context(), obj, newSample())
			assert.Equal(t, test.want, obj.Generation)
			assert.Equal(t, newSample().Status, obj.Status)
		})
	}
}

func TestStatusUpdateTakesTheStatusAlone(t *testing.T) {
	obj := newSample()
	obj.Spec.Replicas, obj.Labels, obj.Generation, obj.Status.Replicas = ptr.To[int32](9), nil, 9, 9
	obj.Annotations, obj.Finalizers = map[string]string{"a": "b"}, []string{"f"}
	(&statusStrategy[*sample]{newKind().strategy(nil)}).PrepareForUpdate(t.Context(), obj, newSample())
	want := newSample()
	want.Status.Replicas = 9
	assert.Equal(t, want, obj)
}

func TestErrorsHaveTheRequestsVersion(t *testing.T) {
	ctx := genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{APIVersion: "v1"})
	main := newKind().strategy(nil)
	status := &statusStrategy[*sample]{main}
	assert.Equal(t, "v1.create", main.Validate(ctx, newSample())[0].Field)
	assert.Equal(t, "v1.update", main.ValidateUpdate(ctx, newSample(), newSample())[0].Field)
	assert.Equal(t, "v1.status", status.ValidateUpdate(ctx, newSample(), newSample())[0].Field)
	assert.Equal(t, "create", main.Validate(t.Context(), newSample())[0].Field)

	main.kind.Validate = func(*sample) field.ErrorList { return nil }
	assert.Empty(t, main.Validate(ctx, newSample()), "there is nothing to say in another version")
}

// TestUnservableValuesAreRefused uses such a value in the old object, in the new one, or in both.
func TestUnservableValuesAreRefused(t *testing.T) {
	main := newKind().strategy(nil)
	status := &statusStrategy[*sample]{main}
	with := func(text string) *sample {
		obj := newSample()
		obj.Annotations = map[string]string{"a": text}
		return obj
	}
	const where = "metadata.annotations[a]"
	for name, test := range map[string]struct{ stored, written, want string }{
		"new":       {"x", "\xff", where},
		"another":   {"\xfe", "\xff", where},
		"as it was": {"\xff", "\xff", ""},
		"mended":    {"\xff", "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for rules, errs := range map[string]field.ErrorList{
				"update": main.ValidateUpdate(t.Context(), with(test.written), with(test.stored)),
				"status": status.ValidateUpdate(t.Context(), with(test.written), with(test.stored)),
			} {
				require.Len(t, errs, 1, "the rules of a change are asked when all values are good")
				assert.Equal(t, cmp.Or(test.want, rules), errs[0].Field)
			}
		})
	}
	require.Len(t, main.Validate(t.Context(), with("\xff")), 1)
	assert.Equal(t, where, main.Validate(t.Context(), with("\xff"))[0].Field)
}

func TestResetFieldsOfEveryVersion(t *testing.T) {
	main := newKind().strategy(nil)
	status := &statusStrategy[*sample]{main}
	for _, version := range []fieldpath.APIVersion{"g/v1", "g/v2"} {
		assert.True(t, main.GetResetFields()[version].Has(fieldpath.MakePathOrDie("status")))
		assert.True(t, status.GetResetFields()[version].Has(fieldpath.MakePathOrDie("spec")))
		assert.False(t, status.GetResetFields()[version].Has(fieldpath.MakePathOrDie("status")))
	}
}

func TestTable(t *testing.T) {
	convertor := &tableConvertor[*sample]{kind: newKind()}
	list := &corev1.ReplicationControllerList{ListMeta: metav1.ListMeta{ResourceVersion: "5", Continue: "c"}, Items: []sample{*newSample(), *newSample()}}
	table, err := convertor.ConvertToTable(t.Context(), list, nil)
	require.NoError(t, err)
	assert.Equal(t, "5", table.ResourceVersion)
	assert.Equal(t, "c", table.Continue)
	require.Len(t, table.Rows, 2)
	assert.Equal(t, []any{"demo", int64(2), "<unknown>", "x"}, table.Rows[0].Cells)
	require.Len(t, table.ColumnDefinitions, 4)
	assert.Equal(t, int32(1), table.ColumnDefinitions[3].Priority)

	table, err = convertor.ConvertToTable(t.Context(), newSample(), &metav1.TableOptions{})
	require.NoError(t, err)
	assert.Len(t, table.ColumnDefinitions, 4)
	table, err = convertor.ConvertToTable(t.Context(), newSample(), &metav1.TableOptions{NoHeaders: true})
	require.NoError(t, err)
	assert.Empty(t, table.ColumnDefinitions)
	assert.Equal(t, "7", table.ResourceVersion)

	_, err = convertor.ConvertToTable(t.Context(), &corev1.Pod{}, nil)
	assert.Error(t, err)
}

func TestScaleCarriesChangesBothWays(t *testing.T) {
	tests := map[string]struct {
		change func(*autoscalingv1.Scale)
		failed func(error) bool
	}{
		"more":              {change: func(s *autoscalingv1.Scale) { s.Spec.Replicas = 5 }},
		"fewer than none":   {func(s *autoscalingv1.Scale) { s.Spec.Replicas = -1 }, apierrors.IsInvalid},
		"of another object": {func(s *autoscalingv1.Scale) { s.UID = "other" }, apierrors.IsConflict},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var shown *autoscalingv1.Scale
			info := genericrest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
				shown = old.DeepCopyObject().(*autoscalingv1.Scale)
				test.change(shown)
				return shown, nil
			})
			scaled, err := (&scaledObjectInfo[*sample]{scaleREST: newScaleREST(newKind(), nil), info: info, name: "demo"}).
				UpdatedObject(t.Context(), newSample())
			if test.failed != nil {
				assert.True(t, test.failed(err), "%v", err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, autoscalingv1.ScaleStatus{Replicas: 3, Selector: "app=demo"}, shown.Status)
			want := newSample()
			want.Spec.Replicas = ptr.To[int32](5)
			want.ManagedFields = scaled.(*sample).ManagedFields
			assert.Equal(t, want, scaled)
		})
	}
}

func TestScaleOfAMissingObject(t *testing.T) {
	info := &scaledObjectInfo[*sample]{scaleREST: newScaleREST(newKind(), nil), name: "demo"}
	_, err := info.UpdatedObject(t.Context(), &sample{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestUpdateKeepsWhatAVersionCannotSay(t *testing.T) {
	kind := newKind()
	kind.Keep = func(version string, obj, old *sample) {
		if version == "v1" {
			obj.Spec.Selector = old.Spec.Selector
		}
	}
	for version, want := range map[string]map[string]string{"v1": {"app": "demo"}, "v2": nil} {
		old, obj := newSample(), newSample()
		obj.Spec.Selector = nil
		ctx := genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{APIVersion: version})
		kind.strategy(nil).PrepareForUpdate(ctx, obj, old)
		assert.Equal(t, want, obj.Spec.Selector, version)
		assert.Equal(t, want == nil, obj.Generation > old.Generation, "what is kept is no change")
	}
}

// A kind without hooks, and a request without information, skip the optional steps.
func TestKindsWithoutHooks(t *testing.T) {
	plain, full := newKind(), newKind()
	plain.Default, plain.ErrorsIn = nil, nil
	full.Keep = func(string, *sample, *sample) { assert.Fail(t, "no version is known") }
	full.StatusInMetadata = full.Keep
	info := genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{APIVersion: "v1"})
	for ctx, kind := range map[context.Context]*Kind[*sample]{info: plain, t.Context(): full} {
		main := kind.strategy(nil)
		main.PrepareForCreate(ctx, newSample())
		updated := newSample()
		updated.Status.Replicas = 9
		main.PrepareForUpdate(ctx, updated, newSample())
		assert.EqualValues(t, 3, updated.Status.Replicas)
		updated.Status.Replicas = 9
		(&statusStrategy[*sample]{main}).PrepareForUpdate(ctx, updated, newSample())
		assert.EqualValues(t, 9, updated.Status.Replicas)
		assert.Equal(t, "create", main.Validate(ctx, newSample())[0].Field)
		assert.Empty(t, main.WarningsOnUpdate(ctx, updated, newSample()))
	}
}

func TestWarningsOfAKind(t *testing.T) {
	kind := newKind()
	kind.Warnings = func(_ context.Context, _, old *sample) []string {
		if old == nil {
			return []string{"new"}
		}
		return []string{"changed"}
	}
	main := kind.strategy(nil)
	assert.Contains(t, main.WarningsOnCreate(t.Context(), newSample()), "new")
	assert.Equal(t, []string{"changed"}, main.WarningsOnUpdate(t.Context(), newSample(), newSample()))
	assert.Empty(t, (&statusStrategy[*sample]{main}).WarningsOnUpdate(t.Context(), newSample(), newSample()))
}

func TestWarningForKindsWithoutAController(t *testing.T) {
	for controlled, want := range map[bool]int{false: 1, true: 0} {
		kind := newKind()
		kind.Controlled = controlled
		warnings := kind.strategy(nil).WarningsOnCreate(t.Context(), newSample())
		require.Len(t, warnings, want)
		if want > 0 {
			assert.Contains(t, warnings[0], kind.Resource().String()+" is stored, but no controller reconciles it yet")
		}
	}
}
