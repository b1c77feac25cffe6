package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

func TestProgressiveCreationOfADaemonSet(t *testing.T) {
	const key = pub.DaemonSetProgressiveCreatePodKey
	for name, test := range map[string]struct {
		annotations, left map[string]string
		want              bool
	}{
		"no annotation":      {nil, nil, false},
		"true":               {map[string]string{key: "true", "a": "b"}, map[string]string{"a": "b"}, true},
		"another value":      {map[string]string{key: "yes"}, map[string]string{key: "yes"}, false},
		"another annotation": {map[string]string{"a": "b"}, map[string]string{"a": "b"}, false},
	} {
		t.Run("from v1alpha1: "+name, func(t *testing.T) {
			written := &v1alpha1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}
			before := written.DeepCopy()
			beta := throughHub[v1alpha1.DaemonSet, v1beta1.DaemonSet](t, written, &apps.DaemonSet{})
			require.Equal(t, test.want, beta.Spec.ScaleStrategy.PartitionedScaling)
			require.Equal(t, test.left, beta.Annotations)
			require.Equal(t, before, written, "conversion must not change what it reads")
			require.Equal(t, written, throughHub[v1beta1.DaemonSet, v1alpha1.DaemonSet](t, beta, &apps.DaemonSet{}))
		})
	}
	for name, test := range map[string]struct {
		annotations, want map[string]string
		field             bool
	}{
		"field":                          {nil, map[string]string{key: "true"}, true},
		"field over another value":       {map[string]string{key: "no"}, map[string]string{key: "true"}, true},
		"annotation alone means nothing": {map[string]string{key: "true", "a": "b"}, map[string]string{"a": "b"}, false},
		"another value":                  {map[string]string{key: "no"}, map[string]string{key: "no"}, false},
	} {
		t.Run("to v1alpha1: "+name, func(t *testing.T) {
			written := &v1beta1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}
			written.Spec.ScaleStrategy.PartitionedScaling = test.field
			before := written.DeepCopy()
			require.Equal(t, test.want, throughHub[v1beta1.DaemonSet, v1alpha1.DaemonSet](t, written, &apps.DaemonSet{}).Annotations)
			require.Equal(t, before, written, "conversion must not change what it reads")
		})
	}
}

func TestHashOfADaemonSet(t *testing.T) {
	alpha := &v1alpha1.DaemonSet{Status: v1alpha1.DaemonSetStatus{DaemonSetHash: "abc", NumberReady: 1}}
	beta := throughHub[v1alpha1.DaemonSet, v1beta1.DaemonSet](t, alpha, &apps.DaemonSet{})
	require.Equal(t, v1beta1.DaemonSetStatus{UpdateRevision: "abc", NumberReady: 1}, beta.Status)
	require.Equal(t, alpha, throughHub[v1beta1.DaemonSet, v1alpha1.DaemonSet](t, beta, &apps.DaemonSet{}))
}
