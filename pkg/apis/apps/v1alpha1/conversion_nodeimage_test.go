package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func TestModesOfPullSecretsGoThroughV1alpha1(t *testing.T) {
	batch, plain := v1beta1.ReferenceObject{Namespace: "ns", Name: "a", Mode: "batch"}, v1beta1.ReferenceObject{Namespace: "ns", Name: "b"}
	alphaA, alphaB := v1alpha1.ReferenceObject{Namespace: "ns", Name: "a"}, v1alpha1.ReferenceObject{Namespace: "ns", Name: "b"}
	for name, test := range map[string]struct {
		stored     []v1beta1.ReferenceObject
		edit       []v1alpha1.ReferenceObject
		want       []v1beta1.ReferenceObject
		annotation string
	}{
		"no modes": {[]v1beta1.ReferenceObject{plain}, []v1alpha1.ReferenceObject{alphaB}, []v1beta1.ReferenceObject{plain}, ""},
		"untouched": {
			[]v1beta1.ReferenceObject{plain, batch}, []v1alpha1.ReferenceObject{alphaB, alphaA}, []v1beta1.ReferenceObject{plain, batch},
			`{"pullSecrets":{"nginx":[{"namespace":"ns","name":"b"},{"namespace":"ns","name":"a","mode":"batch"}]}}`,
		},
		"moved and added": {
			[]v1beta1.ReferenceObject{batch}, []v1alpha1.ReferenceObject{alphaB, alphaA}, []v1beta1.ReferenceObject{plain, batch},
			`{"pullSecrets":{"nginx":[{"namespace":"ns","name":"a","mode":"batch"}]}}`,
		},
		"the same one twice": {
			[]v1beta1.ReferenceObject{batch, {Namespace: "ns", Name: "a"}}, []v1alpha1.ReferenceObject{alphaA, alphaA},
			[]v1beta1.ReferenceObject{batch, {Namespace: "ns", Name: "a"}},
			`{"pullSecrets":{"nginx":[{"namespace":"ns","name":"a","mode":"batch"},{"namespace":"ns","name":"a"}]}}`,
		},
		"removed": {
			[]v1beta1.ReferenceObject{batch, plain}, []v1alpha1.ReferenceObject{alphaB}, []v1beta1.ReferenceObject{plain},
			`{"pullSecrets":{"nginx":[{"namespace":"ns","name":"a","mode":"batch"},{"namespace":"ns","name":"b"}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			scheme, hub, alpha, beta := newScheme(t), &apps.NodeImage{}, &v1alpha1.NodeImage{}, &v1beta1.NodeImage{}
			stored := &v1beta1.NodeImage{Spec: v1beta1.NodeImageSpec{Images: map[string]v1beta1.ImageSpec{"nginx": {PullSecrets: test.stored}}}}
			require.NoError(t, scheme.Convert(stored, hub, nil))
			require.NoError(t, scheme.Convert(hub, alpha, nil))
			require.Equal(t, test.annotation, alpha.Annotations[v1alpha1.KeptFieldsAnnotation])

			alpha.Spec.Images = map[string]v1alpha1.ImageSpec{"nginx": {PullSecrets: test.edit}}
			back := &apps.NodeImage{}
			require.NoError(t, scheme.Convert(alpha, back, nil))
			require.NoError(t, scheme.Convert(back, beta, nil))
			require.Equal(t, test.want, beta.Spec.Images["nginx"].PullSecrets)
			require.Empty(t, beta.Annotations)
			require.Equal(t, test.edit, alpha.Spec.Images["nginx"].PullSecrets, "conversion must not change what it reads")
		})
	}
}
