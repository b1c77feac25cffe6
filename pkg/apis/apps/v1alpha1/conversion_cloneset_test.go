package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(apps.AddToScheme, v1alpha1.AddToScheme, v1beta1.AddToScheme,
		v1alpha1.RegisterDefaults, v1beta1.RegisterDefaults)
	require.NoError(t, builder.AddToScheme(scheme))
	return scheme
}

// toBeta reads as v1beta1 what v1alpha1 wrote, toAlpha the other way; both default first.
func toBeta(t *testing.T, in *v1alpha1.CloneSet) *v1beta1.CloneSet {
	t.Helper()
	scheme, hub, out := newScheme(t), &apps.CloneSet{}, &v1beta1.CloneSet{}
	scheme.Default(in)
	require.NoError(t, scheme.Convert(in, hub, nil))
	require.NoError(t, scheme.Convert(hub, out, nil))
	return out
}

func toAlpha(t *testing.T, in *v1beta1.CloneSet) *v1alpha1.CloneSet {
	t.Helper()
	scheme, hub, out := newScheme(t), &apps.CloneSet{}, &v1alpha1.CloneSet{}
	scheme.Default(in)
	require.NoError(t, scheme.Convert(in, hub, nil))
	require.NoError(t, scheme.Convert(hub, out, nil))
	return out
}

func TestUpdateStrategyToV1beta1(t *testing.T) {
	filled := func(change func(*v1beta1.RollingUpdateCloneSetStrategy)) v1beta1.CloneSetUpdateStrategy {
		rolling := &v1beta1.RollingUpdateCloneSetStrategy{
			PodUpdatePolicy: "ReCreate", Partition: new(intstr.FromInt32(0)),
			MaxUnavailable: new(intstr.FromString("20%")), MaxSurge: new(intstr.FromInt32(0)),
		}
		change(rolling)
		return v1beta1.CloneSetUpdateStrategy{Type: "RollingUpdate", RollingUpdate: rolling}
	}
	cases := map[string]struct {
		strategy v1alpha1.CloneSetUpdateStrategy
		want     v1beta1.CloneSetUpdateStrategy
	}{
		"nothing set": {
			want: filled(func(*v1beta1.RollingUpdateCloneSetStrategy) {}),
		},
		"in place": {
			strategy: v1alpha1.CloneSetUpdateStrategy{
				Type: "InPlaceOnly", Paused: true, InPlaceUpdateStrategy: &pub.InPlaceUpdateStrategy{GracePeriodSeconds: 30},
			},
			want: filled(func(rolling *v1beta1.RollingUpdateCloneSetStrategy) {
				rolling.PodUpdatePolicy, rolling.Paused = "InPlaceOnly", true
				rolling.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
			}),
		},
		"all flat fields": {
			strategy: v1alpha1.CloneSetUpdateStrategy{
				Type: "ReCreate", Partition: new(intstr.FromString("90%")), MaxUnavailable: new(intstr.FromInt32(1)),
				MaxSurge:         new(intstr.FromInt32(2)),
				PriorityStrategy: &pub.UpdatePriorityStrategy{OrderPriority: []pub.UpdatePriorityOrderTerm{{OrderedKey: "o"}}},
				ScatterStrategy:  []pub.UpdateScatterTerm{{Key: "a", Value: "b"}},
			},
			want: filled(func(rolling *v1beta1.RollingUpdateCloneSetStrategy) {
				rolling.Partition, rolling.MaxUnavailable = new(intstr.FromString("90%")), new(intstr.FromInt32(1))
				rolling.MaxSurge = new(intstr.FromInt32(2))
				rolling.PriorityStrategy = &pub.UpdatePriorityStrategy{OrderPriority: []pub.UpdatePriorityOrderTerm{{OrderedKey: "o"}}}
				rolling.ScatterStrategy = []pub.UpdateScatterTerm{{Key: "a", Value: "b"}}
			}),
		},
		"OnDelete": {
			strategy: v1alpha1.CloneSetUpdateStrategy{Type: "OnDelete"},
			want:     v1beta1.CloneSetUpdateStrategy{Type: "OnDelete"},
		},
		"OnDelete with a pace": {
			strategy: v1alpha1.CloneSetUpdateStrategy{Type: "OnDelete", MaxUnavailable: new(intstr.FromInt32(3))},
			want: func() v1beta1.CloneSetUpdateStrategy {
				strategy := filled(func(rolling *v1beta1.RollingUpdateCloneSetStrategy) {
					rolling.MaxUnavailable = new(intstr.FromInt32(3))
				})
				strategy.Type = "OnDelete"
				return strategy
			}(),
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := &v1alpha1.CloneSet{Spec: v1alpha1.CloneSetSpec{UpdateStrategy: test.strategy}}
			beta := toBeta(t, written)
			require.Equal(t, test.want, beta.Spec.UpdateStrategy)
			require.Empty(t, beta.Annotations)
			alpha := toAlpha(t, beta)
			require.Equal(t, written.Spec.UpdateStrategy, alpha.Spec.UpdateStrategy)
			require.Empty(t, alpha.Annotations, "v1alpha1 wrote it, so v1alpha1 can say it")
		})
	}
}

