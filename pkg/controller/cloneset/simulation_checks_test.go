package cloneset

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace/record"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/rollout"
)

func activePod(pod *corev1.Pod) bool {
	return podstate.Active(pod) && metav1.GetControllerOfNoCopy(pod) != nil
}

// bounds resolves percentages without the code under test, except for the partition.
func (s *simulation) bounds(set *v1beta1.CloneSet) (partition, maxUnavailable, maxSurge int) {
	rolling, replicas := kinds.RollingUpdateOf(set), replicasOf(set)
	partition, err := rollout.Partition(rolling.Partition, replicas)
	require.NoError(s.T, err)
	number := func(text string, up bool) int {
		digits, percent := strings.CutSuffix(text, "%")
		n, err := strconv.Atoi(digits)
		require.NoError(s.T, err)
		if !percent {
			return n
		}
		if up {
			return (n*replicas + 99) / 100
		}
		return n * replicas / 100
	}
	maxSurge = number(rolling.MaxSurge.String(), true)
	return partition, number(rolling.MaxUnavailable.String(), maxSurge == 0), maxSurge
}

func (s *simulation) available(set *v1beta1.CloneSet, pod *corev1.Pod) bool {
	return activePod(pod) && podstate.Available(pod, set.Spec.MinReadySeconds, s.Began)
}

// takenOut reports whether the controller keeps a Pod out of service.
func takenOut(pod *corev1.Pod) bool {
	if pod == nil {
		return true
	}
	held := controllertest.ConditionOf(pod, pub.InPlaceUpdateReadyConditionType)
	return pod.DeletionTimestamp != nil || !lifecycle.Serves(lifecycle.Of(pod)) || held != nil && held.Status != corev1.ConditionTrue
}

// check verifies that one pass kept the user's limits, as far as the controller could know them. The pass must not take a Pod
// out of service that must serve, and must not create too many Pods.
func (s *simulation) check(seen []*corev1.Pod) {
	set := s.Workloads.Cached()
	_, maxUnavailable, maxSurge := s.bounds(set)
	replicas := replicasOf(set)
	now := map[string]*corev1.Pod{}
	for _, pod := range s.Server.Pods() {
		now[pod.Name] = pod
	}
	serve, lost := 0, 0
	known := map[string]bool{}
	for _, pod := range seen {
		known[pod.Name] = true
		if !s.available(set, pod) {
			continue
		}
		switch {
		case s.wrote[pod.Name] && takenOut(now[pod.Name]):
			lost++
		case s.writtenAfter(pod) && takenOut(now[pod.Name]):
			// An earlier pass took the Pod out of service. This pass must know that, whatever its cache shows.
		default:
			serve++
		}
	}
	if lost > 0 {
		require.GreaterOrEqual(s.T, serve, replicas-maxUnavailable, "too many unavailable by the controller's own doing\n%s", s.History())
	}
	created := 0
	for name := range s.wrote {
		created += one(!known[name])
	}
	if created > 0 {
		require.LessOrEqual(s.T, s.counted(set), replicas+maxSurge, "too many Pods\n%s", s.History())
	}
}

// writtenAfter reports whether this controller wrote to the Pod after the version that its cache shows.
func (s *simulation) writtenAfter(pod *corev1.Pod) bool {
	version, err := strconv.ParseInt(pod.ResourceVersion, 10, 64)
	require.NoError(s.T, err)
	return s.written[pod.Name] > version
}

// counted returns the number of active Pods. With excludePreparingDelete, it omits Pods that a preDelete hook holds.
func (s *simulation) counted(set *v1beta1.CloneSet) (n int) {
	for _, pod := range s.active() {
		n += one(!engine.PreparingDelete(pod) || !set.Spec.ScaleStrategy.ExcludePreparingDelete)
	}
	return n
}

// checkNumber verifies every creation when it arrives. The number of Pods must not exceed the maximum that the controller was
// allowed at any time since it may have sent the creation.
func (s *simulation) checkNumber() {
	count := 0
	for _, pod := range s.active() {
		count += one(!engine.PreparingDelete(pod))
	}
	require.LessOrEqual(s.T, count, s.ceiling, "a creation makes too many Pods\n%s", s.History())
}

