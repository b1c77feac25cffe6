package cloneset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/lifecycle"
)

func (s *simulation) pick(options ...string) string { return options[s.rand.IntN(len(options))] }

func (s *simulation) randomKnobs(spec *v1beta1.CloneSetSpec) {
	surge := s.pick("0", "0", "1", "2", "50%")
	unavailable := s.pick("1", "2", "20%", "100%")
	if surge != "0" {
		unavailable = s.pick("0", "1", "20%", "50%")
	}
	partition := s.pick("0", "0", "1", "3", "50%", "90%", "100%")
	knobs(partition, unavailable, surge)(spec)
	spec.MinReadySeconds = []int32{0, 0, 0, 2, 5}[s.rand.IntN(5)]
	spec.ScaleStrategy.MaxUnavailable = value(s.pick("", "", "", "1", "2", "50%"))
	spec.ScaleStrategy.ExcludePreparingDelete = s.rand.IntN(3) == 0
	spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: []int32{0, 0, 3}[s.rand.IntN(3)]}
	s.logf("partition=%s maxUnavailable=%s maxSurge=%s minReadySeconds=%d scaleStrategy=%+v grace=%d", partition, unavailable, surge,
		spec.MinReadySeconds, spec.ScaleStrategy, spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy.GracePeriodSeconds)
}

// randomHooks chooses hooks whose markers the template sets, so that each Pod is held.
func (s *simulation) randomHooks(spec *v1beta1.CloneSetSpec) {
	hook := func(key string) *pub.LifecycleHook {
		if s.rand.IntN(4) > 0 {
			return nil
		}
		return &pub.LifecycleHook{LabelsHandler: map[string]string{key: "on"}, MarkPodNotReady: s.rand.IntN(2) == 0}
	}
	hooks := &pub.Lifecycle{PreDelete: hook("del"), InPlaceUpdate: hook("upd"), PreNormal: hook("ok")}
	spec.Lifecycle = hooks
	s.logf("preDelete=%+v inPlaceUpdate=%+v preNormal=%+v", hooks.PreDelete, hooks.InPlaceUpdate, hooks.PreNormal)
}

