package persistentpodstate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/kinds"
)

// Case persistentpodstate 1.
func TestReadyPodsAreRecorded(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(2), pod("web-0", "n1"), pod("web-1", "n2"))
	w.state(theirs)
	assert.Equal(t, map[string]v1beta1.PodState{"web-0": on("n1"), "web-1": on("n2")}, w.records())
	assert.Equal(t, int64(1), w.get("state").Status.ObservedGeneration)
	assert.Empty(t, w.settle("state"), "no write where nothing changed")
}

// Case persistentpodstate 3.
func TestRecordFollowsThePod(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(1), pod("web-0", "n1"))
	w.state(theirs, prefers(zone))
	both := v1beta1.PodState{NodeName: "n1", NodeTopologyLabels: map[string]string{host: "n1", zone: "a"}}
	assert.Equal(t, map[string]v1beta1.PodState{"web-0": both}, w.records())
	moved := pod("web-0", "n2")
	moved.Status.Conditions[0].Status = corev1.ConditionFalse
	w.Update(moved)
	assert.Equal(t, map[string]v1beta1.PodState{"web-0": both}, w.records(), "until the Pod is ready")
	w.Update(pod("web-0", "n2"))
	both.NodeName, both.NodeTopologyLabels[host] = "n2", "n2"
	assert.Equal(t, map[string]v1beta1.PodState{"web-0": both}, w.records())
}

// Case persistentpodstate 4.
func TestLabelsThatTheNodeLacksAreLeftOut(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(1), pod("web-0", "n3"))
	w.state(theirs, prefers(zone))
	assert.Equal(t, map[string]v1beta1.PodState{"web-0": on("n3")}, w.records())
	assert.Empty(t, w.settle("state"))
}

// Case persistentpodstate 5.
func TestRecordGoesWhenThePodIsScaledIn(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(2), pod("web-0", "n1"), pod("web-1", "n2"))
	w.state(theirs)
	w.settle("state")
	w.Update(builtIn(1))
	assert.Len(t, w.records(), 2, "the Pod exists")
	w.gone("web-1")
	assert.Equal(t, map[string]v1beta1.PodState{"web-0": on("n1")}, w.records())
	w.gone("web-0")
	assert.Len(t, w.records(), 1, "it comes back")
}

// Cases persistentpodstate 6, 7.
func TestRecordIsKeptUntilTheWorkloadIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(2), pod("web-0", "n1"), pod("web-1", "n2"))
	w.state(theirs, whenDeleted)
	w.settle("state")
	w.Update(builtIn(1))
	w.gone("web-1")
	assert.Len(t, w.records(), 2)
	require.NoError(t, w.Kube.AppsV1().StatefulSets("ns").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	w.Kube.ClearActions()
	assert.Empty(t, w.records())
}

// Case persistentpodstate 14.
func TestRecordsGoWhenTheDeletionOfTheWorkloadBegins(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(1), pod("web-0", "n1"))
	w.state(theirs)
	w.settle("state")
	dying := builtIn(1)
	dying.DeletionTimestamp, dying.Finalizers = new(metav1.NewTime(w.Clock.Now())), []string{"x/y"}
	w.Observe()
	assert.Contains(t, w.r.workloadChanged(kinds.StatefulSet)(builtIn(1), dying), types.NamespacedName{Namespace: "ns", Name: "state"})
	w.Update(dying)
	assert.Empty(t, w.records())
}

// Case persistentpodstate 8.
func TestReservedOrdinalsAreOutOfRange(t *testing.T) {
	w := newWorld(t)
	set := &v1beta1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"},
		Spec:       v1beta1.StatefulSetSpec{Replicas: new(int32(2)), ReserveOrdinals: []intstr.IntOrString{intstr.FromInt32(0)}},
	}
	w.Add(set, pod("web-0", "n1"), pod("web-1", "n1"), pod("web-2", "n2"))
	w.state(ours)
	assert.Len(t, w.records(), 3)
	w.gone("web-0", "web-1", "web-2")
	assert.Equal(t, map[string]v1beta1.PodState{"web-1": on("n1"), "web-2": on("n2")}, w.records())
}

// A StatefulSet of this project starts at 0 without the feature gate. One of Kubernetes has its start always.
func TestStartOrdinalIsHonoured(t *testing.T) {
	kube := builtIn(2)
	kube.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
	kruise := &v1beta1.StatefulSet{Spec: v1beta1.StatefulSetSpec{Replicas: new(int32(2)), Ordinals: &v1beta1.StatefulSetOrdinals{Start: 5}}}
	for gates, want := range map[string][]string{"": {"web-0", "web-1"}, "StatefulSetStartOrdinal=true": {"web-5", "web-6"}} {
		w := newGatedWorld(t, gates)
		var kept []string
		for _, name := range []string{"web-0", "web-1", "web-2", "web-4", "web-5", "web-6", "web-7", "stranger"} {
			if w.r.known(kruise).keeps(name) {
				kept = append(kept, name)
			}
		}
		assert.Equal(t, want, kept, gates)
		assert.True(t, w.r.known(builtIn(2)).keeps("web-0"), gates)
		assert.True(t, w.r.known(kube).keeps("web-6"), gates)
		assert.False(t, w.r.known(kube).keeps("web-0"), gates)
	}
}

// Case persistentpodstate 13.
func TestPodThatWasNeverReadyIsNotRecorded(t *testing.T) {
	w := newWorld(t)
	starting := pod("web-0", "n1")
	starting.Status.Conditions = nil
	w.Add(builtIn(1), starting)
	w.state(theirs)
	assert.Empty(t, w.records())
}

