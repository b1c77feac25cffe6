package podcontrol

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
)

// idLength is the length of the random part of an instance's name.
const idLength = 5

// NewID returns a random instance ID that is not taken, and adds it to taken. random returns a text of the given length.
func NewID(random func(length int) string, taken map[string]bool) string {
	for {
		if id := random(idLength); !taken[id] {
			taken[id] = true
			return id
		}
	}
}

// Blueprint is what all Pods of one revision have in common.
type Blueprint struct {
	// Owner is the controller of the Pods.
	Owner metav1.OwnerReference
	// Name is the first part of the names of the Pods, and Namespace is the workload's.
	Name, Namespace string
	Template        *corev1.PodTemplateSpec
	// Revision is the name of the revision that Template belongs to. Stamp writes it into a Pod's labels.
	Revision string
	Stamp    func(pod *corev1.Pod, revision string)
	// State is the lifecycle state of new Pods. If it is empty, no state is written.
	State lifecycle.State
	// Gates are the readiness gates that new Pods get in addition to those in the template.
	Gates []corev1.PodConditionType
	// InstanceLabel is the label for the ID of an instance on its Pod and its claims. If it is empty, no label is written.
	InstanceLabel string
	// ClaimTemplates are the volume claims that every Pod gets. ClaimLabels are added to the labels of each claim.
	ClaimTemplates []corev1.PersistentVolumeClaim
	ClaimLabels    map[string]string
	// ClaimOwners are the owners of new claims.
	ClaimOwners []metav1.OwnerReference
	// Complete adds to a new Pod what depends on its instance. It may be nil.
	Complete func(pod *corev1.Pod, id string)
}

// PodName returns the name of an instance's Pod.
func (b *Blueprint) PodName(id string) string { return PodName(b.Name, id) }

// Build returns the Pod of an instance: the template, with the name, the labels, the gates and the volumes of the instance. The
// blueprint is not changed. now is the time of its lifecycle state.
func (b *Blueprint) Build(id string, now time.Time) *corev1.Pod {
	template := b.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: b.PodName(id), Namespace: b.Namespace,
			Labels: template.Labels, Annotations: template.Annotations, Finalizers: template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{b.Owner},
		},
		Spec: template.Spec,
	}
	if b.State != "" {
		lifecycle.Set(pod, b.State, now)
	}
	if b.InstanceLabel != "" {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, b.InstanceLabel, id)
	}
	b.Stamp(pod, b.Revision)
	for _, gate := range b.Gates {
		if !podstate.HasGate(pod, gate) {
			pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		}
	}
	for i := range b.ClaimTemplates {
		mountClaim(pod, b.ClaimTemplates[i].Name, b.claimName(&b.ClaimTemplates[i], id))
	}
	if b.Complete != nil {
		b.Complete(pod, id)
	}
	return pod
}

// StampFullName writes the revision's name and its hash into the given object, which the caller owns.
func StampFullName(pod *corev1.Pod, revision string) { stamp(pod, revision, revision) }

// StampShortHash writes only the revision's hash, so that long workload names fit into a label.
func StampShortHash(pod *corev1.Pod, revision string) {
	stamp(pod, revision, history.ShortHash(revision))
}

// stamp writes the two labels by which Pods are found by their revision.
func stamp(pod *corev1.Pod, revision, label string) {
	metav1.SetMetaDataLabel(&pod.ObjectMeta, pub.PodTemplateHashKey, history.ShortHash(revision))
	metav1.SetMetaDataLabel(&pod.ObjectMeta, pub.ControllerRevisionHashKey, label)
}

// mountClaim replaces the Pod's volume with this name, or adds it.
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
	return ClaimName(template.Name, b.Name, id)
}

// Claims returns the volume claims of an instance, as they are created.
func (b *Blueprint) Claims(id string) []*corev1.PersistentVolumeClaim {
	claims := make([]*corev1.PersistentVolumeClaim, 0, len(b.ClaimTemplates))
	for i := range b.ClaimTemplates {
		claim := b.ClaimTemplates[i].DeepCopy()
		labels := maps.Clone(claim.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, b.ClaimLabels)
		if b.InstanceLabel != "" {
			labels[b.InstanceLabel] = id
		}
		claims = append(claims, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name: b.claimName(claim, id), Namespace: b.Namespace, Labels: labels, Annotations: claim.Annotations,
				OwnerReferences: slices.Clone(b.ClaimOwners),
			},
			Spec: claim.Spec,
		})
	}
	return claims
}
