package cloneset

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kuberecord "k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// By default, the simulation runs for a few seconds.
var (
	rollouts     = flag.Int("rollouts", 300, "how many rollouts TestSimulatedRollouts simulates")
	firstRollout = flag.Int("first-rollout", 0, "the seed of the first one")
)

// simulation runs the real controller against a server in memory. Meanwhile users, hooks, nodes, networks and other writers act
// at random, caches lag, and the controller is killed between any two of its writes. After each pass it verifies that the
// controller kept the user's limits.
type simulation struct {
	t       *testing.T
	rand    *rand.Rand
	server  *controllertest.Server
	caches  *controllertest.LaggingCaches
	sets    *setServer
	node    *controllertest.Node
	clock   *clocktesting.FakePassiveClock
	r       *Reconciler
	guard   *consistency.Guard
	gates   settings
	log     []string
	made    int
	trouble bool
	// sick are the Pods that their nodes report as not ready.
	sick map[string]bool
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
	// due is the delay that the last pass asked for.
	due time.Duration
	// purged are the claims of Pods that the controller deleted on purpose.
	purged map[types.UID]bool
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, seed))
	policies := []pub.PodUpdatePolicyType{
		pub.ReCreatePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceOnlyPodUpdatePolicy,
	}
	set := newSet(int32(r.IntN(9)), policy(policies[r.IntN(len(policies))]))
	set.Spec.Template.Labels["del"], set.Spec.Template.Labels["upd"] = "on", "on"
	s := &simulation{
		t: t, rand: r, server: controllertest.NewServer(r), clock: clocktesting.NewFakePassiveClock(controllertest.Now),
		node: &controllertest.Node{Now: controllertest.Now, Broken: brokenImage}, trouble: r.IntN(2) == 0,
		sick: map[string]bool{}, created: map[string]int{}, deleted: map[string]int{}, purged: map[types.UID]bool{},
		images: map[string]string{}, waiting: map[string]*record.Grace{},
	}
	s.gates.rollback, s.gates.preparingUpdateAsUpdate = r.IntN(2) == 0, r.IntN(2) == 0
	s.server.OnWrite, s.server.Interfere, s.server.Trouble = s.observe, s.interfere, s.trouble
	s.caches = controllertest.NewLaggingCaches(s.server)
	s.sets = &setServer{server: s.server}
	s.logf("seed %d policy=%s replicas=%d gates=%+v trouble=%t", seed, rollingOf(set).PodUpdatePolicy, replicasOf(set), s.gates, s.trouble)
	s.randomKnobs(&set.Spec)
	s.randomHooks(&set.Spec)
	s.randomClaims(&set.Spec)
	s.sets.store(set)
	s.restart()
	return s
}

// restart starts a controller with empty memory. Its caches show what the server has.
func (s *simulation) restart() {
	s.server.Arrive()
	s.written, s.ceiling = map[string]int64{}, 0
	s.guard = consistency.New(consistency.Config{Timeout: time.Hour, Clock: s.clock})
	s.guard.Add(clonesets.GroupResource(), s.sets)
	for _, resource := range []schema.GroupVersionResource{engine.PodResource, engine.ClaimResource, engine.RevisionResource} {
		s.guard.Add(resource.GroupResource(), s.caches.Store(resource.GroupResource()))
	}
	s.r = &Reconciler{
		settings: s.gates, pace: engine.NewPace(s.clock), report: &reporter{sets: setClient{setServer: s.sets}, guard: s.guard},
		engine: &engine.Engine{
			Server: s.server, Caches: s.caches.Caches(), Guard: s.guard, Recorder: &kuberecord.FakeRecorder{}, Clock: s.clock, Width: 1,
			Random: func(int) string { s.made++; return fmt.Sprintf("%05d", s.made) },
		},
	}
	s.catchUp()
}

func (s *simulation) catchUp() {
	s.caches.Reach(s.server.Version())
	s.sets.catchUp()
}

