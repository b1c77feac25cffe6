package sidecar

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// upgradeHot gives the new image to one of the two containers, and makes it the working one. The other keeps serving until the
// flip. If the user returns to the old image before the flip, the old container has it, and becomes the working one again. The
// annotations with versions tell the containers, by the downward API, which of them is newer.
func upgradeHot(pod *corev1.Pod, set *v1beta1.SidecarSet, container *v1beta1.SidecarContainer, working, images map[string]string) {
	// A Pod without both containers is not upgraded here: Injected is false for it.
	chosen, other := choose(pod, container, working[container.Name])
	if chosen == nil {
		return
	}
	if other.Image == container.Image {
		if other.Name == working[container.Name] {
			return
		}
		chosen, other = other, chosen
	}
	if chosen.Image != container.Image {
		images[chosen.Name] = container.Image
	}
	working[container.Name] = chosen.Name
	// Each container has its own version and that of the other one.
	version := pod.Annotations[pub.SidecarSetVersionKeyPrefix+other.Name]
	annotate(pod, pub.SidecarSetVersionKeyPrefix+chosen.Name, set.ResourceVersion)
	annotate(pod, pub.SidecarSetVersionAltKeyPrefix+chosen.Name, version)
	annotate(pod, pub.SidecarSetVersionAltKeyPrefix+other.Name, set.ResourceVersion)
}

// choose returns the container to upgrade and the other one: an empty one, else one that does not serve, else the one that does
// not work. So a new image that never becomes ready is replaced in the same container, and the old one keeps serving (case 19).
// It returns nil if the Pod lacks one of them.
func choose(pod *corev1.Pod, container *v1beta1.SidecarContainer, working string) (chosen, other *corev1.Container) {
	firstName, secondName := Pair(container.Name)
	first, second := Container(pod, firstName), Container(pod, secondName)
	if first == nil || second == nil {
		return nil, nil
	}
	empty := container.UpgradeStrategy.HotUpgradeEmptyImage
	firstServes, secondServes := serves(pod, firstName), serves(pod, secondName)
	switch {
	case first.Image == empty:
		return first, second
	case second.Image == empty:
		return second, first
	case !firstServes && secondServes:
		return first, second
	case firstServes && !secondServes:
		return second, first
	case working == firstName:
		return second, first
	default:
		return first, second
	}
}

// serves reports whether a container is ready, and runs what the spec says.
func serves(pod *corev1.Pod, container string) bool {
	return ContainerReady(pod, container) && Consistent(pod, []string{container})
}

// annotate sets an annotation of the given Pod.
func annotate(pod *corev1.Pod, key, value string) {
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value)
}

// emptied is the version of a container that has the empty image, since the injection or since a flip.
const emptied = "0"

// flip is a container that must get the empty image, because the other one has taken over. working and parked are names in the
// Pod.
type flip struct {
	working, parked string
	// empty is the image that does nothing.
	empty string
}

// flips returns the hot upgrades of the Pod that have not ended: the container that does not work still has the version with which it
// worked. Its image does not tell: a Pod has the empty image of the revision that it was injected from, and the SidecarSet can have
// another one now. A Pod whose annotation cannot be read has none.
func flips(set *v1beta1.SidecarSet, pod *corev1.Pod) (open []flip) {
	working, err := Working(pod)
	if err != nil {
		return nil
	}
	for i := range set.Spec.Containers {
		container := &set.Spec.Containers[i]
		if !Hot(container) {
			continue
		}
		first, second := Pair(container.Name)
		f := flip{working: first, parked: second, empty: container.UpgradeStrategy.HotUpgradeEmptyImage}
		if working[container.Name] == second {
			f.working, f.parked = second, first
		}
		version := pod.Annotations[pub.SidecarSetVersionKeyPrefix+f.parked]
		if parked := Container(pod, f.parked); parked != nil && parked.Image != f.empty && version != "" && version != emptied {
			open = append(open, f)
		}
	}
	return open
}

// FlipDue reports whether a hot upgrade of the Pod can end: the new containers serve, so the old ones can be emptied. All other
// containers of the Pod must be ready too.
func FlipDue(set *v1beta1.SidecarSet, pod *corev1.Pod) bool {
	// Without an upgrade that has not ended, nothing is due.
	open := flips(set, pod)
	if len(open) == 0 {
		return false
	}
	parked := map[string]bool{}
	for _, name := range parkedNames(set, pod) {
		parked[name] = true
	}
	// The containers to be emptied need not be consistent: they are about to change.
	var rest []string
	for _, name := range PodNames(set) {
		if !parked[name] {
			rest = append(rest, name)
		}
	}
	if !Consistent(pod, rest) {
		return false
	}
	ready := pod.Status.Phase == corev1.PodRunning
	for i := range pod.Status.ContainerStatuses {
		now := &pod.Status.ContainerStatuses[i]
		ready = ready && (now.Ready || parked[now.Name])
	}
	return ready
}

// parkedNames returns the containers of hot upgrades that do not work, whether or not they are empty yet.
func parkedNames(set *v1beta1.SidecarSet, pod *corev1.Pod) (names []string) {
	working, err := Working(pod)
	if err != nil {
		return nil
	}
	for i := range set.Spec.Containers {
		container := &set.Spec.Containers[i]
		if !Hot(container) {
			continue
		}
		first, second := Pair(container.Name)
		if working[container.Name] == second {
			first, second = second, first
		}
		names = append(names, second)
	}
	return names
}

// Flip gives the empty image to the containers that the hot upgrade replaced, in the given Pod, which the caller owns. The hashes
// of the Pod do not change.
func Flip(pod *corev1.Pod, set *v1beta1.SidecarSet, now metav1.Time) error {
	images := map[string]string{}
	for _, f := range flips(set, pod) {
		images[f.parked] = f.empty
		annotate(pod, pub.SidecarSetVersionKeyPrefix+f.parked, emptied)
		annotate(pod, pub.SidecarSetVersionAltKeyPrefix+f.working, emptied)
	}
	return setImages(pod, set, images, now)
}