// Conversion alone, as of an object that is stored without defaults.
func TestUpdateStrategyWithoutDefaults(t *testing.T) {
	hubOf := func(strategy v1alpha1.CloneSetUpdateStrategy) *apps.CloneSet {
		hub := &apps.CloneSet{}
		require.NoError(t, newScheme(t).Convert(&v1alpha1.CloneSet{Spec: v1alpha1.CloneSetSpec{UpdateStrategy: strategy}}, hub, nil))
		return hub
	}
	hub := hubOf(v1alpha1.CloneSetUpdateStrategy{Type: "InPlaceOnly"})
	require.Equal(t, &apps.RollingUpdateCloneSetStrategy{PodUpdatePolicy: "InPlaceOnly"}, hub.Spec.UpdateStrategy.RollingUpdate)
	require.Nil(t, hubOf(v1alpha1.CloneSetUpdateStrategy{Type: "OnDelete"}).Spec.UpdateStrategy.RollingUpdate)
	for name, strategy := range map[string]v1alpha1.CloneSetUpdateStrategy{
		"partition":             {Partition: new(intstr.FromInt32(1))},
		"maxUnavailable":        {MaxUnavailable: new(intstr.FromInt32(1))},
		"maxSurge":              {MaxSurge: new(intstr.FromInt32(1))},
		"paused":                {Paused: true},
		"priorityStrategy":      {PriorityStrategy: &pub.UpdatePriorityStrategy{}},
		"scatterStrategy":       {ScatterStrategy: []pub.UpdateScatterTerm{{Key: "a", Value: "b"}}},
		"inPlaceUpdateStrategy": {InPlaceUpdateStrategy: &pub.InPlaceUpdateStrategy{GracePeriodSeconds: 9}},
	} {
		t.Run("OnDelete with "+name, func(t *testing.T) {
			strategy.Type = "OnDelete"
			hub, shown := hubOf(strategy), &v1alpha1.CloneSet{}
			require.NotNil(t, hub.Spec.UpdateStrategy.RollingUpdate)
			require.NoError(t, newScheme(t).Convert(hub, shown, nil))
			require.Equal(t, strategy, shown.Spec.UpdateStrategy)
		})
	}
}

func TestOnDeleteKeepsItsPolicyThroughV1alpha1(t *testing.T) {
	beta := func() *v1beta1.CloneSet {
		return &v1beta1.CloneSet{Spec: v1beta1.CloneSetSpec{UpdateStrategy: v1beta1.CloneSetUpdateStrategy{
			Type:          "OnDelete",
			RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: "InPlaceOnly", Partition: new(intstr.FromInt32(2))},
		}}}
	}
	kept := `{"v1alpha1Type":"OnDelete","type":"OnDelete","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly"}}`
	cases := map[string]struct {
		edit           func(*v1alpha1.CloneSet)
		wantType       v1beta1.CloneSetUpdateStrategyType
		wantPolicy     pub.PodUpdatePolicyType
		wantAnnotation string
	}{
		"untouched":                       {func(*v1alpha1.CloneSet) {}, "OnDelete", "InPlaceOnly", ""},
		"another field changed":           {func(c *v1alpha1.CloneSet) { c.Spec.MinReadySeconds = 9 }, "OnDelete", "InPlaceOnly", ""},
		"the type changed":                {func(c *v1alpha1.CloneSet) { c.Spec.UpdateStrategy.Type = "ReCreate" }, "RollingUpdate", "ReCreate", ""},
		"the annotation removed":          {func(c *v1alpha1.CloneSet) { c.Annotations = nil }, "OnDelete", "ReCreate", ""},
		"the annotation is foreign":       {func(c *v1alpha1.CloneSet) { c.Annotations[v1alpha1.KeptFieldsAnnotation] = "mine" }, "OnDelete", "ReCreate", "mine"},
		"annotation moved to no OnDelete": {func(c *v1alpha1.CloneSet) { c.Spec.UpdateStrategy.Type = "InPlaceIfPossible" }, "RollingUpdate", "InPlaceIfPossible", ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			alpha := toAlpha(t, beta())
			require.EqualValues(t, "OnDelete", alpha.Spec.UpdateStrategy.Type)
			require.Equal(t, intstr.FromInt32(2), *alpha.Spec.UpdateStrategy.Partition)
			require.JSONEq(t, kept, alpha.Annotations[v1alpha1.KeptFieldsAnnotation])
			test.edit(alpha)
			read := toBeta(t, alpha)
			require.Equal(t, test.wantType, read.Spec.UpdateStrategy.Type)
			require.Equal(t, test.wantPolicy, read.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy)
			require.Equal(t, test.wantAnnotation, read.Annotations[v1alpha1.KeptFieldsAnnotation])
		})
	}
}

