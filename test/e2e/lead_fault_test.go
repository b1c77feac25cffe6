//go:build e2e && fault

package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/test/hostcontroller"
)

const (
	// behind is how late the watches of one of the two replicas are.
	behind    = 3 * time.Second
	leadLease = "changing-lead"
)

// TestLeadChangesDuringRollouts ends the leading controller 100 times while CloneSets roll out. Its successor is a replica that has waited
// with full caches. The watches of one of the two come three seconds late, as those of a kube-apiserver that is behind. At no time does a
// watch of another client show more Pods, or fewer serving Pods, than the user allowed. LEAD_CHANGES sets another number.
func TestLeadChangesDuringRollouts(t *testing.T) {
	e, changes := newEnv(t), sizeOf(t, "LEAD_CHANGES", 100)
	giveBack, err := hostcontroller.TakeOver(t.Context(), e.core)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, giveBack(context.WithoutCancel(t.Context()))) })
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	binary, err := hostcontroller.Build(t.Context(), root, t.TempDir())
	require.NoError(t, err)
	late := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, hostcontroller.LateWatches(t.Context(), e.config, behind, late))
	logs := filepath.Join(root, ".local", "log")
	replicas := map[string]*hostcontroller.Process{}
	for name, kubeconfig := range map[string]string{"prompt": os.Getenv("KUBECONFIG"), "late": late} {
		require.NoError(t, os.RemoveAll(filepath.Join(logs, "lead-"+name+".log")))
		replicas[name], err = hostcontroller.New(t.Context(), binary, kubeconfig, filepath.Join(logs, "lead-"+name+".log"),
			"--enable-leader-election=true", "--leader-election-namespace="+e.namespace, "--leader-election-id="+leadLease,
			"--leader-election-retry-period=200ms")
		require.NoError(t, err)
	}
	require.NoError(t, replicas["prompt"].Start(context.WithoutCancel(t.Context())))
	require.NoError(t, replicas["late"].Start(context.WithoutCancel(t.Context())))
	t.Cleanup(func() {
		for _, replica := range replicas {
			_ = replica.Kill()
		}
	})

	for _, s := range stresses {
		e.apply(s.manifest())
	}
	for _, s := range stresses {
		e.ready(s.name, int32(s.replicas))
	}
	observer := e.observe(stresses)
	for change := range changes {
		// A rollout takes longer than a leader lives.
		if change%2 == 0 {
			for _, s := range stresses {
				e.image(s.name, sprintf("kruise.local/demo:r%d", change/2%7))
			}
		}
		e.endLeader(replicas)
	}
	for _, s := range stresses {
		e.ready(s.name, int32(s.replicas))
		require.Len(t, e.pods(s.name), s.replicas, s.name)
	}
	observer.report(t)
	t.Logf("%d changes of the lead, %d rollouts", changes, (changes+1)/2*len(stresses))
}

// endLeader lets the leading replica work for a moment, ends it as a cluster does, and starts it again when the other one leads.
func (e *env) endLeader(replicas map[string]*hostcontroller.Process) {
	e.t.Helper()
	leader := e.leader(replicas)
	// A leader whose watches are late needs longer until it works.
	life := time.Duration(500+rand.IntN(3000)) * time.Millisecond
	if leader == "late" {
		life += 2 * behind
	}
	select {
	case <-e.t.Context().Done():
	case <-time.After(life):
	}
	require.NoError(e.t, replicas[leader].Stop())
	e.eventually("the other replica leads", func(c *require.Assertions, ctx context.Context) {
		c.NotEmpty(e.holder(ctx))
	})
	require.NoError(e.t, replicas[leader].Start(context.WithoutCancel(e.t.Context())))
}

// leader returns the name of the replica that holds the Lease.
func (e *env) leader(replicas map[string]*hostcontroller.Process) (name string) {
	e.t.Helper()
	e.eventually("a replica leads", func(c *require.Assertions, ctx context.Context) {
		holder := e.holder(ctx)
		for candidate, replica := range replicas {
			metrics, err := replica.Metrics(ctx)
			c.NoError(err)
			if metrics.Sum("kruise_manager_is_leader") > 0 {
				name = candidate
			}
		}
		c.NotEmpty(holder)
		c.NotEmpty(name)
	})
	return name
}

// holder returns the identity of the replica that holds the Lease, or "".
func (e *env) holder(ctx context.Context) string {
	lease, err := e.core.CoordinationV1().Leases(e.namespace).Get(ctx, leadLease, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}
