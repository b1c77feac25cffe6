package persistentpodstate

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// allow makes the administrator's list.
func (w *world) allow(list string) {
	w.t.Helper()
	w.Add(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: controllertest.SystemNamespace, Name: pub.ConfigurationName},
		Data:       map[string]string{pub.PersistentPodStateWorkloadsKey: list},
	})
}

const gamesAllowed = `{"workloads":[{"Group":"example.com","Version":"v9","Kind":"Game"}]}`

// gamePod returns a ready Pod of Game web.
func gamePod(name, node string) *corev1.Pod {
	object := pod(name, node)
	object.OwnerReferences[0].APIVersion, object.OwnerReferences[0].Kind = "example.com/v1", "Game"
	return object
}

// period lets the time pass after which a workload is read again, and settles.
func (w *world) period() {
	w.t.Helper()
	require.Equal(w.t, 15*time.Second, w.Step("ns", "web"), "nothing says when the workload changes")
	w.Clock.SetTime(w.Clock.Now().Add(15 * time.Second))
	w.settle("web")
}

// Case persistentpodstate 16.
func TestPersistentPodStateFollowsTheAnnotationsOfACustomWorkload(t *testing.T) {
	w := newWorld(t)
	w.allow(gamesAllowed)
	client := w.game(1)
	w.Add(gamePod("web-0", "n1"))
	w.settle("web")
	assert.False(t, w.exists("web"))

	annotated := func(annotations ...string) {
		require.NoError(t, client.Tracker().Update(games, game(annotations...), "ns"))
		w.period()
	}
	annotated(auto, "true", required, host)
	state := w.get("web")
	assert.Equal(t, v1beta1.PersistentPodStateSpec{
		TargetRef:                  v1beta1.TargetReference{APIVersion: "example.com/v1", Kind: "Game", Name: "web"},
		RequiredPersistentTopology: &v1beta1.NodeTopologyTerm{Keys: []string{host}},
	}, state.Spec)
	assert.Equal(t, []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Game", Name: "web", UID: "web", Controller: new(true)}},
		state.OwnerReferences, "the garbage collector deletes it too")
	assert.Equal(t, map[string]v1beta1.PodState{"web-0": on("n1")}, state.Status.PodStates)

	annotated(auto, "true", required, zone)
	assert.Equal(t, []string{zone}, w.get("web").Spec.RequiredPersistentTopology.Keys)
	annotated(auto, "false", required, zone)
	assert.False(t, w.exists("web"))
}

// Case persistentpodstate 19.
// Without Pods, the PersistentPodState itself leads to the workload.
func TestGeneratedPersistentPodStateGoesWithItsCustomWorkload(t *testing.T) {
	w := newWorld(t)
	w.allow(gamesAllowed)
	client := w.game(1, auto, "true", required, host)
	w.Add(gamePod("web-0", "n1"))
	w.settle("web")
	require.True(t, w.exists("web"))
	w.gone("web-0")
	w.period()
	assert.True(t, w.exists("web"), "the workload exists")
	require.NoError(t, client.Tracker().Delete(games, "ns", "web"))
	w.period()
	assert.False(t, w.exists("web"))
	assert.Zero(t, w.Step("ns", "web"), "neither Pods nor a PersistentPodState lead to a workload")
}

// A Pod leads to its workload when it is created.
func TestNewPodsLeadToTheirCustomWorkload(t *testing.T) {
	w := newWorld(t)
	key := []types.NamespacedName{{Namespace: "ns", Name: "web"}}
	assert.Equal(t, key, w.r.podChanged(nil, gamePod("web-0", "n1")))
	assert.Empty(t, w.r.podChanged(gamePod("web-0", ""), gamePod("web-0", "n1")))
	orphan := gamePod("web-0", "n1")
	orphan.OwnerReferences = nil
	assert.Equal(t, key, w.r.podChanged(orphan, gamePod("web-0", "n1")), "adopted")
	assert.Empty(t, w.r.podChanged(nil, pod("web-0", "n1")), "a StatefulSet is watched")
	static := pod("web-0", "n1")
	static.OwnerReferences[0].APIVersion, static.OwnerReferences[0].Kind = "v1", "Node"
	assert.Empty(t, w.r.podChanged(nil, static))
}

func TestCustomWorkloadsAreReadOnceInAPeriod(t *testing.T) {
	for name, test := range map[string]struct {
		list  string
		reads int
	}{
		"a kind that is allowed": {gamesAllowed, 1},
		"another kind":           {`{"workloads":[{"group":"example.com","kind":"Match"}]}`, 0},
		"no list":                {"", 0},
		"a list in no form":      {"{", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.allow(test.list)
			client := w.game(1)
			for period := range 3 {
				client.ClearActions()
				w.Kube.ClearActions()
				for i := range 5 {
					w.Add(gamePod(fmt.Sprintf("web-%d", period*5+i), "n1"))
					w.Observe()
					result, err := w.Pass("ns", "web")
					require.NoError(t, err)
					assert.NotZero(t, result.RequeueAfter, "the kind may be allowed, and the annotations may change")
					w.Clock.SetTime(w.Clock.Now().Add(time.Second))
				}
				assert.Len(t, client.Actions(), test.reads)
				assert.Len(t, w.Kube.Actions(), 1, "the list")
				w.Clock.SetTime(w.Clock.Now().Add(10 * time.Second))
			}
		})
	}
}

// If many Pods change one after another, the first is recorded at once and the others together.
func TestTargetsOfCustomKindsAreReadOnceASecond(t *testing.T) {
	w := newWorld(t)
	w.r.targets = controller.NewPacer(readPace)
	client := w.game(3)
	w.Add(gamePod("web-0", "n1"))
	w.state("example.com/v1", ofGame)
	assert.Len(t, w.records(), 1)
	reads := len(client.Actions())
	for _, name := range []string{"web-1", "web-2"} {
		w.Add(gamePod(name, "n2"))
		w.Clock.SetTime(w.Clock.Now().Add(readPace / 4))
		assert.Len(t, w.records(), 1)
	}
	assert.Equal(t, readPace/2, w.Step("ns", "state"))
	assert.Len(t, client.Actions(), reads)
	w.Clock.SetTime(w.Clock.Now().Add(readPace / 2))
	assert.Len(t, w.records(), 3)
}

// Case persistentpodstate 21.
func TestUnreadableWorkloadGeneratesNothingAndIsReported(t *testing.T) {
	w := newWorld(t)
	w.allow(gamesAllowed)
	client := w.game(1, auto, "true", required, host)
	readable := client.ReactionChain
	refuse(client, "")
	w.Add(gamePod("web-0", "n1"))
	w.settle("web")
	w.period()
	assert.Equal(t, []string{unreadable("no PersistentPodState is generated from its annotations")}, w.Events(), "once is enough")
	assert.False(t, w.exists("web"))
	client.ReactionChain = readable
	w.period()
	assert.True(t, w.exists("web"), "the permission was granted")
	assert.Empty(t, w.Events())
}

func TestKindsThatAreNotServedGenerateNothing(t *testing.T) {
	w := newWorld(t)
	w.allow(gamesAllowed)
	w.r.workloads.Mapper = meta.NewDefaultRESTMapper(nil)
	w.Add(gamePod("web-0", "n1"))
	assert.Equal(t, 15*time.Second, w.Step("ns", "web"))
	assert.False(t, w.exists("web"))
}
