//go:build e2e && fault

package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/hack/localcluster"
)

// operator runs the commands of docs/operations.md, and checks after each of them that nothing has touched the CloneSets and their
// Pods.
type operator struct {
	*env
	cluster *localcluster.Cluster
	chart   string
	// uids are those of the CloneSets, pods the restart counts of their Pods.
	uids map[string]string
	pods map[string]int32
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	root, cluster := localCluster(t)
	o := &operator{env: newEnv(t), cluster: cluster, chart: filepath.Join(root, "artifacts", "helm", "kruise"), uids: map[string]string{}}
	for _, name := range []string{"web", "db"} {
		o.apply(manifest(name))
		o.uids[name] = string(o.ready(name, 3).UID)
	}
	o.pods = restarts(append(o.env.pods("web"), o.env.pods("db")...))
	return o
}

// untouched checks that the CloneSets are the same, that none of their Pods was deleted or restarted, and that a change is stored.
func (o *operator) untouched(after string) {
	o.t.Helper()
	for name, uid := range o.uids {
		assert.Equal(o.t, uid, string(o.cloneSet(name).UID), "after %s: %s", after, name)
		o.kubectl("annotate", "cloneset", name, "--overwrite", "example.com/after="+strings.ReplaceAll(after, " ", "-"))
	}
	assert.Equal(o.t, o.pods, restarts(append(o.env.pods("web"), o.env.pods("db")...)), "after %s", after)
}

// store runs kruise-apiserver store in the Pod of the apiserver, and returns its standard output.
func (o *operator) store(input []byte, args ...string) (output []byte, messages string) {
	o.t.Helper()
	command := exec.CommandContext(o.t.Context(), os.Getenv("KUBECTL"), append([]string{
		"-n", "kruise-system", "exec", "-i", "deployment/kruise-apiserver", "--", "/kruise-apiserver", "store",
	}, args...)...)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &stdout, &stderr
	require.NoError(o.t, command.Run(), "store %s: %s", args, &stderr)
	return stdout.Bytes(), stdout.String() + stderr.String()
}

// served waits until the apiserver answers.
func (o *operator) served() {
	o.t.Helper()
	o.system("rollout", "status", "deployment", "kruise-apiserver", "--timeout=170s")
	o.eventually("the CloneSets are served", func(c *require.Assertions, ctx context.Context) {
		_, err := o.kruise.AppsV1beta1().CloneSets(o.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
	})
}

// upgrade changes the release by flags that set values.
func (o *operator) upgrade(flags ...string) {
	o.t.Helper()
	args := append([]string{"upgrade", "kruise", o.chart, "--namespace", "default", "--reuse-values"}, flags...)
	command := exec.CommandContext(context.WithoutCancel(o.t.Context()), o.cluster.Binary("helm"), args...)
	out, err := command.CombinedOutput()
	require.NoError(o.t, err, "helm %s: %s", strings.Join(args, " "), out)
	o.served()
}

// TestOperatorsCommands takes a snapshot, restores it, and moves the objects to an external etcd and back, by the commands of
// docs/operations.md on a real cluster. Only the Pods of a CloneSet that the snapshot does not contain are deleted.
func TestOperatorsCommands(t *testing.T) {
	o := newOperator(t)
	t.Run("snapshot and restore", func(*testing.T) { o.restores() })
	t.Run("move", func(t *testing.T) { o.moves(t) })
	_, messages := o.store(nil, "defragment")
	assert.Contains(t, messages, "bytes, before ")
	o.untouched("defragmentation")
}

func (o *operator) restores() {
	snapshot, messages := o.store(nil, "snapshot", "-")
	assert.Contains(o.t, messages, "Saved store ")
	o.apply(manifest("later"))
	o.ready("later", 3)

	_, messages = o.store(snapshot, "restore", "-")
	assert.Contains(o.t, messages, "The apiserver restarts with it now.")
	var state string
	o.eventually("the cluster is told how to open the store", func(c *require.Assertions, _ context.Context) {
		state = o.kubectl("-n", "kruise-system", "get", "configmap", "kruise-store", "-o", "jsonpath={.data.state}")
		c.Contains(state, "the store was restored from a snapshot")
	})
	_, err := o.kruise.AppsV1beta1().CloneSets(o.namespace).Get(o.t.Context(), "later", metav1.GetOptions{})
	require.True(o.t, apierrors.IsServiceUnavailable(err), "%v", err)
	assert.Len(o.t, o.env.pods("later"), 3, "nothing is deleted before the operator opens the store")
	_, open, found := strings.Cut(state, "kubectl ")
	require.True(o.t, found, state)
	out, err := exec.CommandContext(o.t.Context(), os.Getenv("KUBECTL"), strings.Fields(open)...).CombinedOutput()
	require.NoError(o.t, err, "%s", out)
	o.served()
	o.untouched("restore")
	o.eventually("the Pods of the CloneSet that the snapshot does not contain are deleted", func(c *require.Assertions, _ context.Context) {
		c.Empty(o.env.pods("later"))
	})
	o.untouched("garbage collection")
}

// moves moves the objects to the etcd of the cluster and back.
func (o *operator) moves(t *testing.T) {
	t.Helper()
	network, err := o.cluster.Network()
	require.NoError(t, err)
	certificate, key, authority := o.cluster.Credentials("etcd-client")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "kruise-etcd"}, Data: map[string][]byte{}}
	for name, path := range map[string]string{"tls.crt": certificate, "tls.key": key, "ca.crt": authority} {
		secret.Data[name], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	secrets := o.core.CoreV1().Secrets("kruise-system")
	_, err = secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = secrets.Delete(context.WithoutCancel(t.Context()), secret.Name, metav1.DeleteOptions{}) })
	home := false
	back := func() {
		o.upgrade("--set=storage.move=toEmbedded")
		o.upgrade("--set=storage.move=", "--set-json=storage.etcd.endpoints=[]",
			"--set=storage.etcd.tls.existingSecret=", "--set=storage.etcd.prefix=")
		home = true
	}
	t.Cleanup(func() {
		if !home {
			back()
		}
	})

	o.upgrade("--set=storage.move=toEtcd", "--set=storage.etcd.endpoints={"+network.EtcdEndpoint()+"}",
		"--set=storage.etcd.tls.existingSecret=kruise-etcd", "--set=storage.etcd.prefix=/"+o.namespace)
	assert.Contains(t, o.system("logs", "deployment/kruise-apiserver", "-c", "move"), "Copied ")
	o.untouched("the move to etcd")
	o.upgrade("--set=storage.move=")
	o.untouched("the end of the move")
	o.eventually("two apiservers run", func(c *require.Assertions, ctx context.Context) {
		servers, err := o.core.CoreV1().Pods("kruise-system").List(ctx, metav1.ListOptions{LabelSelector: "control-plane=apiserver"})
		c.NoError(err)
		c.Len(servers.Items, 2)
	})

	o.upgrade("--set=storage.move=toEmbedded")
	assert.Contains(t, o.system("logs", "deployment/kruise-apiserver", "-c", "move"), "Copied ")
	o.untouched("the move back")
	back()
	o.untouched("the end of the move back")
}
