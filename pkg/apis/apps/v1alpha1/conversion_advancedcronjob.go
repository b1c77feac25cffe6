package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1alpha1_AdvancedCronJob_To_apps_AdvancedCronJob puts back a template that only
// v1beta1 has.
func Convert_v1alpha1_AdvancedCronJob_To_apps_AdvancedCronJob(in *AdvancedCronJob, out *apps.AdvancedCronJob, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_AdvancedCronJob_To_apps_AdvancedCronJob(in, out, s); err != nil {
		return err
	}
	return restoreAdvancedCronJob(out, s)
}

// Convert_apps_AdvancedCronJob_To_v1alpha1_AdvancedCronJob is the inverse: such a template
// moves to the annotation KeptFieldsAnnotation.
func Convert_apps_AdvancedCronJob_To_v1alpha1_AdvancedCronJob(in *apps.AdvancedCronJob, out *AdvancedCronJob, s conversion.Scope) error {
	if err := autoConvert_apps_AdvancedCronJob_To_v1alpha1_AdvancedCronJob(in, out, s); err != nil {
		return err
	}
	return keepAdvancedCronJob(in, out, s)
}

// Convert_apps_CronJobTemplate_To_v1alpha1_CronJobTemplate leaves the template of
// ImageListPullJobs to keepAdvancedCronJob.
func Convert_apps_CronJobTemplate_To_v1alpha1_CronJobTemplate(in *apps.CronJobTemplate, out *CronJobTemplate, s conversion.Scope) error {
	return autoConvert_apps_CronJobTemplate_To_v1alpha1_CronJobTemplate(in, out, s)
}

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptAdvancedCronJob is the template that v1alpha1 has no field for.
type keptAdvancedCronJob struct {
	ImageListPullJobTemplate *keptImageListPullJobTemplate `json:"imageListPullJobTemplate"`
}

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptImageListPullJobTemplate has the fields of v1beta1's ImageListPullJobTemplateSpec.
type keptImageListPullJobTemplate struct {
	Metadata metav1.ObjectMeta    `json:"metadata"`
	Spec     ImageListPullJobSpec `json:"spec"`
}

func keepAdvancedCronJob(in *apps.AdvancedCronJob, out *AdvancedCronJob, s conversion.Scope) error {
	template := in.Spec.Template.ImageListPullJobTemplate
	if template == nil {
		return nil
	}
	kept := &keptImageListPullJobTemplate{Metadata: template.ObjectMeta}
	if err := Convert_apps_ImageListPullJobSpec_To_v1alpha1_ImageListPullJobSpec(&template.Spec, &kept.Spec, s); err != nil {
		return err
	}
	var err error
	out.Annotations, err = withKept(out.Annotations, keptAdvancedCronJob{kept})
	return err
}

func restoreAdvancedCronJob(out *apps.AdvancedCronJob, s conversion.Scope) error {
	kept, found := keptAdvancedCronJob{}, false
	if out.Annotations, found = takeKept(out.Annotations, &kept); !found || kept.ImageListPullJobTemplate == nil {
		return nil
	}
	SetDefaults_ImageListPullJobSpec(&kept.ImageListPullJobTemplate.Spec)
	template := &apps.ImageListPullJobTemplateSpec{ObjectMeta: kept.ImageListPullJobTemplate.Metadata}
	out.Spec.Template.ImageListPullJobTemplate = template
	return Convert_v1alpha1_ImageListPullJobSpec_To_apps_ImageListPullJobSpec(&kept.ImageListPullJobTemplate.Spec, &template.Spec, s)
}
