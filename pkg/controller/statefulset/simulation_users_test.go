package statefulset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

func (s *simulation) edit(change edit) {
	s.Workloads.Edit(func(set *v1beta1.StatefulSet) { change(&set.Spec) })
}

func (s *simulation) randomKnobs(spec *v1beta1.StatefulSetSpec) {
	rolling := spec.UpdateStrategy.RollingUpdate
	rolling.Partition = new([]int32{0, 0, 0, 1, 3, 7}[s.Rand.IntN(6)])
	rolling.MinReadySeconds = new([]int32{0, 0, 0, 2, 5}[s.Rand.IntN(5)])
	rolling.InPlaceUpdateStrategy = &pub.InPlaceUpdateStrategy{GracePeriodSeconds: []int32{0, 0, 3}[s.Rand.IntN(3)]}
	reserve([][]string{nil, nil, {"1"}, {"0-2"}, {"2", "4"}}[s.Rand.IntN(5)]...)(spec)
	policies := []v1beta1.PersistentVolumeClaimRetentionPolicyType{keep, drop}
	retention(policies[s.Rand.IntN(2)], policies[s.Rand.IntN(2)])(spec)
	rolling.UnorderedUpdate, spec.ScaleStrategy = nil, nil
	maxUnavailable("1")(spec)
	if spec.PodManagementPolicy == "Parallel" {
		maxUnavailable(s.Pick("1", "2", "50%", "100%"))(spec)
		if s.Rand.IntN(3) == 0 {
			scaleLimit(s.Pick("1", "2", "50%"))(spec)
		}
		if s.Rand.IntN(3) == 0 {
			rolling.UnorderedUpdate = &v1beta1.UnorderedUpdateStrategy{}
		}
	}
	s.Logf("partition=%d maxUnavailable=%v scale=%+v reserved=%v retention=%+v minReady=%d grace=%d unordered=%t", *rolling.Partition,
		rolling.MaxUnavailable, spec.ScaleStrategy, spec.ReserveOrdinals, *spec.PersistentVolumeClaimRetentionPolicy, *rolling.MinReadySeconds,
		rolling.InPlaceUpdateStrategy.GracePeriodSeconds, rolling.UnorderedUpdate != nil)
}

// disturb makes a random change by a user, or a random failure.
func (s *simulation) disturb() {
	switch s.Rand.IntN(10) {
	case 0, 1:
		n := int32(s.Rand.IntN(7))
		s.Logf("replicas=%d", n)
		s.edit(replicas(n))
	case 2, 3:
		name := s.Pick("app:1", "app:2", "app:3", "broken:1")
		s.Logf("image=%s", name)
		s.edit(image(name))
	case 4:
		s.edit(s.randomKnobs)
	case 5:
		paused := s.Rand.IntN(3) == 0
		s.Logf("paused=%t", paused)
		s.edit(func(spec *v1beta1.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.Paused = paused })
	case 6, 7:
		s.disturbOne()
	case 8:
		s.Server.Quota = []int{0, 3, 6, 1000}[s.Rand.IntN(4)]
		s.Logf("quota=%d", s.Server.Quota)
	case 9:
		hooks := s.RandomHooks()
		s.edit(func(spec *v1beta1.StatefulSetSpec) { spec.Lifecycle = hooks })
	}
}

// disturbOne makes such a change to one Pod.
func (s *simulation) disturbOne() {
	pod := s.anyPod()
	if pod == nil {
		return
	}
	switch s.Rand.IntN(5) {
	case 0:
		s.Logf("lose %s", pod.Name)
		s.Server.Terminate(pod)
	case 1:
		s.Logf("specified-delete %s", pod.Name)
		s.Server.ChangePod(pod.Name, func(p *corev1.Pod) { p.Labels[pub.SpecifiedDeleteKey] = "true" })
	case 2:
		s.ToggleReady(pod.Name)
	case 3:
		s.Logf("fail %s", pod.Name)
		s.Server.ChangePod(pod.Name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	case 4:
		s.Logf("orphan %s", pod.Name)
		s.Server.ChangePod(pod.Name, func(p *corev1.Pod) { p.OwnerReferences = nil })
	}
}

func (s *simulation) anyPod() *corev1.Pod {
	pods := slices.DeleteFunc(s.Server.Pods(), func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || metav1.GetControllerOfNoCopy(pod) == nil
	})
	if len(pods) == 0 {
		return nil
	}
	return pods[s.Rand.IntN(len(pods))]
}

// peace ends all failures, and sets a spec that can be reached. A broken Pod holds up an update in order, so the user deletes it.
func (s *simulation) peace() {
	s.StopFaults()
	s.edit(func(spec *v1beta1.StatefulSetSpec) {
		spec.UpdateStrategy.RollingUpdate.Paused = false
		spec.Template.Spec.Containers[0].Image = "app:" + s.Pick("1", "2", "3")
		if s.Rand.IntN(2) == 0 {
			spec.UpdateStrategy.RollingUpdate.Partition = ptr.To[int32](0)
		}
	})
	for range 5 {
		s.pass()
		s.AdvanceNodes(true)
	}
	for _, pod := range s.Server.Pods() {
		if brokenImage(pod.Spec.Containers[0].Image) && pod.DeletionTimestamp == nil {
			s.Server.Terminate(pod)
		}
	}
}
