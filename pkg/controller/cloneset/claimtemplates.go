package cloneset

import (
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// storeClaimTemplates stores the claim templates in a revision when the revision becomes the newest. They are no part of its data, but a
// Pod of this revision needs them after the user has removed them.
func storeClaimTemplates(revision *appsv1.ControllerRevision, templates []corev1.PersistentVolumeClaim) {
	if len(templates) == 0 {
		return
	}
	kept := make([]corev1.PersistentVolumeClaim, len(templates))
	for i := range templates {
		kept[i].Name, kept[i].Labels, kept[i].Annotations = templates[i].Name, templates[i].Labels, templates[i].Annotations
		kept[i].Spec = templates[i].Spec
	}
	// Claim templates come from a JSON request, so they can be encoded.
	if text, err := json.Marshal(kept); err == nil {
		metav1.SetMetaDataAnnotation(&revision.ObjectMeta, pub.CloneSetClaimTemplatesKey, string(text))
	}
}

// claimTemplates returns the claim templates for Pods of a revision: those of today, and those of the revision that its template mounts and
// that the user has removed since. It returns an error if the stored ones cannot be read.
func claimTemplates(today []corev1.PersistentVolumeClaim, revision *appsv1.ControllerRevision,
	template *corev1.PodTemplateSpec) ([]corev1.PersistentVolumeClaim, error) {
	text := revision.Annotations[pub.CloneSetClaimTemplatesKey]
	if text == "" {
		return today, nil
	}
	var stored []corev1.PersistentVolumeClaim
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, fmt.Errorf("decode annotation %q of revision %s: %w", pub.CloneSetClaimTemplatesKey, revision.Name, err)
	}
	mounted := mountedVolumes(&template.Spec)
	stored = slices.DeleteFunc(stored, func(claim corev1.PersistentVolumeClaim) bool {
		return !mounted[claim.Name] ||
			slices.ContainsFunc(today, func(c corev1.PersistentVolumeClaim) bool { return c.Name == claim.Name }) ||
			slices.ContainsFunc(template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == claim.Name })
	})
	return slices.Concat(today, stored), nil
}

// mountedVolumes returns the names of the volumes that containers use.
func mountedVolumes(spec *corev1.PodSpec) map[string]bool {
	names := map[string]bool{}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, mount := range containers[i].VolumeMounts {
				names[mount.Name] = true
			}
			for _, device := range containers[i].VolumeDevices {
				names[device.Name] = true
			}
		}
	}
	return names
}
