package cloneset

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/kinds"
)

func (s *simulation) randomKnobs(spec *v1beta1.CloneSetSpec) {
	surge := s.Pick("0", "0", "1", "2", "50%")
	unavailable := s.Pick("1", "2", "20%", "100%")
	if surge != "0" {
		unavailable = s.Pick("0", "1", "20%", "50%")
	}
	partition := s.Pick("0", "0", "1", "3", "50%", "90%", "100%")
	knobs(partition, unavailable, surge)(spec)
	spec.MinReadySeconds = []int32{0, 0, 0, 2, 5}[s.Rand.IntN(5)]
	spec.ScaleStrategy.MaxUnavailable = value(s.Pick("", "", "", "1", "2", "50%"))
	spec.ScaleStrategy.ExcludePreparingDelete = s.Rand.IntN(3) == 0
	spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: []int32{0, 0, 3}[s.Rand.IntN(3)]}
	s.Logf("partition=%s maxUnavailable=%s maxSurge=%s minReadySeconds=%d scaleStrategy=%+v grace=%d", partition, unavailable, surge,
		spec.MinReadySeconds, spec.ScaleStrategy, spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy.GracePeriodSeconds)
}

// randomClaims gives each Pod its own claims, in half of the simulations.
func (s *simulation) randomClaims(spec *v1beta1.CloneSetSpec) {
	spec.ScaleStrategy.EnablePVCReuse = s.Rand.IntN(2) == 0
	for _, name := range []string{"data", "logs"}[:s.Rand.IntN(3)*s.Rand.IntN(2)] {
		spec.VolumeClaimTemplates = append(spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	s.Logf("claims=%d reuse=%t", len(spec.VolumeClaimTemplates), spec.ScaleStrategy.EnablePVCReuse)
}

// disturb makes a random change by a user, or a random failure.
func (s *simulation) disturb() {
	switch s.Rand.IntN(13) {
	case 0:
		s.edit(s.scale)
	case 1, 2:
		s.image(s.Pick("app:1", "app:2", "app:3", "broken:1"))
	case 3:
		s.edit(s.randomKnobs)
	case 4:
		paused := s.Rand.IntN(3) == 0
		s.edit(func(spec *v1beta1.CloneSetSpec) { spec.UpdateStrategy.RollingUpdate.Paused = paused })
		s.Logf("paused=%t", paused)
	case 5:
		s.hostNetwork()
	case 6, 7, 8:
		s.disturbOne()
	case 9:
		s.specify()
	case 10:
		s.Server.Quota = []int{0, 4, 8, 1000}[s.Rand.IntN(4)]
		s.Logf("quota=%d", s.Server.Quota)
	case 11:
		hooks := s.RandomHooks()
		s.edit(func(spec *v1beta1.CloneSetSpec) { spec.Lifecycle = hooks })
	case 12:
		s.restartPods()
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
		s.Logf("podsToDelete %s", pod.Name)
		s.edit(func(spec *v1beta1.CloneSetSpec) {
			if strategy := &spec.ScaleStrategy; !slices.Contains(strategy.PodsToDelete, pod.Name) {
				strategy.PodsToDelete = append(strategy.PodsToDelete, pod.Name)
			}
		})
	case 2:
		s.ToggleReady(pod.Name)
	case 3:
		s.Logf("fail %s", pod.Name)
		s.Server.ChangePod(pod.Name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	case 4:
		s.Logf("take %s", pod.Name)
		s.Server.ChangePod(pod.Name, func(p *corev1.Pod) { p.Labels["app"] = "taken" })
	}
}

func (s *simulation) anyPod() *corev1.Pod {
	pods := s.active()
	if len(pods) == 0 {
		return nil
	}
	return pods[s.Rand.IntN(len(pods))]
}

func (s *simulation) scale(spec *v1beta1.CloneSetSpec) {
	spec.Replicas = new(int32(s.Rand.IntN(9)))
	s.Logf("replicas=%d", *spec.Replicas)
}

func (s *simulation) image(image string) {
	s.edit(func(spec *v1beta1.CloneSetSpec) { spec.Template.Spec.Containers[0].Image = image })
	s.Logf("image=%s", image)
}

// hostNetwork makes a change that needs recreation, unless the server would reject it.
func (s *simulation) hostNetwork() {
	if kinds.RollingUpdateOf(s.Workloads.Newest()).PodUpdatePolicy == pub.InPlaceOnlyPodUpdatePolicy {
		return
	}
	s.edit(func(spec *v1beta1.CloneSetSpec) { spec.Template.Spec.HostNetwork = !spec.Template.Spec.HostNetwork })
	s.Logf("hostNetwork=%t", s.spec().Template.Spec.HostNetwork)
}

// restartPods restarts the workload, unless the update could never be made in place and must be.
func (s *simulation) restartPods() {
	if !s.Node.Agent && kinds.RollingUpdateOf(s.Workloads.Newest()).PodUpdatePolicy == pub.InPlaceOnlyPodUpdatePolicy {
		return
	}
	s.restarts++
	s.edit(restartedAt(strconv.Itoa(s.restarts)))
	s.Logf("restart %d", s.restarts)
}

// specify picks a Pod for deletion and returns the Pod's revision.
func (s *simulation) specify() string {
	pod := s.anyPod()
	if pod == nil {
		return ""
	}
	s.Logf("specified-delete %s", pod.Name)
	s.Server.ChangePod(pod.Name, func(p *corev1.Pod) { p.Labels[pub.SpecifiedDeleteKey] = "true" })
	return revisionLabel(pod)
}

// peace ends all failures, and sets a spec that can be reached.
func (s *simulation) peace() {
	s.StopFaults()
	s.edit(func(spec *v1beta1.CloneSetSpec) { spec.UpdateStrategy.RollingUpdate.Paused = false })
	s.image("app:" + s.Pick("1", "2", "3"))
}

// oneChange makes one change to the undisturbed workload. It returns how many Pods the user picked for deletion, by revision.
func (s *simulation) oneChange() map[string]int {
	s.Logf("one change")
	switch s.Rand.IntN(6) {
	case 0:
		s.edit(s.scale)
	case 1:
		s.image("app:" + s.Pick("1", "2", "3"))
	case 2:
		s.hostNetwork()
	case 3:
		return map[string]int{s.specify(): 1}
	case 4:
		s.image("app:" + s.Pick("1", "2", "3"))
		s.edit(s.scale)
	case 5:
		s.restartPods()
	}
	return nil
}