func (s *simulation) logf(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *simulation) story() string { return strings.Join(s.log, "\n") }

// observe records and verifies each write of the controller.
func (s *simulation) observe(verb string, object metav1.Object) {
	s.logf("  %s %T %s %s", verb, object, object.GetName(), object.GetLabels()[pub.LifecycleStateKey])
	// Some requests take long.
	if s.server.Trouble && s.rand.IntN(10) == 0 {
		s.clock.SetTime(s.clock.Now().Add(time.Duration(s.rand.IntN(1500)) * time.Millisecond))
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	s.wrote[pod.Name], s.written[pod.Name] = true, s.server.Version()
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
	s.clock.SetTime(s.clock.Now().Add(time.Second))
	s.node.Now = s.clock.Now()
	s.server.WritesLeft = -1
	if s.trouble && s.rand.IntN(6) == 0 {
		s.server.WritesLeft = s.rand.IntN(4)
	}
	if s.trouble && s.rand.IntN(2) == 0 {
		s.caches.Lag()
		s.sets.lag()
	} else {
		s.catchUp()
	}
	s.wrote = map[string]bool{}
	version, versions := s.server.Version(), len(s.sets.versions)
	seen := s.caches.Pods()
	s.logf("pass")
	_, _, maxSurge := s.bounds(s.sets.cached())
	s.ceiling = max(s.ceiling, replicasOf(s.sets.cached())+maxSurge)
	ctx := klog.NewContext(s.t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(io.Discard))))
	var result reconcile.Result
	var err error
	if set := s.sets.cached(); s.guard.Wait(ctx, set) == 0 {
		result, err = s.r.Reconcile(ctx, set)
	}
	s.due = result.RequeueAfter
	s.check(seen)
	if err != nil {
		s.logf("  %s", strings.ReplaceAll(err.Error(), "\n", " | "))
		require.True(s.t, s.server.Trouble || s.server.Quota < 1000, "%v\n%s", err, s.story())
	}
	if s.server.WritesLeft == 0 {
		s.logf("  killed")
		s.server.WritesLeft = -1
		s.restart()
	}
	return s.server.Version() != version || len(s.sets.versions) != versions
}

func simulate(t *testing.T, seed uint64) {
	s := newSimulation(t, seed)
	for range 60 {
		if s.rand.IntN(5) == 0 {
			s.disturb()
		}
		s.pass()
		s.surroundings(false)
	}
	s.peace()
	s.run()
	s.converged()
	if s.withdrawn() {
		return
	}
	// Nothing fails from here on, so nothing that is done may be undone later.
	clear(s.created)
	clear(s.deleted)
	picked := s.oneChange()
	s.run()
	s.converged()
	s.nothingUndone(picked)
}

// run continues until nothing changes any more.
func (s *simulation) run() {
	quiet := 0
	for range 500 {
		acted := s.pass()
		if s.surroundings(true) || acted {
			quiet = 0
			continue
		}
		// The passing of time may still trigger something that the controller asked for.
		if quiet++; quiet == 8 {
			return
		}
		s.clock.SetTime(s.clock.Now().Add(s.due))
	}
	require.Failf(s.t, "it never comes to rest", "%s", s.story())
}

func TestSimulatedRollouts(t *testing.T) {
	const shards = 4
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for i := shard; i < *rollouts; i += shards {
				simulate(t, uint64(*firstRollout+i))
			}
		})
	}
}

// FuzzRollouts runs the simulation without an end: go test -fuzz FuzzRollouts ./pkg/controller/cloneset.
func FuzzRollouts(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { simulate(t, seed) })
}

// spec returns the current spec of the user.
func (s *simulation) spec() *v1beta1.CloneSetSpec { return &s.sets.newest().Spec }

// active returns the Pods on the server that count towards the replicas.
func (s *simulation) active() []*corev1.Pod {
	return slices.DeleteFunc(s.server.Pods(), func(pod *corev1.Pod) bool { return !activePod(pod) || pod.Labels["app"] != "web" })
}
