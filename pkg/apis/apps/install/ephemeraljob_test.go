package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
)

// Case ephemeraljob 14.
func TestDefaultEphemeralJobTemplate(t *testing.T) {
	written := func(image string) *apps.EphemeralJob {
		return &apps.EphemeralJob{Spec: apps.EphemeralJobSpec{Template: apps.EphemeralContainerTemplateSpec{
			EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "a", Image: image}}},
		}}}
	}
	cases := map[string]struct {
		image      string
		old        *apps.EphemeralJob
		wantPull   corev1.PullPolicy
		wantPolicy corev1.TerminationMessagePolicy
	}{
		"create with a tag":    {"demo:v1", nil, corev1.PullIfNotPresent, corev1.TerminationMessageReadFile},
		"create without a tag": {"demo", nil, corev1.PullAlways, corev1.TerminationMessageReadFile},
		"changed":              {"demo:v1", written("demo:v0"), corev1.PullIfNotPresent, corev1.TerminationMessageReadFile},
		"left alone":           {"demo:v1", written("demo:v1"), "", ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			job := written(test.image)
			install.DefaultEphemeralJobTemplate(job, test.old)
			container := job.Spec.Template.EphemeralContainers[0]
			require.Equal(t, test.wantPull, container.ImagePullPolicy)
			require.Equal(t, test.wantPolicy, container.TerminationMessagePolicy)
		})
	}
}