func TestClaimReuseIsInverted(t *testing.T) {
	require.True(t, toBeta(t, &v1alpha1.CloneSet{}).Spec.ScaleStrategy.EnablePVCReuse, "v1alpha1 reuses unless told not to")
	require.True(t, toAlpha(t, &v1beta1.CloneSet{}).Spec.ScaleStrategy.DisablePVCReuse, "v1beta1 does not unless told to")

	disabled := &v1alpha1.CloneSet{Spec: v1alpha1.CloneSetSpec{ScaleStrategy: v1alpha1.CloneSetScaleStrategy{DisablePVCReuse: true}}}
	require.False(t, toBeta(t, disabled).Spec.ScaleStrategy.EnablePVCReuse)
	enabled := &v1beta1.CloneSet{Spec: v1beta1.CloneSetSpec{ScaleStrategy: v1beta1.CloneSetScaleStrategy{EnablePVCReuse: true}}}
	require.False(t, toAlpha(t, enabled).Spec.ScaleStrategy.DisablePVCReuse)
}

// A client patches the block of v1beta1 into a CloneSet, or into the template of a UnitedDeployment, that it sees in the fields of
// v1alpha1. Claims are reused as before.
func TestPatchedBlockLeavesTheReuseOfClaims(t *testing.T) {
	for _, of := range []v1alpha1.CloneSetUpdateStrategyType{"ReCreate", "InPlaceIfPossible", "InPlaceOnly"} {
		for _, disabled := range []bool{false, true} {
			stored := toBeta(t, &v1alpha1.CloneSet{Spec: v1alpha1.CloneSetSpec{
				ScaleStrategy: v1alpha1.CloneSetScaleStrategy{DisablePVCReuse: disabled}, UpdateStrategy: v1alpha1.CloneSetUpdateStrategy{Type: of},
			}})
			patched := toAlpha(t, stored)
			patched.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{Partition: new(intstr.FromInt32(2))}
			beta := toBeta(t, patched)
			require.Equal(t, !disabled, beta.Spec.ScaleStrategy.EnablePVCReuse, of)
			require.Equal(t, intstr.FromInt32(2), *beta.Spec.UpdateStrategy.RollingUpdate.Partition)

			if of == "ReCreate" {
				continue // Defaulting makes this type of none, so nobody can tell it from the form of v1beta1.
			}
			united := &v1alpha1.UnitedDeployment{}
			united.Spec.Template.CloneSetTemplate = &v1alpha1.CloneSetTemplateSpec{Spec: patched.Spec}
			shown := throughHub[v1alpha1.UnitedDeployment, v1beta1.UnitedDeployment](t, united, &apps.UnitedDeployment{})
			require.Equal(t, !disabled, shown.Spec.Template.CloneSetTemplate.Spec.ScaleStrategy.EnablePVCReuse, of)
		}
	}
}

func TestExcludePreparingDelete(t *testing.T) {
	const key = pub.CloneSetScalingExcludePreparingDeleteKey
	for name, test := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"no label":      {nil, false},
		"label true":    {map[string]string{key: "true"}, true},
		"another value": {map[string]string{key: "yes"}, false},
	} {
		t.Run("from v1alpha1: "+name, func(t *testing.T) {
			beta := toBeta(t, &v1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}})
			require.Equal(t, test.want, beta.Spec.ScaleStrategy.ExcludePreparingDelete)
			require.Equal(t, test.labels, beta.Labels)
		})
	}
	for name, test := range map[string]struct {
		labels, want map[string]string
		field        bool
	}{
		"field":                     {nil, map[string]string{key: "true"}, true},
		"field and another label":   {map[string]string{"a": "b", key: "no"}, map[string]string{"a": "b", key: "true"}, true},
		"label alone":               {map[string]string{"a": "b", key: "true"}, map[string]string{"a": "b", key: "true"}, false},
		"label without consequence": {map[string]string{key: "no"}, map[string]string{key: "no"}, false},
	} {
		t.Run("to v1alpha1: "+name, func(t *testing.T) {
			written := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}}
			written.Spec.ScaleStrategy.ExcludePreparingDelete = test.field
			before := written.DeepCopy()
			require.Equal(t, test.want, toAlpha(t, written).Labels)
			require.Equal(t, before.Labels, written.Labels, "conversion must not change what it reads")
		})
	}
}