// checkUpdate verifies each change of a running container. The Pod must be out of service before the change until the node
// completes it, and the record must name the instance that the change ends.
func (s *simulation) checkUpdate(pod *corev1.Pod) {
	container := &pod.Spec.Containers[0]
	waiting, err := record.ReadGrace(pod)
	require.NoError(s.T, err)
	if waiting != nil {
		s.waiting[pod.Name] = waiting
	}
	held := controllertest.ConditionOf(pod, pub.InPlaceUpdateReadyConditionType)
	s.checkRestart(pod, held)
	if s.images[pod.Name] == container.Image {
		if held != nil && held.Status == corev1.ConditionTrue && len(pod.Status.ContainerStatuses) > 0 {
			require.Equal(s.T, container.Image, pod.Status.ContainerStatuses[0].Image, "%s serves before its update\n%s", pod.Name, s.History())
		}
		return
	}
	s.images[pod.Name] = container.Image
	require.True(s.T, held != nil && held.Status == corev1.ConditionFalse, "%s serves while a container changes\n%s", pod.Name, s.History())
	state, err := record.Read(pod)
	require.NoError(s.T, err)
	running := ""
	if len(pod.Status.ContainerStatuses) > 0 {
		running = pod.Status.ContainerStatuses[0].ContainerID
	}
	// A change that replaced the waiting change has no grace period.
	if waited := s.waiting[pod.Name]; waited != nil && waited.Revision == state.Revision {
		grace := time.Duration(waited.GraceSeconds) * time.Second
		require.GreaterOrEqual(s.T, s.Clock.Now().Sub(held.LastTransitionTime.Time), grace, "%s: no grace\n%s", pod.Name, s.History())
	}
	delete(s.waiting, pod.Name)
	require.Equal(s.T, running, state.LastContainerStatuses[container.Name].ContainerID,
		"%s: the record names another instance\n%s", pod.Name, s.History())
}

// checkRestart verifies that a Pod is out of service until its container has restarted, if its update restarts the container.
func (s *simulation) checkRestart(pod *corev1.Pod, held *corev1.PodCondition) {
	state, err := record.Read(pod)
	require.NoError(s.T, err)
	if state == nil || len(pod.Status.ContainerStatuses) == 0 || held == nil || held.Status != corev1.ConditionTrue {
		return
	}
	id := pod.Status.ContainerStatuses[0].ContainerID
	require.NotEqual(s.T, id, state.RestartContainers[pod.Spec.Containers[0].Name], "%s serves before its restart\n%s", pod.Name, s.History())
}

// mounts returns the names of the claims that a Pod mounts.
func mounts(pod *corev1.Pod) (claims []string) {
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			claims = append(claims, source.ClaimName)
		}
	}
	return claims
}

// purge records the claims of a Pod that is deleted on purpose. No Pod may mount them again.
func (s *simulation) purge(pod *corev1.Pod) {
	for _, claim := range s.Server.Claims() {
		if slices.Contains(mounts(pod), claim.Name) {
			s.purged[claim.UID] = true
		}
	}
}

// checkMounts verifies that a new Pod mounts new claims, or the claims of a lost Pod.
func (s *simulation) checkMounts(pod *corev1.Pod) {
	found := 0
	for _, claim := range s.Server.Claims() {
		if slices.Contains(mounts(pod), claim.Name) {
			found++
			require.False(s.T, s.purged[claim.UID], "%s mounts %s of a Pod that was deleted on purpose\n%s", pod.Name, claim.Name, s.History())
		}
	}
	require.Len(s.T, mounts(pod), found, "%s lacks claims\n%s", pod.Name, s.History())
}

// withdrawn reports whether the partition holds Pods at a revision that never becomes ready. Then picked and surplus Pods may
// have to wait forever, so the end state is not checked. The limits were still checked in every pass.
func (s *simulation) withdrawn() bool {
	partition, _, _ := s.bounds(s.Workloads.Newest())
	return partition > 0 && slices.ContainsFunc(s.active(), func(p *corev1.Pod) bool { return brokenImage(p.Spec.Containers[0].Image) })
}

