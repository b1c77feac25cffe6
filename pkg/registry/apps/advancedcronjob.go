package apps

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/registry/rest"
)

func advancedCronJob(gate featuregate.FeatureGate) rest.AnyKind {
	type job = apps.AdvancedCronJob
	return &rest.Kind[*job]{
		Plural: "advancedcronjobs", Singular: "advancedcronjob", Short: []string{"acj"}, Controlled: true,
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *job { return &job{} }, NewList: func() runtime.Object { return &apps.AdvancedCronJobList{} },
		Spec: func(c *job) any { return &c.Spec }, Status: func(c *job) any { return &c.Status },
		Default:  each(install.DefaultAdvancedCronJob, filled(gate, install.DefaultAdvancedCronJobTemplate)),
		Validate: validation.ValidateAdvancedCronJob, ValidateUpdate: validation.ValidateAdvancedCronJobUpdate,
		ValidateStatus: validation.ValidateAdvancedCronJobStatusUpdate, ErrorsIn: validation.AdvancedCronJobErrorsIn,
		Warnings: validation.WarnAdvancedCronJob,
		Columns: []rest.Column[*job]{
			text("Schedule", "Cron schedule of the runs.", func(c *job) string { return c.Spec.Schedule }),
			text("Type", "Kind of object that a run creates.", func(c *job) string { return string(c.Status.Type) }),
			date("LastScheduleTime", "Scheduled time of the last run.", func(c *job) *metav1.Time { return c.Status.LastScheduleTime }),
			rest.Age[*job](),
		},
	}
}
