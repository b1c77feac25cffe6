package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func TestScheduledPullsGoThroughV1alpha1(t *testing.T) {
	stored := func() *v1beta1.AdvancedCronJob {
		job := &v1beta1.AdvancedCronJob{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}}}
		job.Spec.Schedule = "@daily"
		job.Spec.Template.ImageListPullJobTemplate = &v1beta1.ImageListPullJobTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "pull"}},
			Spec:       v1beta1.ImageListPullJobSpec{Images: []string{"nginx", "busybox"}},
		}
		newScheme(t).Default(job)
		return job
	}
	for name, test := range map[string]struct {
		edit func(*v1alpha1.AdvancedCronJob)
		want func(*v1beta1.AdvancedCronJob)
	}{
		"untouched": {func(*v1alpha1.AdvancedCronJob) {}, func(*v1beta1.AdvancedCronJob) {}},
		"another field changed": {
			func(j *v1alpha1.AdvancedCronJob) { j.Spec.Schedule = "@hourly" },
			func(j *v1beta1.AdvancedCronJob) { j.Spec.Schedule = "@hourly" },
		},
		"the annotation removed": {
			func(j *v1alpha1.AdvancedCronJob) { delete(j.Annotations, v1alpha1.KeptFieldsAnnotation) },
			func(j *v1beta1.AdvancedCronJob) { j.Spec.Template.ImageListPullJobTemplate = nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			scheme, hub, alpha := newScheme(t), &apps.AdvancedCronJob{}, &v1alpha1.AdvancedCronJob{}
			require.NoError(t, scheme.Convert(stored(), hub, nil))
			require.NoError(t, scheme.Convert(hub, alpha, nil))
			require.Equal(t, v1alpha1.CronJobTemplate{}, alpha.Spec.Template)
			require.Contains(t, alpha.Annotations[v1alpha1.KeptFieldsAnnotation], `"images":["nginx","busybox"]`)
			require.Equal(t, map[string]string{"a": "b"}, hub.Annotations, "conversion must not change what it reads")

			test.edit(alpha)
			back, beta := &apps.AdvancedCronJob{}, &v1beta1.AdvancedCronJob{}
			require.NoError(t, scheme.Convert(alpha, back, nil))
			require.NoError(t, scheme.Convert(back, beta, nil))
			want := stored()
			test.want(want)
			require.Equal(t, want, beta)
		})
	}
	for name, annotations := range map[string]map[string]string{
		"of Jobs": nil, "without a template": {v1alpha1.KeptFieldsAnnotation: `{}`}, "foreign": {v1alpha1.KeptFieldsAnnotation: "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			alpha, hub := &v1alpha1.AdvancedCronJob{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}, &apps.AdvancedCronJob{}
			require.NoError(t, newScheme(t).Convert(alpha, hub, nil))
			require.Nil(t, hub.Spec.Template.ImageListPullJobTemplate)
			back := &v1alpha1.AdvancedCronJob{}
			require.NoError(t, newScheme(t).Convert(hub, back, nil))
			require.Equal(t, annotations[v1alpha1.KeptFieldsAnnotation] == "mine", len(back.Annotations) > 0)
		})
	}
	t.Run("written by hand", func(t *testing.T) {
		alpha, hub := &v1alpha1.AdvancedCronJob{}, &apps.AdvancedCronJob{}
		alpha.Annotations = map[string]string{
			v1alpha1.KeptFieldsAnnotation: `{"imageListPullJobTemplate":{"spec":{"images":["nginx"]}}}`,
		}
		require.NoError(t, newScheme(t).Convert(alpha, hub, nil))
		require.EqualValues(t, "Always", hub.Spec.Template.ImageListPullJobTemplate.Spec.CompletionPolicy.Type, "defaulted")
	})
}

// A template that v1alpha1 has no field for brings its own default.
func TestScheduledPullsReplaceEachOther(t *testing.T) {
	for annotation, want := range map[string]v1alpha1.ConcurrencyPolicy{
		`{"imageListPullJobTemplate":{"spec":{"images":["nginx"]}}}`: v1alpha1.ReplaceConcurrent,
		`{}`:  v1alpha1.AllowConcurrent,
		`???`: v1alpha1.AllowConcurrent,
	} {
		job := &v1alpha1.AdvancedCronJob{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.KeptFieldsAnnotation: annotation}}}
		newScheme(t).Default(job)
		require.Equal(t, want, job.Spec.ConcurrencyPolicy, annotation)
	}
}