// converged verifies that the end state matches the spec.
func (s *simulation) converged() {
	set := s.Workloads.Newest()
	partition, _, _ := s.bounds(set)
	replicas := replicasOf(set)
	if s.withdrawn() {
		return
	}
	for _, pod := range s.Server.Pods() {
		require.Equal(s.T, pod.Labels["app"] == "web", metav1.GetControllerOfNoCopy(pod) != nil, "owner of %s\n%s", pod.Name, s.History())
	}
	pods, updated, available := s.active(), 0, 0
	for _, pod := range pods {
		updated += one(history.Matches(revisionLabel(pod), set.Status.UpdateRevision))
		available += one(s.available(set, pod))
		require.True(s.T, lifecycle.Serves(lifecycle.Of(pod)), "%s is %s\n%s", pod.Name, lifecycle.Of(pod), s.History())
		require.NotContains(s.T, pod.Labels, pub.SpecifiedDeleteKey, s.History())
		for _, gate := range pod.Spec.ReadinessGates {
			require.Equal(s.T, corev1.ConditionTrue, controllertest.ConditionOf(pod, gate.ConditionType).Status, s.History())
		}
	}
	require.Empty(s.T, set.Spec.ScaleStrategy.PodsToDelete, s.History())
	require.Equal(s.T, replicas, len(pods), s.History())
	require.GreaterOrEqual(s.T, updated, replicas-partition, s.History())
	require.Equal(s.T, replicas, available, s.History())
	if s.gates.rollback && set.Status.CurrentRevision != set.Status.UpdateRevision {
		require.Equal(s.T, replicas-partition, updated, s.History())
	}
	s.convergedStatus(set, updated, available)
	s.convergedClaims(set, pods)
}

func (s *simulation) convergedStatus(set *v1beta1.CloneSet, updated, available int) {
	status := &set.Status
	require.Equal(s.T, set.Generation, status.ObservedGeneration, s.History())
	require.Equal(s.T, []int{replicasOf(set), updated, available},
		[]int{int(status.Replicas), int(status.UpdatedReplicas), int(status.AvailableReplicas)}, s.History())
	require.Empty(s.T, status.Conditions, s.History())
}

// convergedClaims verifies the owners of the claims. With claim reuse, the workload controls the claims of each Pod, so the
// claims outlive the Pod.
func (s *simulation) convergedClaims(set *v1beta1.CloneSet, pods []*corev1.Pod) {
	mounted := map[string]bool{}
	for _, pod := range pods {
		for _, claim := range mounts(pod) {
			mounted[claim] = true
		}
	}
	for _, claim := range s.Server.Claims() {
		owner := metav1.GetControllerOf(claim)
		if set.Spec.ScaleStrategy.EnablePVCReuse && mounted[claim.Name] {
			require.Equal(s.T, set.UID, owner.UID, "%s\n%s", claim.Name, s.History())
		}
		if !set.Spec.ScaleStrategy.EnablePVCReuse && owner.UID == set.UID {
			require.True(s.T, mounted[claim.Name], "%s is left over\n%s", claim.Name, s.History())
		}
	}
}

// nothingUndone verifies that an undisturbed rollout takes no detour: no Pods of one revision are both created and deleted,
// except to replace Pods that the user picked.
func (s *simulation) nothingUndone(picked map[string]int) {
	for revision, created := range s.created {
		deleted := s.deleted[revision]
		require.LessOrEqual(s.T, min(created, deleted), picked[revision],
			"%d created and %d deleted at %s\n%s", created, deleted, revision, s.History())
	}
}

func brokenImage(image string) bool { return strings.HasPrefix(image, "broken") }

// Scaling alone creates and deletes only the Pods that the change of replicas requires.
func TestScalingAloneIsExact(t *testing.T) {
	for seed := range uint64(100) {
		s := newSimulation(t, seed)
		s.peace()
		s.Run(s.pass)
		from := len(s.active())
		clear(s.created)
		s.edit(s.scale)
		s.Run(s.pass)
		created := 0
		for _, n := range s.created {
			created += n
		}
		require.Equal(t, replicasOf(s.Workloads.Newest()), len(s.active()), s.History())
		require.Equal(t, max(0, len(s.active())-from), created, s.History())
	}
}
