package cloneset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/lifecycle"
)

func (s *simulation) pick(options ...string) string { return options[s.rand.IntN(len(options))] }

func (s *simulation) randomKnobs() {
	surge := s.pick("0", "0", "1", "2", "50%")
	unavailable := s.pick("1", "2", "20%", "100%")
	if surge != "0" {
		unavailable = s.pick("0", "1", "20%", "50%")
	}
	partition := s.pick("0", "0", "1", "3", "50%", "90%", "100%")
	spec := &s.view.set.Spec
	knobs(partition, unavailable, surge)(spec)
	spec.MinReadySeconds = []int32{0, 0, 0, 2, 5}[s.rand.IntN(5)]
	spec.ScaleStrategy.MaxUnavailable = value(s.pick("", "", "", "1", "2", "50%"))
	spec.ScaleStrategy.ExcludePreparingDelete = s.rand.IntN(3) == 0
	spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: []int32{0, 0, 3}[s.rand.IntN(3)]}
	s.logf("partition=%s maxUnavailable=%s maxSurge=%s minReadySeconds=%d scaleStrategy=%+v grace=%d", partition, unavailable, surge,
		spec.MinReadySeconds, spec.ScaleStrategy, spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy.GracePeriodSeconds)
}

// randomHooks chooses among hooks whose markers the template sets, so that each Pod is held.
func (s *simulation) randomHooks() {
	hook := func(key string) *pub.LifecycleHook {
		if s.rand.IntN(4) > 0 {
			return nil
		}
		return &pub.LifecycleHook{LabelsHandler: map[string]string{key: "on"}, MarkPodNotReady: s.rand.IntN(2) == 0}
	}
	hooks := &pub.Lifecycle{PreDelete: hook("del"), InPlaceUpdate: hook("upd"), PreNormal: hook("ok")}
	s.view.set.Spec.Lifecycle = hooks
	s.logf("preDelete=%+v inPlaceUpdate=%+v preNormal=%+v", hooks.PreDelete, hooks.InPlaceUpdate, hooks.PreNormal)
}

// disturb is a user, or bad luck.
func (s *simulation) disturb() {
	set := s.view.set
	switch s.rand.IntN(12) {
	case 0:
		s.scale()
	case 1, 2:
		s.image(s.pick("app:1", "app:2", "app:3", "broken:1"))
	case 3:
		s.randomKnobs()
	case 4:
		paused := s.rand.IntN(3) == 0
		set.Spec.UpdateStrategy.RollingUpdate.Paused = paused
		s.logf("paused=%t", paused)
	case 5:
		s.hostNetwork()
	case 6, 7, 8:
		s.disturbOne()
	case 9:
		s.specify()
	case 10:
		s.quota = []int{0, 4, 8, 1000}[s.rand.IntN(4)]
		s.logf("quota=%d", s.quota)
	case 11:
		s.randomHooks()
	}
	set.Generation++
}

// disturbOne is the same for one Pod.
func (s *simulation) disturbOne() {
	pod, strategy := s.anyPod(), &s.view.set.Spec.ScaleStrategy
	if pod == nil {
		return
	}
	switch s.rand.IntN(3) {
	case 0:
		s.logf("lose %s", pod.Name)
		s.remove(pod.Name)
	case 1:
		if !slices.Contains(strategy.PodsToDelete, pod.Name) {
			strategy.PodsToDelete = append(strategy.PodsToDelete, pod.Name)
			s.logf("podsToDelete %s", pod.Name)
		}
	case 2:
		s.sick[pod.Name] = !s.sick[pod.Name]
		s.logf("sick %s %t", pod.Name, s.sick[pod.Name])
	}
}

func (s *simulation) anyPod() *corev1.Pod {
	if len(s.pods) == 0 {
		return nil
	}
	return s.pods[s.rand.IntN(len(s.pods))]
}

func (s *simulation) scale() {
	s.view.set.Spec.Replicas = new(int32(s.rand.IntN(9)))
	s.logf("replicas=%d", s.view.replicas())
}

func (s *simulation) image(image string) {
	s.view.set.Spec.Template.Spec.Containers[0].Image = image
	s.logf("image=%s", image)
}

// hostNetwork makes a change that recreates, unless the server would refuse it.
func (s *simulation) hostNetwork() {
	if s.view.rolling().PodUpdatePolicy == pub.InPlaceOnlyPodUpdatePolicy {
		return
	}
	spec := &s.view.set.Spec.Template.Spec
	spec.HostNetwork = !spec.HostNetwork
	s.logf("hostNetwork=%t", spec.HostNetwork)
}

// specify picks a Pod for deletion and returns its revision.
func (s *simulation) specify() string {
	pod := s.anyPod()
	if pod == nil {
		return ""
	}
	s.logf("specified-delete %s", pod.Name)
	for i := range s.pods {
		if s.pods[i] == pod {
			s.pods[i] = recreated(pod).after
		}
	}
	return revisionLabel(pod)
}

// peace ends all trouble, and asks for what can be had.
func (s *simulation) peace() {
	s.troubled, s.quota = false, 1000
	clear(s.sick)
	s.view.set.Spec.UpdateStrategy.RollingUpdate.Paused = false
	s.logf("peace")
	s.image("app:" + s.pick("1", "2", "3"))
}

// oneChange is what a user asks for when all is well. It returns how many Pods the user picked for deletion, by revision.
func (s *simulation) oneChange() map[string]int {
	s.view.set.Generation++
	s.logf("one change")
	switch s.rand.IntN(5) {
	case 0:
		s.scale()
	case 1:
		s.image("app:" + s.pick("1", "2", "3"))
	case 2:
		s.hostNetwork()
	case 3:
		return map[string]int{s.specify(): 1}
	case 4:
		s.image("app:" + s.pick("1", "2", "3"))
		s.scale()
	}
	return nil
}

// surroundings lets nodes make progress and hooks be answered: some of them, or all. It returns whether anything changed.
func (s *simulation) surroundings(all bool) (changed bool) {
	for i, pod := range s.pods {
		if !all && s.rand.IntN(2) == 0 {
			continue
		}
		after := pod.DeepCopy()
		s.answer(after)
		s.node.run(after)
		if s.sick[pod.Name] {
			setConditionOf(after, corev1.PodReady, corev1.ConditionFalse, s.node.now)
		}
		s.pods[i] = after
		changed = changed || !samePod(pod, after)
	}
	return changed
}

// answer does what whoever listens to a hook does.
func (s *simulation) answer(pod *corev1.Pod) {
	switch lifecycle.Of(pod) {
	case pub.LifecycleStatePreparingDelete:
		delete(pod.Labels, "del")
	case pub.LifecycleStatePreparingUpdate:
		delete(pod.Labels, "upd")
	case pub.LifecycleStateUpdated:
		pod.Labels["upd"] = "on"
	case pub.LifecycleStatePreparingNormal:
		pod.Labels["ok"], pod.Labels["del"] = "on", "on"
	default: // Nobody waits.
	}
}

func (s *simulation) clearPodsToDelete() {
	spec := &s.view.set.Spec.ScaleStrategy
	spec.PodsToDelete = slices.DeleteFunc(spec.PodsToDelete, func(name string) bool {
		return !slices.ContainsFunc(s.pods, func(p *corev1.Pod) bool { return p.Name == name })
	})
}

func samePod(a, b *corev1.Pod) bool {
	return apiequality.Semantic.DeepEqual(a.Labels, b.Labels) && apiequality.Semantic.DeepEqual(a.Status, b.Status)
}
