package podtemplate_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/podtemplate"
)

func jobTemplate(change func(*batchv1.JobSpec)) *batchv1.JobTemplateSpec {
	result := &batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
		Template: *template(func(s *corev1.PodSpec) { s.RestartPolicy = corev1.RestartPolicyNever }),
	}}
	if change != nil {
		change(&result.Spec)
	}
	return result
}

func TestDefaultJob(t *testing.T) {
	written := jobTemplate(func(s *batchv1.JobSpec) {
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget}},
		}}}
	})
	podtemplate.DefaultJob(written, nil, nil)
	require.Equal(t, corev1.DNSClusterFirst, written.Spec.Template.Spec.DNSPolicy)
	require.Equal(t, corev1.PullAlways, written.Spec.Template.Spec.Containers[0].ImagePullPolicy)
	require.Equal(t, corev1.RestartPolicyNever, written.Spec.Template.Spec.RestartPolicy)
	require.Equal(t, corev1.ConditionTrue, written.Spec.PodFailurePolicy.Rules[0].OnPodConditions[0].Status)
	require.Nil(t, written.Spec.BackoffLimit, "core fills it in the Job")

	same, old := jobTemplate(nil), jobTemplate(nil)
	podtemplate.DefaultJob(same, old, nil)
	require.Equal(t, old, same, "an unchanged template stays as it is stored")
}

func TestValidateJob(t *testing.T) {
	path := field.NewPath("job")
	cases := map[string]struct {
		change func(*batchv1.JobSpec)
		want   []string
	}{
		"valid":              {nil, nil},
		"container name":     {func(s *batchv1.JobSpec) { s.Template.Spec.Containers[0].Name = "Bad_Name" }, []string{"job.spec.template.spec.containers[0].name"}},
		"restartPolicy":      {func(s *batchv1.JobSpec) { s.Template.Spec.RestartPolicy = "Always" }, []string{"job.spec.template.spec.restartPolicy"}},
		"parallelism":        {func(s *batchv1.JobSpec) { s.Parallelism = ptr.To[int32](-1) }, []string{"job.spec.parallelism"}},
		"selector by itself": {func(s *batchv1.JobSpec) { s.ManualSelector = new(true) }, []string{"job.spec.manualSelector"}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := jobTemplate(test.change)
			before := written.DeepCopy()
			var fields []string
			for _, err := range podtemplate.ValidateJob(written, path) {
				fields = append(fields, err.Field)
			}
			require.Equal(t, test.want, fields)
			require.Equal(t, before, written)
		})
	}
}