// v1alpha1 shows fields of v1beta1 in metadata. A write through v1alpha1 that does not change these does not store them.
func TestShownMetadataIsNotStored(t *testing.T) {
	const exclude = pub.CloneSetScalingExcludePreparingDeleteKey
	number := func(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }
	cases := map[string]struct {
		edit        func(*v1alpha1.CloneSet)
		annotations map[string]string
		fields      v1beta1.InPlaceUpdateStrategy
		excludes    bool
	}{
		"untouched": {
			func(*v1alpha1.CloneSet) {}, map[string]string{timeout: "060"},
			v1beta1.InPlaceUpdateStrategy{ImagePreDownloadParallelism: number(5), ImagePreDownloadTimeoutSeconds: new(int32(60))}, true,
		},
		"changed": {
			func(c *v1alpha1.CloneSet) { c.Annotations[parallelism], c.Annotations[timeout] = "6", "70" },
			map[string]string{parallelism: "6", timeout: "70"},
			v1beta1.InPlaceUpdateStrategy{ImagePreDownloadParallelism: number(6), ImagePreDownloadTimeoutSeconds: new(int32(70))}, true,
		},
		"removed": {
			func(c *v1alpha1.CloneSet) {
				delete(c.Annotations, parallelism)
				delete(c.Annotations, timeout)
				delete(c.Labels, exclude)
			},
			map[string]string{}, v1beta1.InPlaceUpdateStrategy{}, false,
		},
		"written without what v1alpha1 read": {
			func(c *v1alpha1.CloneSet) { c.Annotations = map[string]string{parallelism: "5"} },
			map[string]string{parallelism: "5"}, v1beta1.InPlaceUpdateStrategy{ImagePreDownloadParallelism: number(5)}, true,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{timeout: "060"}}}
			written.Spec.ScaleStrategy.ExcludePreparingDelete = true
			written.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{
				PodUpdatePolicy: pub.InPlaceIfPossiblePodUpdatePolicy,
				InPlaceUpdateStrategy: &v1beta1.InPlaceUpdateStrategy{
					ImagePreDownloadParallelism: number(5), ImagePreDownloadTimeoutSeconds: new(int32(60)),
				},
			}
			alpha := toAlpha(t, written)
			require.Equal(t, "true", alpha.Labels[exclude])
			require.Equal(t, "5", alpha.Annotations[parallelism])
			require.Equal(t, "060", alpha.Annotations[timeout])
			require.JSONEq(t, `{"shown":{"`+exclude+`":"true","`+parallelism+`":"5"}}`, alpha.Annotations[v1alpha1.KeptFieldsAnnotation])
			test.edit(alpha)
			read := toBeta(t, alpha)
			require.Equal(t, test.annotations, read.Annotations)
			require.Equal(t, &test.fields, read.Spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy)
			require.Equal(t, test.excludes, read.Spec.ScaleStrategy.ExcludePreparingDelete)
		})
	}
}

// Anybody may write the annotation; it says no more than v1beta1 could.
func TestKeptFieldsWrittenByHand(t *testing.T) {
	cases := map[string]struct {
		text   string
		tuned  bool
		policy pub.PodUpdatePolicyType
	}{
		"block without other settings": {`{"v1alpha1Type":"OnDelete","type":"OnDelete","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly"}}`, false, "InPlaceOnly"},
		"no block, though settings":    {`{"v1alpha1Type":"OnDelete","type":"OnDelete"}`, true, "ReCreate"},
		"for another type":             {`{"v1alpha1Type":"ReCreate","type":"OnDelete","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly"}}`, true, "ReCreate"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := &v1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.KeptFieldsAnnotation: test.text}}}
			written.Spec.UpdateStrategy.Type, written.Spec.UpdateStrategy.Paused = "OnDelete", test.tuned
			read := toBeta(t, written)
			require.EqualValues(t, "OnDelete", read.Spec.UpdateStrategy.Type)
			require.Equal(t, test.policy, read.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy)
			require.Empty(t, read.Annotations)
		})
	}
}
