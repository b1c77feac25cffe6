package cloneset

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// annotateClaims records the claim templates and their hash in a revision when the revision becomes the newest. Claim templates are not
// part of the revision's data, because a change of only the claim templates starts no rollout. sum may be empty.
func annotateClaims(sum string, templates []corev1.PersistentVolumeClaim) func(*appsv1.ControllerRevision) {
	return func(revision *appsv1.ControllerRevision) {
		storeClaimTemplates(revision, templates)
		if sum == "" {
			return
		}
		metav1.SetMetaDataAnnotation(&revision.ObjectMeta, pub.CloneSetClaimTemplatesSumKey, sum)
		metav1.SetMetaDataAnnotation(&revision.ObjectMeta, pub.CloneSetVolumeClaimTemplateHashKey, sum)
	}
}

// claimHash hashes what a user sets in the claim templates. Status and managed fields are left out, because they are no reason to
// recreate a Pod. The hash is FNV-64a as a decimal number, the form that clients of the annotation expect. A collision only means that
// one change of claims is not noticed.
func claimHash(templates []corev1.PersistentVolumeClaim) (string, error) {
	h := fnv.New64a()
	for i := range templates {
		template := &templates[i]
		encoded, err := json.Marshal([]any{template.Name, template.Labels, template.Annotations, template.Spec})
		if err != nil {
			return "", fmt.Errorf("encode volumeClaimTemplates[%d]: %w", i, err)
		}
		_, _ = h.Write(encoded)
	}
	return strconv.FormatUint(h.Sum64(), 10), nil
}

// claimsDiffer reports whether two revisions were made with different claim templates. It returns false if the hash of either is
// unknown. Revisions from before the gate was on have no hash, and OpenKruise hashed other fields. Their Pods are not recreated only
// because the gate is on now, or because another program stored the revision.
func claimsDiffer(a, b *appsv1.ControllerRevision) bool {
	sumA, sumB := a.Annotations[pub.CloneSetClaimTemplatesSumKey], b.Annotations[pub.CloneSetClaimTemplatesSumKey]
	return sumA != "" && sumB != "" && sumA != sumB
}
