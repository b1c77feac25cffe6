package cloneset

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kuberecord "k8s.io/client-go/tools/record"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/inplace/record"
	"kruise.io/kruise/pkg/workload/kinds"
)

// By default, the simulation runs for a few seconds.
var (
	rollouts     = flag.Int("rollouts", 300, "how many rollouts TestSimulatedRollouts simulates")
	firstRollout = flag.Int("first-rollout", 0, "the seed of the first one")
)

// simulation runs the real controller in a simulated world. Meanwhile users and other writers act at random. After each pass it
// verifies that the controller kept the user's limits.
type simulation struct {
	*controllertest.Simulation[*v1beta1.CloneSet]
	r     *Reconciler
	gates settings
	// made counts the names of Pods, and restarts those of the workload.
	made, restarts int
	// created and deleted count the controller's actions by revision since the maps were last cleared. wrote are the Pods that the
	// controller wrote to in this pass.
	created, deleted map[string]int
	wrote            map[string]bool
	// written is the server's version after the controller's last write to each Pod, since the controller started.
	written map[string]int64
	// images are the images that the controller gave to each Pod, by Pod name.
	images map[string]string
	// waiting is the change that waits in each Pod for its grace period, by Pod name.
	waiting map[string]*record.Grace
	// ceiling is the maximum number of Pods that any pass was allowed since the controller started.
	ceiling int
	// purged are the claims of Pods that the controller deleted on purpose.
	purged map[types.UID]bool
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	s := &simulation{
		Simulation: controllertest.NewSimulation[*v1beta1.CloneSet](t, seed, clonesets.GroupResource(), brokenImage),
		created:    map[string]int{}, deleted: map[string]int{}, purged: map[types.UID]bool{},
		images: map[string]string{}, waiting: map[string]*record.Grace{},
	}
	s.Restart, s.Server.OnWrite = s.restart, s.observe
	s.Server.Interfere = func() { s.Interfere(s.anyPod()) }
	policies := []pub.PodUpdatePolicyType{
		pub.ReCreatePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceOnlyPodUpdatePolicy,
	}
	set := newSet(int32(s.Rand.IntN(9)), policy(policies[s.Rand.IntN(len(policies))]))
	controllertest.Mark(set.Spec.Template.Labels)
	s.gates.rollback, s.gates.preparingUpdateAsUpdate = s.Rand.IntN(2) == 0, s.Rand.IntN(2) == 0
	s.Node.Agent = s.Rand.IntN(2) == 0
	s.Logf("agent=%t policy=%s replicas=%d gates=%+v", s.Node.Agent, kinds.RollingUpdateOf(set).PodUpdatePolicy, replicasOf(set), s.gates)
	s.randomKnobs(&set.Spec)
	set.Spec.Lifecycle = s.RandomHooks()
	s.randomClaims(&set.Spec)
	s.Workloads.Store(set)
	s.restart()
	return s
}

// restart starts a controller with empty memory. Its caches show what the server has.
func (s *simulation) restart() {
	s.Forget()
	s.written, s.ceiling = map[string]int64{}, 0
	client := setClient{Versions: s.Workloads}
	s.r = &Reconciler{
		settings: s.gates, statuses: newStatusWriter(client, s.Guard, engine.NewPace(s.Clock)),
		sets: client, lists: &podsToDelete{sets: client, guard: s.Guard},
		engine: &engine.Engine{
			Server: s.Server, Caches: s.Caches.Caches(), Guard: s.Guard, Recorder: &kuberecord.FakeRecorder{}, Clock: s.Clock, Width: 1,
			Random: func(int) string { s.made++; return fmt.Sprintf("%05d", s.made) },
		},
	}
}

// edit changes the spec as a user does.
func (s *simulation) edit(change func(*v1beta1.CloneSetSpec)) {
	s.Workloads.Edit(func(set *v1beta1.CloneSet) { change(&set.Spec) })
}

// observe records and verifies each write of the controller.
func (s *simulation) observe(verb string, object metav1.Object) {
	s.Logf("  %s %T %s %s", verb, object, object.GetName(), object.GetLabels()[pub.LifecycleStateKey])
	s.SlowRequest()
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	s.wrote[pod.Name], s.written[pod.Name] = true, s.Server.Version()
	switch verb {
	case "create":
		s.created[revisionLabel(pod)]++
		s.images[pod.Name] = pod.Spec.Containers[0].Image
		s.checkMounts(pod)
		s.checkNumber()
	case "patch":
		s.checkUpdate(pod)
	case "delete":
		s.deleted[revisionLabel(pod)]++
		if pod.Status.Phase != corev1.PodFailed {
			s.purge(pod)
		}
	}
}

func revisionLabel(pod *corev1.Pod) string { return pod.Labels[pub.ControllerRevisionHashKey] }

// pass runs one reconcile and returns whether anything was written.
func (s *simulation) pass() bool {
	return s.Pass(func(ctx context.Context, set *v1beta1.CloneSet) (reconcile.Result, error) {
		s.wrote = map[string]bool{}
		seen := s.Caches.Pods()
		_, _, maxSurge := s.bounds(set)
		s.ceiling = max(s.ceiling, replicasOf(set)+maxSurge)
		result, err := s.r.Reconcile(ctx, set)
		s.check(seen)
		if !s.Server.Faults && s.Server.Quota >= 1000 {
			require.NoError(s.T, err, s.History())
		}
		return result, err
	})
}

func simulate(t *testing.T, seed uint64) {
	s := newSimulation(t, seed)
	for range 60 {
		if s.Rand.IntN(5) == 0 {
			s.disturb()
		}
		s.pass()
		s.AdvanceNodes(false)
	}
	s.peace()
	s.Run(s.pass)
	s.converged()
	if s.withdrawn() {
		return
	}
	// Nothing fails from here on, so nothing that is done may be undone later.
	clear(s.created)
	clear(s.deleted)
	picked := s.oneChange()
	s.Run(s.pass)
	s.converged()
	s.nothingUndone(picked)
}

func TestSimulatedRollouts(t *testing.T) {
	controllertest.Simulate(t, *firstRollout, *rollouts, simulate)
}

// FuzzRollouts runs the simulation without an end: go test -fuzz FuzzRollouts ./pkg/controller/cloneset.
func FuzzRollouts(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { simulate(t, seed) })
}

// spec returns the current spec of the user.
func (s *simulation) spec() *v1beta1.CloneSetSpec { return &s.Workloads.Newest().Spec }

// active returns the Pods on the server that count towards the replicas.
func (s *simulation) active() []*corev1.Pod {
	return slices.DeleteFunc(s.Server.Pods(), func(pod *corev1.Pod) bool { return !activePod(pod) || pod.Labels["app"] != "web" })
}
