package podcontrol

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
)

// idLength is that of an instance's random name part.
const idLength = 5

// NewID returns a random instance ID that is not taken, and takes it.
func NewID(taken map[string]bool) string {
	for {
		if id := rand.String(idLength); !taken[id] {
			taken[id] = true
			return id
		}
	}
}

// Blueprint is what Pods of one revision have in common.
type Blueprint struct {
	// Owner is the controller of the Pods.
	Owner metav1.OwnerReference
	// Name and Namespace are the workload's.
	Name, Namespace string
	Template        *corev1.PodTemplateSpec
	// Revision is the name of the revision that Template belongs to.
	Revision string
	// ShortHash writes the revision's hash into the Pod's label in place of its name.
	ShortHash bool
	// ClaimTemplates are the volume claims that every Pod has for itself.
	ClaimTemplates []corev1.PersistentVolumeClaim
	// MatchLabels are the workload's selector's, which claims carry.
	MatchLabels map[string]string
}

// Build makes the Pod of an instance.
func (b *Blueprint) Build(id string, now time.Time) *corev1.Pod {
	template := b.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: b.Name + "-" + id, Namespace: b.Namespace,
			Labels: template.Labels, Annotations: template.Annotations, Finalizers: template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{b.Owner},
		},
		Spec: template.Spec,
	}
	lifecycle.Set(pod, pub.LifecycleStatePreparingNormal, now)
	pod.Labels[pub.CloneSetInstanceIDKey] = id
	StampRevision(pod, b.Revision, b.ShortHash)
	for _, gate := range []corev1.PodConditionType{pub.InPlaceUpdateReadyConditionType, pub.KruisePodReadyConditionType} {
		if !podstate.HasGate(pod, gate) {
			pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		}
	}
	for i := range b.ClaimTemplates {
		mountClaim(pod, b.ClaimTemplates[i].Name, b.claimName(&b.ClaimTemplates[i], id))
	}
	return pod
}

// StampRevision writes the revision's labels into the object given, which the caller owns.
func StampRevision(pod *corev1.Pod, revision string, short bool) {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	hash := history.ShortHash(revision)
	pod.Labels[pub.PodTemplateHashKey] = hash
	pod.Labels[pub.ControllerRevisionHashKey] = revision
	if short {
		pod.Labels[pub.ControllerRevisionHashKey] = hash
	}
}

// mountClaim replaces the Pod's volume of the name, or adds it.
func mountClaim(pod *corev1.Pod, volume, claim string) {
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: volume,
		VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		},
	})
}

func (b *Blueprint) claimName(template *corev1.PersistentVolumeClaim, id string) string {
	return template.Name + "-" + b.Name + "-" + id
}

// Claims makes the volume claims of an instance.
func (b *Blueprint) Claims(id string) []*corev1.PersistentVolumeClaim {
	claims := make([]*corev1.PersistentVolumeClaim, 0, len(b.ClaimTemplates))
	for i := range b.ClaimTemplates {
		claim := b.ClaimTemplates[i].DeepCopy()
		labels := maps.Clone(claim.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, b.MatchLabels)
		labels[pub.CloneSetInstanceIDKey] = id
		claims = append(claims, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name: b.claimName(claim, id), Namespace: b.Namespace, Labels: labels, Annotations: claim.Annotations,
				OwnerReferences: []metav1.OwnerReference{b.Owner},
			},
			Spec: claim.Spec,
		})
	}
	return claims
}
