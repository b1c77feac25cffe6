package workloadtarget

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func deploymentTemplate(d *appsv1.Deployment) corev1.PodTemplateSpec { return d.Spec.Template }
func replicaSetTemplate(r *appsv1.ReplicaSet) corev1.PodTemplateSpec { return r.Spec.Template }
func jobTemplate(j *batchv1.Job) corev1.PodTemplateSpec              { return j.Spec.Template }

func statefulSetTemplate(s *appsv1.StatefulSet) corev1.PodTemplateSpec {
	return withClaims(s.Spec.Template, s.Spec.VolumeClaimTemplates)
}

func cloneSetTemplate(c *v1beta1.CloneSet) corev1.PodTemplateSpec {
	return withClaims(c.Spec.Template, c.Spec.VolumeClaimTemplates)
}

func advancedStatefulSetTemplate(s *v1beta1.StatefulSet) corev1.PodTemplateSpec {
	return withClaims(s.Spec.Template, s.Spec.VolumeClaimTemplates)
}

// withClaims has each claim as a volume, in place of one of its name: what containers mount.
func withClaims(template corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim) corev1.PodTemplateSpec {
	taken := map[string]bool{}
	var volumes []corev1.Volume
	for i := range claims {
		taken[claims[i].Name] = true
		volumes = append(volumes, corev1.Volume{Name: claims[i].Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claims[i].Name},
		}})
	}
	for _, volume := range template.Spec.Volumes {
		if !taken[volume.Name] {
			volumes = append(volumes, volume)
		}
	}
	template.Spec.Volumes = volumes
	return template
}
