package controllertest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Markers of the hooks that RandomHooks returns.
const (
	onDelete = "del"
	onUpdate = "upd"
	onNormal = "ok"
	marked   = "on"
)

// Simulation is the world of the controller of one workload: a server in memory, caches that lag, nodes, the listeners of hooks, and a
// controller that is killed between any two of its writes.
type Simulation[T interface {
	metav1.Object
	runtime.Object
}] struct {
	T         *testing.T
	Rand      *rand.Rand
	Server    *Server
	Caches    *LaggingCaches
	Workloads *Versions[T]
	Node      *Node
	Clock     *clocktesting.FakePassiveClock
	Guard     *consistency.Guard
	// Restart starts a controller with empty memory after a kill.
	Restart func()
	// Faults is true while caches lag and the controller is killed.
	Faults bool
	// Sick are the Pods that their nodes report as not ready.
	Sick map[string]bool
	// Began is the controller's time at the start of the last pass.
	Began time.Time
	// skew is how far the clocks of the nodes are ahead of the controller's clock.
	skew time.Duration
	// due is the delay that the last pass asked for.
	due time.Duration
	log []string
}

// NewSimulation returns a simulation of a workload of the resource. Half of them have trouble. broken tells the images that do not run.
func NewSimulation[T interface {
	metav1.Object
	runtime.Object
}](t *testing.T, seed uint64, resource schema.GroupResource, broken func(image string) bool) *Simulation[T] {
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // no secret is made of it
	server := NewServer(random)
	s := &Simulation[T]{
		T: t, Rand: random, Server: server, Caches: NewLaggingCaches(server), Clock: clocktesting.NewFakePassiveClock(Now),
		Workloads: &Versions[T]{Server: server, Resource: resource}, Node: &Node{Now: Now, Broken: broken},
		Faults: random.IntN(2) == 0, Sick: map[string]bool{},
	}
	server.Faults = s.Faults
	s.skew = time.Duration(random.IntN(7)-3) * time.Second
	s.Logf("seed %d trouble=%t skew=%s", seed, s.Faults, s.skew)
	return s
}

// Forget ends what a killed controller had begun, and gives the next one an empty guard. Its caches show what the server has.
func (s *Simulation[T]) Forget() {
	s.Server.Arrive()
	s.Guard = consistency.New(consistency.Config{Timeout: time.Hour, Clock: s.Clock})
	s.Guard.Add(s.Workloads.Resource, s.Workloads)
	for _, resource := range []schema.GroupVersionResource{engine.PodResource, engine.ClaimResource, engine.RevisionResource} {
		s.Guard.Add(resource.GroupResource(), s.Caches.Store(resource.GroupResource()))
	}
	s.catchUp()
}

func (s *Simulation[T]) catchUp() {
	s.Caches.Reach(s.Server.Version())
	s.Workloads.CatchUp()
}

// Logf adds a line to the history.
func (s *Simulation[T]) Logf(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// History returns all that happened, one line each.
func (s *Simulation[T]) History() string { return strings.Join(s.log, "\n") }

// Pick returns one of the options.
func (s *Simulation[T]) Pick(options ...string) string { return options[s.Rand.IntN(len(options))] }

// SlowRequest lets time pass, because some requests take long.
func (s *Simulation[T]) SlowRequest() {
	if s.Server.Faults && s.Rand.IntN(10) == 0 {
		s.Clock.SetTime(s.Clock.Now().Add(time.Duration(s.Rand.IntN(1500)) * time.Millisecond))
	}
}

// Pass runs one reconcile, unless the guard makes it wait. It returns whether anything was written.
func (s *Simulation[T]) Pass(reconcileOnce func(context.Context, T) (reconcile.Result, error)) bool {
	s.Clock.SetTime(s.Clock.Now().Add(time.Second))
	s.Began = s.Clock.Now()
	s.Node.Now = s.Began.Add(s.skew)
	s.Server.WritesLeft = -1
	if s.Faults && s.Rand.IntN(6) == 0 {
		s.Server.WritesLeft = s.Rand.IntN(4)
	}
	if s.Faults && s.Rand.IntN(2) == 0 {
		s.Caches.Lag()
		s.Workloads.Lag()
	} else {
		s.catchUp()
	}
	version, versions := s.Server.Version(), s.Workloads.Count()
	s.Logf("pass")
	ctx := klog.NewContext(s.T.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(io.Discard))))
	var result reconcile.Result
	var err error
	if workload := s.Workloads.Cached(); s.Guard.Wait(ctx, workload) == 0 {
		result, err = reconcileOnce(ctx, workload)
	}
	s.due = result.RequeueAfter
	if err != nil {
		s.Logf("  %s", strings.ReplaceAll(err.Error(), "\n", " | "))
	}
	if s.Server.WritesLeft == 0 {
		s.Logf("  killed")
		s.Server.WritesLeft = -1
		s.Restart()
	}
	return s.Server.Version() != version || s.Workloads.Count() != versions
}