// randomClaims gives each Pod its own claims, in half of the simulations.
func (s *simulation) randomClaims(spec *v1beta1.CloneSetSpec) {
	spec.ScaleStrategy.EnablePVCReuse = s.rand.IntN(2) == 0
	for _, name := range []string{"data", "logs"}[:s.rand.IntN(3)*s.rand.IntN(2)] {
		spec.VolumeClaimTemplates = append(spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	s.logf("claims=%d reuse=%t", len(spec.VolumeClaimTemplates), spec.ScaleStrategy.EnablePVCReuse)
}

// disturb makes a random change by a user, or a random failure.
func (s *simulation) disturb() {
	switch s.rand.IntN(12) {
	case 0:
		s.sets.edit(s.scale)
	case 1, 2:
		s.image(s.pick("app:1", "app:2", "app:3", "broken:1"))
	case 3:
		s.sets.edit(s.randomKnobs)
	case 4:
		paused := s.rand.IntN(3) == 0
		s.sets.edit(func(spec *v1beta1.CloneSetSpec) { spec.UpdateStrategy.RollingUpdate.Paused = paused })
		s.logf("paused=%t", paused)
	case 5:
		s.hostNetwork()
	case 6, 7, 8:
		s.disturbOne()
	case 9:
		s.specify()
	case 10:
		s.server.Quota = []int{0, 4, 8, 1000}[s.rand.IntN(4)]
		s.logf("quota=%d", s.server.Quota)
	case 11:
		s.sets.edit(s.randomHooks)
	}
}

// disturbOne makes such a change to one Pod.
func (s *simulation) disturbOne() {
	pod := s.anyPod()
	if pod == nil {
		return
	}
	switch s.rand.IntN(5) {
	case 0:
		s.logf("lose %s", pod.Name)
		s.server.Terminate(pod)
	case 1:
		s.logf("podsToDelete %s", pod.Name)
		s.sets.edit(func(spec *v1beta1.CloneSetSpec) {
			if strategy := &spec.ScaleStrategy; !slices.Contains(strategy.PodsToDelete, pod.Name) {
				strategy.PodsToDelete = append(strategy.PodsToDelete, pod.Name)
			}
		})
	case 2:
		s.sick[pod.Name] = !s.sick[pod.Name]
		s.logf("sick %s %t", pod.Name, s.sick[pod.Name])
	case 3:
		s.logf("fail %s", pod.Name)
		s.server.ChangePod(pod.Name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	case 4:
		s.logf("take %s", pod.Name)
		s.server.ChangePod(pod.Name, func(p *corev1.Pod) { p.Labels["app"] = "taken" })
	}
}

// interfere lets a node make progress, or a container exit, between two writes of a pass.
func (s *simulation) interfere() {
	pod := s.anyPod()
	if pod == nil || pod.DeletionTimestamp != nil {
		return
	}
	change, what := s.progress, "progress of"
	if s.rand.IntN(2) == 0 {
		change, what = s.node.Crash, "crash of"
	}
	s.logf("  meanwhile %s %s", what, pod.Name)
	s.server.ChangePod(pod.Name, change)
}

func (s *simulation) anyPod() *corev1.Pod {
	pods := s.active()
	if len(pods) == 0 {
		return nil
	}
	return pods[s.rand.IntN(len(pods))]
}

func (s *simulation) scale(spec *v1beta1.CloneSetSpec) {
	spec.Replicas = new(int32(s.rand.IntN(9)))
	s.logf("replicas=%d", *spec.Replicas)
}

func (s *simulation) image(image string) {
	s.sets.edit(func(spec *v1beta1.CloneSetSpec) { spec.Template.Spec.Containers[0].Image = image })
	s.logf("image=%s", image)
}

// hostNetwork makes a change that needs recreation, unless the server would reject it.
func (s *simulation) hostNetwork() {
	if rollingOf(s.sets.newest()).PodUpdatePolicy == pub.InPlaceOnlyPodUpdatePolicy {
		return
	}
	s.sets.edit(func(spec *v1beta1.CloneSetSpec) { spec.Template.Spec.HostNetwork = !spec.Template.Spec.HostNetwork })
	s.logf("hostNetwork=%t", s.spec().Template.Spec.HostNetwork)
}

// specify picks a Pod for deletion and returns the Pod's revision.
func (s *simulation) specify() string {
	pod := s.anyPod()
	if pod == nil {
		return ""
	}
	s.logf("specified-delete %s", pod.Name)
	s.server.ChangePod(pod.Name, func(p *corev1.Pod) { p.Labels[pub.SpecifiedDeleteKey] = "true" })
	return revisionLabel(pod)
}

// peace ends all failures, and sets a spec that can be reached.
func (s *simulation) peace() {
	s.trouble, s.server.Trouble, s.server.Quota = false, false, 1000
	s.server.Arrive()
	clear(s.sick)
	s.sets.edit(func(spec *v1beta1.CloneSetSpec) { spec.UpdateStrategy.RollingUpdate.Paused = false })
	s.logf("peace")
	s.image("app:" + s.pick("1", "2", "3"))
}

// oneChange makes one change to the undisturbed workload. It returns how many Pods the user picked for deletion, by revision.
func (s *simulation) oneChange() map[string]int {
	s.logf("one change")
	switch s.rand.IntN(5) {
	case 0:
		s.sets.edit(s.scale)
	case 1:
		s.image("app:" + s.pick("1", "2", "3"))
	case 2:
		s.hostNetwork()
	case 3:
		return map[string]int{s.specify(): 1}
	case 4:
		s.image("app:" + s.pick("1", "2", "3"))
		s.sets.edit(s.scale)
	}
	return nil
}

// surroundings lets some or all nodes and hooks make progress. It returns whether anything changed.
func (s *simulation) surroundings(all bool) (changed bool) {
	s.server.Arrive()
	for _, pod := range s.server.Pods() {
		if !all && s.rand.IntN(2) == 0 {
			continue
		}
		switch {
		case pod.DeletionTimestamp != nil:
			s.server.Stop(pod)
			changed = true
		case pod.Status.Phase == corev1.PodFailed:
			changed = s.server.ChangePod(pod.Name, s.answer) || changed
		default:
			changed = s.server.ChangePod(pod.Name, s.progress) || changed
		}
	}
	return s.server.Collect() || changed
}

// progress lets the Pod's node and the listeners of its hooks act.
func (s *simulation) progress(pod *corev1.Pod) {
	s.answer(pod)
	s.node.Run(pod)
	if s.sick[pod.Name] {
		controllertest.SetConditionOf(pod, corev1.PodReady, corev1.ConditionFalse, s.node.Now)
	}
}

// answer acts like the listener of a hook.
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
	default: // No hook waits.
	}
}
