//go:build e2e && fault

package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/test/hostcontroller"
)

// rolloutsEach is the number of rollouts of each CloneSet. All CloneSets together make fifty.
const rolloutsEach = 5

// stresses are the CloneSets of the test. Each changes its Pods in another way.
var stresses = []stress{
	{"recreate", "{type: ReCreate, maxUnavailable: 1}", 6, 0, 1},
	{"recreate-half", "{type: ReCreate, maxUnavailable: 50%}", 6, 0, 3},
	{"recreate-surge", "{type: ReCreate, maxUnavailable: 0, maxSurge: 2}", 6, 2, 0},
	{"recreate-both", "{type: ReCreate, maxUnavailable: 1, maxSurge: 1}", 6, 1, 1},
	{"in-place", "{type: InPlaceIfPossible, maxUnavailable: 1}", 6, 0, 1},
	{"in-place-all", "{type: InPlaceIfPossible, maxUnavailable: 100%}", 20, 0, 20},
	{"in-place-surge", "{type: InPlaceIfPossible, maxUnavailable: 0, maxSurge: 2}", 6, 2, 0},
	{"in-place-grace", "{type: InPlaceIfPossible, maxUnavailable: 2, inPlaceUpdateStrategy: {gracePeriodSeconds: 1}}", 6, 0, 2},
	{"in-place-only", "{type: InPlaceOnly, maxUnavailable: 2}", 6, 0, 2},
	{"scatter", "{type: InPlaceIfPossible, maxUnavailable: 2, scatterStrategy: [{key: zone, value: a}]}", 6, 0, 2},
}

func (s stress) manifest() string {
	return manifest(s.name, "replicas: 3", sprintf("replicas: %d", s.replicas),
		"updateStrategy:\n    type: InPlaceIfPossible\n    maxUnavailable: 1", "updateStrategy: "+s.strategy,
		"      terminationGracePeriodSeconds: 5", onSimulatedNodes)
}

// onSimulatedNodes is the part of a manifest's Pod that has the grace period, for Pods on simulated nodes.
const onSimulatedNodes = "      nodeSelector: {type: kwok}\n      tolerations: [{operator: Exists}]\n      terminationGracePeriodSeconds: 5"

// TestControllerIsKilledDuringRollouts kills the controller at random times while ten CloneSets roll out five times each. Every
// rollout converges. At no time does a watch show more Pods, or fewer serving Pods, than the user allowed.
func TestControllerIsKilledDuringRollouts(t *testing.T) {
	e := newEnv(t)
	killer, _ := e.killsControllers("killed-controller.log")

	for _, s := range stresses {
		e.apply(s.manifest())
	}
	for _, s := range stresses {
		e.ready(s.name, int32(s.replicas))
	}
	observer := e.observe(stresses)
	for round := range rolloutsEach {
		for _, s := range stresses {
			e.image(s.name, sprintf("kruise.local/demo:r%d", round))
		}
		for _, s := range stresses {
			e.ready(s.name, int32(s.replicas))
		}
		t.Logf("round %d: %d kills so far", round+1, killer.count())
	}
	kills := killer.stop()
	observer.report(t)
	for _, s := range stresses {
		require.Len(t, e.pods(s.name), s.replicas, s.name)
		history, err := e.core.AppsV1().ControllerRevisions(e.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + s.name})
		require.NoError(t, err)
		require.Len(t, history.Items, rolloutsEach+1, "%s: one revision for each template", s.name)
	}
	t.Logf("%d rollouts, the controller was killed %d times", len(stresses)*rolloutsEach, kills)
	require.Greater(t, kills, rolloutsEach)
}

// killer lets the controller run for a moment, kills it, and starts it again. Every fourth time, it runs longer, so that work is done on a
// machine on which a start takes seconds.
type killer struct {
	t      *testing.T
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	// calm is locked while the controller is killed and started, and by calmly.
	calm   sync.Mutex
	lock   sync.Mutex
	kills  int
	failed error
}

// killsControllers runs a controller in place of those of the cluster until the test ends, and starts to kill it. It also returns the path of
// its log, which is a new file of that name beside the logs of the cluster.
func (e *env) killsControllers(logName string) (k *killer, log string) {
	e.t.Helper()
	giveBack, err := hostcontroller.TakeOver(e.t.Context(), e.core)
	require.NoError(e.t, err)
	e.t.Cleanup(func() { require.NoError(e.t, giveBack(context.WithoutCancel(e.t.Context()))) })
	root, err := filepath.Abs("../..")
	require.NoError(e.t, err)
	binary, err := hostcontroller.Build(e.t.Context(), root, e.t.TempDir())
	require.NoError(e.t, err)
	log = filepath.Join(root, ".local", "log", logName)
	require.NoError(e.t, os.RemoveAll(log))
	process, err := hostcontroller.New(e.t.Context(), binary, os.Getenv("KUBECONFIG"), log)
	require.NoError(e.t, err)
	k = &killer{t: e.t}
	k.ctx, k.cancel = context.WithCancel(e.t.Context())
	require.NoError(e.t, process.Start(context.WithoutCancel(e.t.Context())))
	k.done.Go(func() { k.failed = k.run(process) })
	e.t.Cleanup(func() { k.cancel(); k.done.Wait(); _ = process.Kill() })
	return k, log
}

func (k *killer) run(process *hostcontroller.Process) error {
	const shortest, longest, fourth = 100 * time.Millisecond, 2500 * time.Millisecond, 10 * time.Second
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for {
		life := shortest + time.Duration(random.Int64N(int64(longest-shortest)))
		if k.count()%4 == 3 {
			life += fourth
		}
		select {
		case <-k.ctx.Done():
			return nil
		case <-time.After(life):
		}
		if err := k.kill(process); err != nil {
			return err
		}
	}
}

func (k *killer) kill(process *hostcontroller.Process) error {
	k.calm.Lock()
	defer k.calm.Unlock()
	if err := process.Kill(); err != nil {
		return err
	}
	k.lock.Lock()
	k.kills++
	k.lock.Unlock()
	return process.Start(context.WithoutCancel(k.ctx))
}

// calmly lets the controller live while do runs.
func (k *killer) calmly(do func()) {
	k.calm.Lock()
	defer k.calm.Unlock()
	do()
}

func (k *killer) count() int {
	k.lock.Lock()
	defer k.lock.Unlock()
	return k.kills
}

// stop stops killing and returns how often the controller was killed. The controller keeps running.
func (k *killer) stop() int {
	k.t.Helper()
	k.cancel()
	k.done.Wait()
	require.NoError(k.t, k.failed)
	return k.count()
}