// Run continues with passes until nothing changes any more.
func (s *Simulation[T]) Run(pass func() bool) {
	quiet := 0
	for range 600 {
		acted := pass()
		if s.AdvanceNodes(true) || acted {
			quiet = 0
			continue
		}
		// The passing of time may still trigger something that the controller asked for.
		if quiet++; quiet == 8 {
			return
		}
		s.Clock.SetTime(s.Clock.Now().Add(s.due))
	}
	require.Failf(s.T, "it never comes to rest", "%s", s.History())
}

// StopFaults ends all failures.
func (s *Simulation[T]) StopFaults() {
	s.Faults, s.Server.Faults, s.Server.Quota = false, false, 1000
	s.Server.Arrive()
	clear(s.Sick)
	s.Logf("peace")
}

// RandomHooks returns hooks whose markers a template sets, so that each Pod is held.
func (s *Simulation[T]) RandomHooks() *pub.Lifecycle {
	hook := func(key string) *pub.LifecycleHook {
		if s.Rand.IntN(4) > 0 {
			return nil
		}
		return &pub.LifecycleHook{LabelsHandler: map[string]string{key: marked}, MarkPodNotReady: s.Rand.IntN(2) == 0}
	}
	hooks := &pub.Lifecycle{PreDelete: hook(onDelete), InPlaceUpdate: hook(onUpdate), PreNormal: hook(onNormal)}
	s.Logf("preDelete=%+v inPlaceUpdate=%+v preNormal=%+v", hooks.PreDelete, hooks.InPlaceUpdate, hooks.PreNormal)
	return hooks
}

// Mark sets the markers that new Pods have.
func Mark(labels map[string]string) { labels[onDelete], labels[onUpdate] = marked, marked }

// Interfere lets the node of a Pod make progress, or a container of the Pod exit, between two writes of a pass.
func (s *Simulation[T]) Interfere(pod *corev1.Pod) {
	if pod == nil || pod.DeletionTimestamp != nil {
		return
	}
	change, what := s.progress, "progress of"
	if s.Rand.IntN(2) == 0 {
		change, what = s.Node.Crash, "crash of"
	}
	s.Logf("  meanwhile %s %s", what, pod.Name)
	s.Server.ChangePod(pod.Name, change)
}

// ToggleReady makes the node report a Pod as not ready, or as ready again.
func (s *Simulation[T]) ToggleReady(name string) {
	s.Sick[name] = !s.Sick[name]
	s.Logf("sick %s %t", name, s.Sick[name])
}

// AdvanceNodes lets some or all nodes and listeners of hooks make progress. It returns whether anything changed.
func (s *Simulation[T]) AdvanceNodes(all bool) (changed bool) {
	s.Server.Arrive()
	for _, pod := range s.Server.Pods() {
		if !all && s.Rand.IntN(2) == 0 {
			continue
		}
		switch {
		case pod.DeletionTimestamp != nil:
			s.stop(pod)
			changed = true
		case pod.Status.Phase == corev1.PodFailed:
			changed = s.Server.ChangePod(pod.Name, answer) || changed
		default:
			changed = s.Server.ChangePod(pod.Name, s.progress) || changed
		}
	}
	return s.Server.Collect() || changed
}

// stop lets the node of a Pod that is being deleted act: it first reports the end of the containers, and then removes the Pod. A Pod that
// is deleted by force is removed at once.
func (s *Simulation[T]) stop(pod *corev1.Pod) {
	if podstate.Finished(pod) || s.Rand.IntN(4) == 0 {
		s.Server.Stop(pod)
		return
	}
	phase := corev1.PodSucceeded
	if s.Rand.IntN(2) == 0 {
		phase = corev1.PodFailed
	}
	s.Server.ChangePod(pod.Name, func(stopped *corev1.Pod) { s.Node.Stop(stopped, phase) })
}

// progress lets the Pod's node and the listeners of its hooks act.
func (s *Simulation[T]) progress(pod *corev1.Pod) {
	answer(pod)
	if s.Faults && s.Rand.IntN(4) == 0 {
		s.Node.Halt(pod)
		return
	}
	s.Node.Run(pod)
	if s.Sick[pod.Name] {
		SetConditionOf(pod, corev1.PodReady, corev1.ConditionFalse, s.Node.Now)
	}
}

// answer acts like the listener of a hook.
func answer(pod *corev1.Pod) {
	switch lifecycle.Of(pod) {
	case pub.LifecycleStatePreparingDelete:
		delete(pod.Labels, onDelete)
	case pub.LifecycleStatePreparingUpdate:
		delete(pod.Labels, onUpdate)
	case pub.LifecycleStateUpdated:
		pod.Labels[onUpdate] = marked
	case pub.LifecycleStatePreparingNormal:
		pod.Labels[onNormal], pod.Labels[onDelete] = marked, marked
	default: // No hook waits.
	}
}

// Simulate runs a number of simulations at once, from the seed first on.
func Simulate(t *testing.T, first, number int, simulate func(t *testing.T, seed uint64)) {
	const shards = 4
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for i := shard; i < number; i += shards {
				simulate(t, uint64(first+i))
			}
		})
	}
}
