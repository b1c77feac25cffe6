package statefulset

import (
	"context"
	"flag"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberecord "k8s.io/client-go/tools/record"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
)

// By default, the simulation runs for a few seconds.
var (
	rollouts     = flag.Int("rollouts", 300, "how many rollouts TestSimulatedRollouts simulates")
	firstRollout = flag.Int("first-rollout", 0, "the seed of the first one")
)

// simulation runs the real controller in a simulated world. Meanwhile users and other writers act at random. After each pass it
// verifies that the controller kept the order, the ordinals and the user's limits.
type simulation struct {
	*controllertest.Simulation[*v1beta1.StatefulSet]
	r     *Reconciler
	gates settings
	// created, deleted and wrote are the Pods that the controller wrote to in this pass.
	created, deleted, wrote map[string]bool
	// written is the server's version after the controller's last write to each Pod, since the controller started.
	written map[string]int64
}

// setClient is the client through which the controller writes the StatefulSet.
type setClient struct {
	client.StatefulSetInterface
	*controllertest.Versions[*v1beta1.StatefulSet]
}

func (c setClient) StatefulSets(string) client.StatefulSetInterface { return c }

func (c setClient) Get(context.Context, string, metav1.GetOptions) (*v1beta1.StatefulSet, error) {
	return c.Newest(), nil
}

func (c setClient) UpdateStatus(_ context.Context, set *v1beta1.StatefulSet, _ metav1.UpdateOptions) (*v1beta1.StatefulSet, error) {
	return c.Write(set.ResourceVersion, func(stored *v1beta1.StatefulSet) error {
		stored.Status = *set.Status.DeepCopy()
		return nil
	})
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	s := &simulation{Simulation: controllertest.NewSimulation[*v1beta1.StatefulSet](t, seed, statefulsets.GroupResource(), brokenImage)}
	s.Restart, s.Server.OnWrite = s.restart, s.observe
	s.Server.Interfere = func() { s.Interfere(s.anyPod()) }
	s.gates.retention, s.gates.indexLabel = true, true
	set := newSet(int32(s.Rand.IntN(7)))
	controllertest.Mark(set.Spec.Template.Labels)
	for _, change := range []edit{parallel, inPlace, volume("data", "1Gi")} {
		if s.Rand.IntN(2) == 0 {
			change(&set.Spec)
		}
	}
	s.Logf("%s %s claims=%d replicas=%d", set.Spec.PodManagementPolicy, rollingOf(set).PodUpdatePolicy,
		len(set.Spec.VolumeClaimTemplates), replicasOf(set))
	s.randomKnobs(&set.Spec)
	set.Spec.Lifecycle = s.RandomHooks()
	s.Workloads.Store(set)
	s.restart()
	return s
}

// restart starts a controller with empty memory. Its caches show what the server has.
func (s *simulation) restart() {
	s.Forget()
	s.written = map[string]int64{}
	client := setClient{Versions: s.Workloads}
	s.r = &Reconciler{
		settings: s.gates, failures: newFailures(s.Clock), sets: client,
		statuses: newStatusWriter(client, s.Guard, engine.NewPace(s.Clock)),
		engine: &engine.Engine{
			Server: s.Server, Caches: s.Caches.Caches(), Guard: s.Guard, Recorder: &kuberecord.FakeRecorder{}, Clock: s.Clock, Width: 1,
		},
	}
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
		s.created[pod.Name] = true
		s.checkMounts(pod)
	case "delete":
		s.deleted[pod.Name] = true
		s.checkHandOver(pod)
	}
}

// pass runs one reconcile and returns whether anything was written.
func (s *simulation) pass() bool {
	return s.Pass(func(ctx context.Context, set *v1beta1.StatefulSet) (reconcile.Result, error) {
		s.created, s.deleted, s.wrote = map[string]bool{}, map[string]bool{}, map[string]bool{}
		seen := s.Caches.Pods()
		result, err := s.r.Reconcile(ctx, set)
		s.check(set, seen)
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
}

func TestSimulatedRollouts(t *testing.T) {
	controllertest.Simulate(t, *firstRollout, *rollouts, simulate)
}

// FuzzRollouts runs the simulation without an end: go test -fuzz FuzzRollouts ./pkg/controller/statefulset.
func FuzzRollouts(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { simulate(t, seed) })
}
