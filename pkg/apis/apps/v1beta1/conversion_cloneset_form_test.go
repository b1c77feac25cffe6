package v1beta1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// written returns the CloneSet as a client reads it that has written it.
func written(t *testing.T, in *v1beta1.CloneSet) *v1beta1.CloneSet {
	t.Helper()
	scheme, hub, out := runtime.NewScheme(), &apps.CloneSet{}, &v1beta1.CloneSet{}
	builder := runtime.NewSchemeBuilder(apps.AddToScheme, v1beta1.AddToScheme, v1beta1.RegisterDefaults)
	require.NoError(t, builder.AddToScheme(scheme))
	scheme.Default(in)
	before := in.DeepCopy()
	require.NoError(t, scheme.Convert(in, hub, nil))
	require.Equal(t, before, in, "conversion must not change what it reads")
	require.NoError(t, scheme.Convert(hub, out, nil))
	return out
}

// A CloneSet with the fields of v1alpha1 means the same, and is shown with the fields of v1beta1.
func TestCloneSetInTheFormOfV1alpha1(t *testing.T) {
	type (
		strategy = v1beta1.CloneSetUpdateStrategy
		rolling  = v1beta1.RollingUpdateCloneSetStrategy
	)
	filled := func(change func(*rolling)) strategy {
		block := &rolling{
			PodUpdatePolicy: "ReCreate", Partition: new(intstr.FromInt32(0)),
			MaxUnavailable: new(intstr.FromString("20%")), MaxSurge: new(intstr.FromInt32(0)),
		}
		change(block)
		return strategy{Type: "RollingUpdate", RollingUpdate: block}
	}
	priority := &pub.UpdatePriorityStrategy{OrderPriority: []pub.UpdatePriorityOrderTerm{{OrderedKey: "a"}}}
	scatter := []pub.UpdateScatterTerm{{Key: "a", Value: "b"}}
	for name, test := range map[string]struct{ written, want strategy }{
		"only a type": {
			strategy{Type: "InPlaceIfPossible"},
			filled(func(b *rolling) {
				b.PodUpdatePolicy, b.InPlaceUpdateStrategy = "InPlaceIfPossible", &v1beta1.InPlaceUpdateStrategy{}
			}),
		},
		"all fields": {
			strategy{
				Type: "InPlaceOnly", Partition: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(2)),
				MaxSurge: new(intstr.FromInt32(3)), Paused: new(true), PriorityStrategy: priority, ScatterStrategy: scatter,
				InPlaceUpdateStrategy: &pub.InPlaceUpdateStrategy{GracePeriodSeconds: 4},
			},
			strategy{Type: "RollingUpdate", RollingUpdate: &rolling{
				PodUpdatePolicy: "InPlaceOnly", Partition: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(2)),
				MaxSurge: new(intstr.FromInt32(3)), Paused: true, PriorityStrategy: priority, ScatterStrategy: scatter,
				InPlaceUpdateStrategy: &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 4},
			}},
		},
		"fields beside the block replace those in it": {
			strategy{
				Type: "RollingUpdate", Partition: new(intstr.FromInt32(5)), Paused: new(false),
				InPlaceUpdateStrategy: &pub.InPlaceUpdateStrategy{GracePeriodSeconds: 4},
				RollingUpdate: &rolling{
					Partition: new(intstr.FromInt32(1)), Paused: true, MaxSurge: new(intstr.FromInt32(1)),
					InPlaceUpdateStrategy: &v1beta1.InPlaceUpdateStrategy{ImagePreDownloadTimeoutSeconds: new(int32(60))},
				},
			},
			filled(func(b *rolling) {
				b.Partition, b.MaxSurge = new(intstr.FromInt32(5)), new(intstr.FromInt32(1))
				b.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 4, ImagePreDownloadTimeoutSeconds: new(int32(60))}
			}),
		},
		"OnDelete": {
			strategy{Type: "OnDelete", MaxUnavailable: new(intstr.FromInt32(2))},
			func() strategy {
				s := filled(func(b *rolling) { b.MaxUnavailable = new(intstr.FromInt32(2)) })
				s.Type = "OnDelete"
				return s
			}(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := &v1beta1.CloneSet{Spec: v1beta1.CloneSetSpec{UpdateStrategy: test.written}}
			require.Equal(t, test.want, written(t, set).Spec.UpdateStrategy)
		})
	}
}

func TestClaimReuseInTheFormOfV1alpha1(t *testing.T) {
	for name, test := range map[string]struct {
		disable *bool
		enable  bool
		want    bool
	}{
		"disabled":                  {new(true), true, false},
		"not disabled":              {new(false), false, true},
		"not said, not enabled":     {nil, false, false},
		"not said, enabled already": {nil, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			set := &v1beta1.CloneSet{}
			set.Spec.ScaleStrategy = v1beta1.CloneSetScaleStrategy{DisablePVCReuse: test.disable, EnablePVCReuse: test.enable}
			require.Equal(t, v1beta1.CloneSetScaleStrategy{EnablePVCReuse: test.want}, written(t, set).Spec.ScaleStrategy)
		})
	}
}
