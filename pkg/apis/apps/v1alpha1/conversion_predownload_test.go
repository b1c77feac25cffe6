package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

const (
	parallelism = pub.ImagePreDownloadParallelismKey
	timeout     = pub.ImagePreDownloadTimeoutSecondsKey
	minReady    = pub.ImagePreDownloadMinUpdatedReadyPodsKey
)

func TestPreDownloadAnnotationsBecomeFields(t *testing.T) {
	cases := map[string]struct {
		updateType  v1alpha1.CloneSetUpdateStrategyType
		annotations map[string]string
		want        *v1beta1.InPlaceUpdateStrategy
	}{
		"all three": {
			"InPlaceIfPossible", map[string]string{parallelism: "5", timeout: "60", minReady: "2"},
			&v1beta1.InPlaceUpdateStrategy{
				ImagePreDownloadParallelism:         new(intstr.FromInt32(5)),
				ImagePreDownloadTimeoutSeconds:      ptr.To[int32](60),
				ImagePreDownloadMinUpdatedReadyPods: new(intstr.FromInt32(2)),
			},
		},
		"a number of ready Pods, beside another annotation": {
			"InPlaceOnly", map[string]string{minReady: "3", "a": "b"},
			&v1beta1.InPlaceUpdateStrategy{ImagePreDownloadMinUpdatedReadyPods: new(intstr.FromInt32(3))},
		},
		"a percentage of ready Pods, which the field cannot have": {
			"InPlaceOnly", map[string]string{minReady: "10%"}, &v1beta1.InPlaceUpdateStrategy{},
		},
		"texts that are no values have no effect and stay": {
			"InPlaceOnly", map[string]string{parallelism: "50%", timeout: "soon", minReady: "-1"},
			&v1beta1.InPlaceUpdateStrategy{},
		},
		"written unusually": {
			"InPlaceOnly", map[string]string{timeout: "060"},
			&v1beta1.InPlaceUpdateStrategy{ImagePreDownloadTimeoutSeconds: ptr.To[int32](60)},
		},
		"nothing is updated in place": {
			"ReCreate", map[string]string{parallelism: "5"}, nil,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := &v1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}
			written.Spec.UpdateStrategy.Type = test.updateType
			before := written.DeepCopy()
			beta := toBeta(t, written)
			require.Equal(t, test.want, beta.Spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy)
			require.Equal(t, test.annotations, beta.Annotations, "v1beta1 shows the annotations too")
			require.Equal(t, before.Annotations, written.Annotations, "conversion must not change what it reads")
			require.Equal(t, test.annotations, toAlpha(t, beta).Annotations)
		})
	}
}

func TestPreDownloadFieldsOverruleAnnotations(t *testing.T) {
	cases := map[string]struct {
		timeout           *int32
		annotations, want map[string]string
	}{
		"field alone":             {ptr.To[int32](7), nil, map[string]string{timeout: "7"}},
		"field over annotation":   {ptr.To[int32](7), map[string]string{timeout: "060"}, map[string]string{timeout: "7"}},
		"the same, other writing": {ptr.To[int32](60), map[string]string{timeout: "060"}, map[string]string{timeout: "060"}},
		"field over nonsense":     {ptr.To[int32](7), map[string]string{timeout: "soon"}, map[string]string{timeout: "7"}},
		"field unset":             {nil, map[string]string{timeout: "060", "a": "b"}, map[string]string{timeout: "060", "a": "b"}},
		"field unset, nonsense":   {nil, map[string]string{timeout: "soon"}, map[string]string{timeout: "soon"}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}
			written.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{
				PodUpdatePolicy:       pub.InPlaceIfPossiblePodUpdatePolicy,
				InPlaceUpdateStrategy: &v1beta1.InPlaceUpdateStrategy{ImagePreDownloadTimeoutSeconds: test.timeout},
			}
			shown := toAlpha(t, written).Annotations
			delete(shown, v1alpha1.KeptFieldsAnnotation)
			require.Equal(t, test.want, shown)
		})
	}
}