// Case persistentpodstate 15.
func TestAnnotationsAreRefreshed(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(1), pod("web-0", "n1", "ip", "1", "other", "x"))
	w.state(theirs, remembers("ip", "missing"))
	assert.Equal(t, map[string]string{"ip": "1"}, w.records()["web-0"].Annotations)
	w.Observe()
	assert.Len(t, w.r.podChanged(pod("web-0", "n1", "ip", "1"), pod("web-0", "n1", "ip", "2")), 1)
	assert.Empty(t, w.r.podChanged(pod("web-0", "n1"), pod("web-0", "n1")), "nothing that counts")
	w.Update(pod("web-0", "n1", "ip", "2"))
	assert.Equal(t, map[string]string{"ip": "2"}, w.records()["web-0"].Annotations)
}

// A StatefulSet that is created again adopts the Pods that a deletion with --cascade=orphan has kept. Nothing else of them changes.
func TestAdoptedPodsAreRecorded(t *testing.T) {
	w := newWorld(t)
	orphan, adopted := pod("web-0", "n1"), pod("web-0", "n1")
	orphan.OwnerReferences = nil
	w.Add(builtIn(1), orphan)
	w.state(theirs)
	assert.Empty(t, w.records())
	w.Update(adopted)
	w.Observe()
	for _, key := range w.r.podChanged(orphan, adopted) {
		w.settle(key.Name)
	}
	assert.Equal(t, map[string]v1beta1.PodState{"web-0": on("n1")}, w.get("state").Status.PodStates)
}

// Case persistentpodstate 18.
func TestChangedKeysAreRecordedAgain(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(1), pod("web-0", "n1"))
	w.state(theirs)
	w.settle("state")
	state := w.get("state")
	prefers(zone)(&state.Spec)
	state.Generation++
	w.Update(state)
	assert.Equal(t, map[string]string{host: "n1", zone: "a"}, w.records()["web-0"].NodeTopologyLabels)
}

// Case persistentpodstate 16.
func TestPodsOfACustomWorkloadAreRecorded(t *testing.T) {
	w := newWorld(t)
	client := w.game(1)
	w.Add(pod("web-0", "n1"), pod("web-1", "n2"))
	w.state("example.com/v2", ofGame)
	assert.Len(t, w.records(), 2)
	w.gone("web-0", "web-1")
	assert.Equal(t, map[string]v1beta1.PodState{"web-0": on("n1")}, w.records())
	assert.Equal(t, 15*time.Second, w.Step("ns", "state"), "nothing says when the workload changes")
	require.NoError(t, client.Tracker().Delete(games, "ns", "web"))
	assert.Empty(t, w.records())
}

// Case persistentpodstate 21.
func TestUnreadableWorkloadIsReportedWhenItBegins(t *testing.T) {
	for _, subresource := range []string{"", "scale"} {
		t.Run("the workload "+subresource, func(t *testing.T) {
			w := newWorld(t)
			client := w.game(1)
			w.Add(pod("web-0", "n1"))
			w.state("example.com/v1", ofGame)
			require.Len(t, w.records(), 1)
			readable := client.ReactionChain
			refuse(client, subresource)
			w.Add(pod("web-1", "n2"))
			assert.Len(t, w.records(), 1)
			event := unreadable("its Pods are not recorded")
			assert.Equal(t, []string{event}, w.Events(), "once is enough")
			assert.Equal(t, 15*time.Second, w.Step("ns", "state"), "the permission may be granted")

			client.ReactionChain = readable
			assert.Len(t, w.records(), 2, "the permission was granted")
			refuse(client, subresource)
			w.settle("state")
			assert.Equal(t, []string{event}, w.Events(), "it was revoked")
		})
	}
}

// TestPinnedPodTellsThatItsNodeIsGone warns about a Pod that no node can run.
func TestPinnedPodTellsThatItsNodeIsGone(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(1), pod("web-0", "n1"))
	w.state(theirs)
	w.settle("state")
	waiting := pod("web-0", "", pub.InjectedPersistentPodStateKey, "state")
	waiting.Status = corev1.PodStatus{Phase: corev1.PodPending}
	w.Update(waiting)
	w.settle("state")
	assert.Empty(t, w.Events(), "the node exists")
	require.NoError(t, w.Kube.CoreV1().Nodes().Delete(t.Context(), "n1", metav1.DeleteOptions{}))
	w.Kube.ClearActions()
	w.Step("ns", "state")
	events := w.Events()
	require.Len(t, events, 1)
	assert.Contains(t, events[0], "Warning NodeNotFound no node has the labels that PersistentPodState state requires: node n1")
}

// TestLargeStatesPauseBetweenPasses checks that one pass covers the changes of many Pods, because each pass writes all records.
func TestLargeStatesPauseBetweenPasses(t *testing.T) {
	w := newWorld(t)
	w.r.pace.Large = 2
	w.Add(builtIn(4), pod("web-0", "n1"), pod("web-1", "n1"))
	w.state(theirs)
	w.settle("state")
	w.Clock.SetTime(w.Clock.Now().Add(time.Minute))
	records := func() int { return len(w.get("state").Status.PodStates) }
	w.Add(pod("web-2", "n1"))
	w.Step("ns", "state")
	assert.Equal(t, 3, records(), "the first event after a while is worked on at once")
	w.Update(pod("web-0", "n2"))
	w.Add(pod("web-3", "n1"))
	wait := w.Step("ns", "state")
	assert.Equal(t, 3, records(), "the next one waits for others to come")
	w.Clock.SetTime(w.Clock.Now().Add(wait))
	w.Step("ns", "state")
	assert.Equal(t, 4, records())
	assert.Equal(t, "n2", w.get("state").Status.PodStates["web-0"].NodeName)
}
