package cloneset

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/lifecycle"
)

func (s *simulation) available(pods []*corev1.Pod) (names []string) {
	for _, pod := range pods {
		if s.view.available(pod) {
			names = append(names, pod.Name)
		}
	}
	return names
}

// counted leaves out the Pods that a hook holds before their deletion, where the user wants them left out.
func (s *simulation) counted(pods []*corev1.Pod) (n int) {
	for _, pod := range pods {
		n += one(!preparingDelete(pod) || !s.view.set.Spec.ScaleStrategy.ExcludePreparingDelete)
	}
	return n
}

// check holds one pass to what the user allowed: it neither takes a Pod out of service that must serve, nor makes one too many.
func (s *simulation) check(before []*corev1.Pod) {
	_, maxUnavailable, maxSurge := s.resolve()
	replicas := s.view.replicas()
	served, serve := s.available(before), s.available(s.pods)
	lost := slices.DeleteFunc(served, func(name string) bool { return slices.Contains(serve, name) })
	if len(lost) > 0 {
		require.GreaterOrEqual(s.t, len(serve), replicas-maxUnavailable, "too many unavailable by the controller's own doing\n%s", s.story())
	}
	if len(s.pods) > len(before) {
		require.LessOrEqual(s.t, s.counted(s.pods), replicas+maxSurge, "too many Pods\n%s", s.story())
	}
}

// withdrawn tells whether the partition holds Pods at a revision that never works. What was picked beside them may have to wait,
// and so may what is too much since the user asked for less: each pass was held to its bounds, and no more can be asked for.
func (s *simulation) withdrawn() bool {
	partition, _, _ := s.resolve()
	return partition > 0 && slices.ContainsFunc(s.pods, func(p *corev1.Pod) bool { return s.node.broken(p.Spec.Containers[0].Image) })
}

// converged holds the end to what the spec says.
func (s *simulation) converged() {
	partition, _, _ := s.resolve()
	replicas := s.view.replicas()
	if s.withdrawn() {
		return
	}
	updated := 0
	for _, pod := range s.pods {
		updated += one(s.view.updated(pod))
		require.True(s.t, lifecycle.Serves(lifecycle.Of(pod)), "%s is %s\n%s", pod.Name, lifecycle.Of(pod), s.story())
		require.NotContains(s.t, pod.Labels, pub.SpecifiedDeleteKey, s.story())
		for _, gate := range pod.Spec.ReadinessGates {
			require.Equal(s.t, corev1.ConditionTrue, conditionOf(pod, gate.ConditionType).Status, s.story())
		}
	}
	require.Empty(s.t, s.view.set.Spec.ScaleStrategy.PodsToDelete, s.story())
	require.Equal(s.t, replicas, len(s.pods), s.story())
	require.GreaterOrEqual(s.t, updated, replicas-partition, s.story())
	require.Equal(s.t, replicas, len(s.available(s.pods)), s.story())
	if s.view.rollback && s.view.current.Name != s.view.update.Name {
		require.Equal(s.t, replicas-partition, updated, s.story())
	}
}

// nothingUndone holds an undisturbed rollout to the shortest way: no revision has Pods both created and deleted, except to
// replace those that the user picked.
func (s *simulation) nothingUndone(picked map[string]int) {
	for revision, created := range s.created {
		deleted := s.deleted[revision]
		require.LessOrEqual(s.t, min(created, deleted), picked[revision],
			"%d created and %d deleted at %s\n%s", created, deleted, revision, s.story())
	}
}

func brokenImage(image string) bool { return strings.HasPrefix(image, "broken") }

// Scaling alone deletes and creates no Pod too many.
func TestScalingAloneIsExact(t *testing.T) {
	for seed := range uint64(200) {
		s := newSimulation(t, seed)
		s.peace()
		s.run()
		from, made := len(s.pods), s.made
		s.scale()
		s.run()
		require.Equal(t, s.view.replicas(), len(s.pods), s.story())
		require.Equal(t, max(0, len(s.pods)-from), s.made-made, s.story())
	}
}
