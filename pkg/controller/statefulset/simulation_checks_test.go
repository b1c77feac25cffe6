package statefulset

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/ordinals"
	"kruise.io/kruise/pkg/workload/podstate"
)

// wanted returns the names of the Pods in range, in order. It does not use the code under test.
func (s *simulation) wanted(set *v1beta1.StatefulSet) (names []string) {
	reserved := map[int]bool{}
	for _, item := range set.Spec.ReserveOrdinals {
		first, last, ranged := strings.Cut(item.String(), "-")
		from, err := strconv.Atoi(first)
		require.NoError(s.T, err)
		to := from
		if ranged {
			to, err = strconv.Atoi(last)
			require.NoError(s.T, err)
		}
		for ; from <= to; from++ {
			reserved[from] = true
		}
	}
	for n := 0; len(names) < replicasOf(set); n++ {
		if !reserved[n] {
			names = append(names, "web-"+strconv.Itoa(n))
		}
	}
	return names
}

func (s *simulation) available(set *v1beta1.StatefulSet, pod *corev1.Pod) bool {
	return pod != nil && podstate.Active(pod) && metav1.GetControllerOfNoCopy(pod) != nil &&
		podstate.Available(pod, ptr.Deref(rollingOf(set).MinReadySeconds, 0), s.Began)
}

// takenOut reports whether the controller keeps a Pod out of service.
func takenOut(pod *corev1.Pod) bool {
	if pod == nil {
		return true
	}
	held := controllertest.ConditionOf(pod, pub.InPlaceUpdateReadyConditionType)
	return pod.DeletionTimestamp != nil || !lifecycle.Serves(lifecycle.Of(pod)) || held != nil && held.Status != corev1.ConditionTrue
}

// check verifies one pass, as far as the controller could know what it violates.
func (s *simulation) check(set *v1beta1.StatefulSet, seen []*corev1.Pod) {
	known, now := map[string]*corev1.Pod{}, map[string]*corev1.Pod{}
	for _, pod := range seen {
		// A terminating Pod without a controller is nobody's. It is not adopted, and the next Pod of its name waits on the server.
		if pod.DeletionTimestamp == nil || metav1.GetControllerOf(pod) != nil {
			known[pod.Name] = pod
		}
	}
	for _, pod := range s.Server.Pods() {
		now[pod.Name] = pod
	}
	wanted := s.wanted(set)
	s.checkOrdinals()
	s.checkCreated(set, wanted, known)
	s.checkCondemned(set, wanted, known)
	s.checkUnavailable(set, wanted, known, now)
}

// checkOrdinals verifies that no two Pods have the same ordinal, by the labels that Pods carry.
func (s *simulation) checkOrdinals() {
	pods := map[string]string{}
	for _, pod := range s.Server.Pods() {
		ordinal := pod.Labels[appsv1.PodIndexLabel]
		require.Empty(s.T, pods[ordinal], "%s has the ordinal %s too\n%s", pod.Name, ordinal, s.History())
		require.Equal(s.T, pod.Name, "web-"+ordinal, s.History())
		pods[ordinal] = pod.Name
	}
}

// checkCreated verifies that only Pods in range are created, and in order, that only one is created after all Pods before it are
// available.
func (s *simulation) checkCreated(set *v1beta1.StatefulSet, wanted []string, known map[string]*corev1.Pod) {
	for name := range s.created {
		require.Contains(s.T, wanted, name, "created out of range\n%s", s.History())
		require.Nil(s.T, known[name], "%s had not gone\n%s", name, s.History())
		if !ordered(set) {
			continue
		}
		require.Len(s.T, s.created, 1, "in order, one Pod at a time\n%s", s.History())
		for _, before := range wanted[:slices.Index(wanted, name)] {
			require.True(s.T, s.available(set, known[before]), "%s was created before %s was available\n%s", name, before, s.History())
		}
	}
}

// checkCondemned verifies that Pods in range exist before others are deleted, and in order, that the one with the highest ordinal is
// deleted when all Pods in range are available.
func (s *simulation) checkCondemned(set *v1beta1.StatefulSet, wanted []string, known map[string]*corev1.Pod) {
	highest := -1
	for name := range known {
		if n, ours := ordinals.Of("web", known[name]); ours && !slices.Contains(wanted, name) {
			highest = max(highest, n)
		}
	}
	for name := range s.deleted {
		if slices.Contains(wanted, name) {
			continue
		}
		for _, other := range wanted {
			require.NotNil(s.T, known[other], "%s was deleted before %s existed\n%s", name, other, s.History())
			require.True(s.T, !ordered(set) || s.available(set, known[other]), "%s was deleted while %s was unavailable\n%s", name, other, s.History())
		}
		require.True(s.T, !ordered(set) || name == "web-"+strconv.Itoa(highest), "%s was deleted out of order\n%s", name, s.History())
	}
}

