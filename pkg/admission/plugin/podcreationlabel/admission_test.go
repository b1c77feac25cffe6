package podcreationlabel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/admission/review"
)

const key = "apps.kruise.io/pod-creation"

// Case sidecarset 38.
func TestLabelGoesWhenOthersChange(t *testing.T) {
	plain, ignored := map[string]string{"a": "b"}, map[string]string{"a": "b", key: "ignored"}
	relabelled := map[string]string{"a": "b", "env": "prod", key: "ignored"}
	tests := map[string]struct {
		before, after map[string]string
		removed       bool
	}{
		"another label is added":    {ignored, relabelled, true},
		"another label is removed":  {relabelled, ignored, true},
		"a copy is created":         {nil, ignored, true},
		"nothing changes":           {ignored, ignored, false},
		"the controller adds it":    {plain, ignored, false},
		"the controller removes it": {ignored, plain, false},
		"without the label":         {nil, plain, false},
		"another value":             {nil, map[string]string{key: "other"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			operation, namespaced := admission.Update, func(labels map[string]string) runtime.Object {
				return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: labels}}
			}
			var before runtime.Object
			if test.before == nil {
				operation = admission.Create
			} else {
				before = namespaced(test.before)
			}
			operations, err := New().Patch(t.Context(), admission.NewAttributesRecord(namespaced(test.after), before,
				corev1.SchemeGroupVersion.WithKind("Namespace"), "", "ns", corev1.SchemeGroupVersion.WithResource("namespaces"), "", operation, nil, false, nil))
			require.NoError(t, err)
			if test.removed {
				assert.Equal(t, []review.Operation{{Op: "remove", Path: "/metadata/labels/apps.kruise.io~1pod-creation"}}, operations)
			} else {
				assert.Empty(t, operations)
			}
		})
	}
}
