package workloadtarget

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func deploymentTemplate(d *appsv1.Deployment) corev1.PodTemplateSpec   { return d.Spec.Template }
func replicaSetTemplate(r *appsv1.ReplicaSet) corev1.PodTemplateSpec   { return r.Spec.Template }
func statefulSetTemplate(s *appsv1.StatefulSet) corev1.PodTemplateSpec { return s.Spec.Template }
func jobTemplate(j *batchv1.Job) corev1.PodTemplateSpec                { return j.Spec.Template }
func cloneSetTemplate(c *v1beta1.CloneSet) corev1.PodTemplateSpec      { return c.Spec.Template }
func advancedStatefulSetTemplate(s *v1beta1.StatefulSet) corev1.PodTemplateSpec {
	return s.Spec.Template
}