// checkUnavailable verifies that no more Pods in range are out of service than the user allows, if the pass took one out.
func (s *simulation) checkUnavailable(set *v1beta1.StatefulSet, wanted []string, known, now map[string]*corev1.Pod) {
	serve, lost := 0, 0
	for _, name := range wanted {
		if !s.available(set, known[name]) {
			continue
		}
		switch {
		case s.wrote[name] && takenOut(now[name]):
			lost++
		case s.writtenAfter(known[name]) && takenOut(now[name]):
			// An earlier pass took the Pod out of service. This pass must know that, whatever its cache shows.
		default:
			serve++
		}
	}
	if lost > 0 {
		limit, err := intstr.GetScaledValueFromIntOrPercent(rollingOf(set).MaxUnavailable, len(wanted), false)
		require.NoError(s.T, err)
		require.GreaterOrEqual(s.T, serve, len(wanted)-max(1, limit), "too many unavailable by the controller's own doing\n%s", s.History())
	}
}

// writtenAfter reports whether this controller wrote to the Pod after the version that its cache shows.
func (s *simulation) writtenAfter(pod *corev1.Pod) bool {
	version, err := strconv.ParseInt(pod.ResourceVersion, 10, 64)
	require.NoError(s.T, err)
	return s.written[pod.Name] > version
}

// checkMounts verifies that a new Pod mounts the claims of its ordinal, and that none of them goes with an earlier Pod.
func (s *simulation) checkMounts(pod *corev1.Pod) {
	claims := map[string]*corev1.PersistentVolumeClaim{}
	for _, claim := range s.Server.Claims() {
		claims[claim.Name] = claim
	}
	for i := range pod.Spec.Volumes {
		name := pod.Spec.Volumes[i].PersistentVolumeClaim.ClaimName
		require.Equal(s.T, "data-"+pod.Name, name)
		require.Contains(s.T, claims, name, "%s lacks its claim\n%s", pod.Name, s.History())
	}
}

// checkHandOver verifies that a Pod out of range goes with its claims, if the policy that the controller knew says so.
func (s *simulation) checkHandOver(pod *corev1.Pod) {
	set := s.Workloads.Cached()
	if slices.Contains(s.wanted(set), pod.Name) || set.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled != drop {
		return
	}
	for _, claim := range s.Server.Claims() {
		if claim.Name == "data-"+pod.Name {
			goes := slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == pod.UID })
			require.True(s.T, goes, "%s does not go with its Pod\n%s", claim.Name, s.History())
		}
	}
}

// converged verifies that the end state matches the spec.
func (s *simulation) converged() {
	set := s.Workloads.Newest()
	wanted := s.wanted(set)
	broken := slices.ContainsFunc(s.Server.Pods(), func(pod *corev1.Pod) bool { return brokenImage(pod.Spec.Containers[0].Image) })
	if partition := *rollingOf(set).Partition; partition > 0 && broken {
		return // Pods below the partition return at a revision that never becomes ready.
	}
	var names []string
	updated := 0
	for _, pod := range s.Server.Pods() {
		names = append(names, pod.Name)
		require.True(s.T, s.available(set, pod), "%s is unavailable\n%s", pod.Name, s.History())
		require.NotContains(s.T, pod.Labels, pub.SpecifiedDeleteKey, s.History())
		if pod.Labels["controller-revision-hash"] == set.Status.UpdateRevision {
			updated++
		}
	}
	require.Equal(s.T, wanted, names, s.History())
	require.GreaterOrEqual(s.T, updated, len(wanted)-int(*rollingOf(set).Partition), s.History())
	status := &set.Status
	require.Equal(s.T, set.Generation, status.ObservedGeneration, s.History())
	require.Equal(s.T, []int{len(wanted), len(wanted), len(wanted), updated},
		[]int{int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas), int(status.UpdatedReplicas)}, s.History())
	require.Empty(s.T, status.Conditions, s.History())
	s.convergedClaims(set, wanted)
}

func (s *simulation) convergedClaims(set *v1beta1.StatefulSet, wanted []string) {
	for _, claim := range s.Server.Claims() {
		pod := strings.TrimPrefix(claim.Name, "data-")
		if !slices.Contains(wanted, pod) {
			continue
		}
		want := 0
		if set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted == drop {
			want = 1
		}
		require.Len(s.T, claim.OwnerReferences, want, "%s\n%s", claim.Name, s.History())
		require.True(s.T, want == 0 || claim.OwnerReferences[0].UID == set.UID, "%s\n%s", claim.Name, s.History())
	}
}
