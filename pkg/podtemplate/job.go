package podtemplate

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchv1conversion "k8s.io/kubernetes/pkg/apis/batch/v1"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
)

// DefaultJob fills a Job template that a user wrote, as core fills a CronJob's: its Pod template, and nothing that core fills
// when the Job itself is written. old is the stored one, nil on create. A template that equals the stored one is left alone.
// more is as in Default.
func DefaultJob(template, old *batchv1.JobTemplateSpec, more func(*corev1.PodSpec)) {
	if old != nil && apiequality.Semantic.DeepEqual(template, old) {
		return
	}
	setJobDefaults(template)
	if more != nil {
		more(&template.Spec.Template.Spec)
	}
}

// ValidateJob runs core's rules for the Job template of a new CronJob. What the template leaves unset
// is judged as if it had been defaulted. The template is not changed.
func ValidateJob(template *batchv1.JobTemplateSpec, path *field.Path) field.ErrorList {
	current, err := asBatch(template)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	options := pod.GetValidationOptionsFromPodTemplate(&current.Spec.Template, nil)
	errs := bound(&current.Spec.Template.Spec, path.Child("spec", "template", "spec"))
	return append(errs, batchvalidation.ValidateJobTemplateSpec(current, path, options)...)
}

// setJobDefaults applies core's defaults for the Job template of a CronJob, and the pull policy of setDefaults.
func setJobDefaults(template *batchv1.JobTemplateSpec) {
	pullAlways(&template.Spec.Template.Spec)
	holder := batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: *template}}
	batchv1conversion.SetObjectDefaults_CronJob(&holder)
	*template = holder.Spec.JobTemplate
}

// asBatch returns a defaulted copy of the template in core's internal form, on which core's rules work.
func asBatch(template *batchv1.JobTemplateSpec) (*batch.JobTemplateSpec, error) {
	defaulted := template.DeepCopy()
	setJobDefaults(defaulted)
	converted := &batch.JobTemplateSpec{}
	if err := batchv1conversion.Convert_v1_JobTemplateSpec_To_batch_JobTemplateSpec(defaulted, converted, nil); err != nil {
		return nil, fmt.Errorf("convert job template: %w", err)
	}
	return converted, nil
}
