//go:build e2e && fault

package e2e

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

var (
	sharedRounds = flag.Int("shared-rounds", 5, "how many times TestKindsShareTheirPods disturbs its objects and waits for them")
	sharedSeed   = flag.Uint64("shared-seed", 0, "the seed of TestKindsShareTheirPods, or 0 for any")
)

// TestKindsShareTheirPods lets users change, delete and create again workloads and the objects that act on their Pods, all at random and
// under the same names. Meanwhile nodes come and go, the controller is killed at random times, and the apiserver once in each round. Whenever
// the users rest, everything becomes as they want it, and each status tells what is there. At the end, nobody writes any more, everything has
// its owner, and the namespace can be deleted.
func TestKindsShareTheirPods(t *testing.T) {
	e := newEnv(t)
	nodes := e.simulateNodes(2)
	seed := *sharedSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-shared-seed=%d", seed)
	users := &sharedUsers{env: e, nodes: nodes, random: rand.New(rand.NewPCG(seed, 0))}
	t.Cleanup(func() {
		if t.Failed() {
			return // the objects show why
		}
		for _, object := range sharedObjects {
			if strings.HasPrefix(object.name, "NAMESPACE") {
				_, _ = e.command(context.WithoutCancel(t.Context()), "delete", object.resource, users.nameOf(object), "--ignore-not-found", "--wait=false").CombinedOutput()
			}
		}
	})
	killer, logFile := e.killsControllers("shared-controller.log")
	for round := range *sharedRounds {
		users.disturb(30)
		e.killAPIServer(t)
		users.disturb(30)
		users.rest()
		killer.calmly(users.settled)
		t.Logf("round %d: %d actions, %d refused; %d kills", round+1, users.actions, users.refusals, killer.count())
	}
	require.Positive(t, killer.stop())
	users.still()
	log, err := os.ReadFile(logFile)
	require.NoError(t, err)
	assert.NotContains(t, string(log), "panic", "the log of the controller in %s", logFile)

	e.kubectl("delete", "namespace", e.namespace, "--wait=false")
	e.eventually("the namespace is gone", func(c *require.Assertions, ctx context.Context) {
		_, err := e.core.CoreV1().Namespaces().Get(ctx, e.namespace, metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "%v", err)
	})
}

// sharedUsers change the objects of the test.
type sharedUsers struct {
	*env
	nodes             *simulation
	random            *rand.Rand
	actions, refusals int
}

func (u *sharedUsers) nameOf(object shared) string {
	return strings.ReplaceAll(object.name, "NAMESPACE", u.namespace)
}

// disturb does a number of things at random.
func (u *sharedUsers) disturb(actions int) {
	u.t.Helper()
	for range actions {
		object := sharedObjects[u.random.IntN(len(sharedObjects))]
		manifest := object.manifest(u.namespace, atRandom(u.random))
		switch u.random.IntN(10) {
		case 0:
			cascade := []string{"background", "foreground", "orphan"}[u.random.IntN(3)]
			u.try("", "delete", object.resource, u.nameOf(object), "--cascade="+cascade, "--wait=false", "--ignore-not-found")
			<-time.After(time.Duration(u.random.IntN(3)) * time.Second / 2)
			u.try(manifest, "apply", "-f", "-")
		case 1:
			u.try("", "delete", "pods", "--selector=app="+object.name, "--wait=false")
		case 2:
			u.try("", "delete", "configmap", "settings", "--ignore-not-found")
			u.try("", "label", "pods", "--selector=lifecycle.apps.kruise.io/state in (PreparingUpdate, PreparingDelete)", "hook-")
			u.try("", "label", "pods", "--selector=lifecycle.apps.kruise.io/state=Updated", "hook=on")
		case 3:
			u.moveNode(u.nodes.name(u.random.IntN(u.nodes.size)))
		default:
			u.try(manifest, "apply", "-f", "-")
		}
		<-time.After(time.Duration(u.random.IntN(1000)) * time.Millisecond)
	}
}

// moveNode deletes a node, or creates it again.
func (u *sharedUsers) moveNode(name string) {
	u.t.Helper()
	err := u.core.CoreV1().Nodes().Delete(u.t.Context(), name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		err = u.nodes.createNode(name)
	}
	require.NoError(u.t, err)
}

// try runs kubectl, which may refuse: a budget has no room, or the object is being deleted.
func (u *sharedUsers) try(manifest string, args ...string) {
	command := u.command(u.t.Context(), args...)
	command.Stdin = strings.NewReader(manifest)
	u.actions++
	if out, err := command.CombinedOutput(); err != nil {
		u.refusals++
		u.t.Logf("kubectl %s: %s", strings.Join(args, " "), strings.TrimSpace(string(out)))
		assert.NotContains(u.t, string(out), "is invalid", "the manifest of the test: %s", manifest)
	}
}

// rest applies what the users want at the end, until every object is there and stays. It deletes the Pods and claims that a CloneSet left
// behind when it was deleted with --cascade=orphan: a new CloneSet does not adopt them.
func (u *sharedUsers) rest() {
	u.t.Helper()
	u.nodes.each(func(name string) error {
		if err := u.nodes.createNode(name); !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	})
	for _, object := range sharedObjects {
		u.eventually(object.resource+" "+u.nameOf(object)+" is applied", func(c *require.Assertions, ctx context.Context) {
			command := u.command(ctx, "apply", "-f", "-")
			command.Stdin = strings.NewReader(object.manifest(u.namespace, wanted))
			out, err := command.CombinedOutput()
			c.NoError(err, "%s", out)
			out, err = u.command(ctx, "get", object.resource, u.nameOf(object), "-o", "jsonpath={.metadata.deletionTimestamp}").Output()
			c.NoError(err)
			c.Empty(string(out), "it is being deleted")
		})
	}
	u.eventually("Pods and claims without an owner are deleted", func(c *require.Assertions, ctx context.Context) {
		claims, err := u.core.CoreV1().PersistentVolumeClaims(u.namespace).List(ctx, metav1.ListOptions{LabelSelector: pub.CloneSetInstanceIDKey})
		c.NoError(err)
		for _, claim := range claims.Items {
			if len(claim.OwnerReferences) == 0 {
				c.NoError(u.core.CoreV1().PersistentVolumeClaims(u.namespace).Delete(ctx, claim.Name, metav1.DeleteOptions{}))
			}
		}
		for _, pod := range u.allPods(ctx, c) {
			if len(pod.OwnerReferences) == 0 {
				c.NoError(u.core.CoreV1().Pods(u.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}))
			}
		}
	})
}
