//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/workload/podstate"
)

// patience limits every wait for the cluster to reach a state. It is a safety net, not a performance figure.
const patience = 6 * time.Minute

// env is one test's access to the cluster: its own namespace, and clients.
type env struct {
	t          *testing.T
	namespace  string
	kubeconfig string
	config     *rest.Config
	core       kubernetes.Interface
	kruise     versioned.Interface
}

// newEnv creates a namespace that is deleted when the test ends.
func newEnv(t *testing.T) *env {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	require.NoError(t, err, "KUBECONFIG must name the cluster under test")
	config.QPS, config.Burst = 100, 200
	e := (&env{t: t, kubeconfig: os.Getenv("KUBECONFIG"), config: config}).clients()
	namespace, err := e.core.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	e.namespace = namespace.Name
	t.Cleanup(func() {
		if t.Failed() {
			e.dump()
		}
		_ = e.core.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), e.namespace, metav1.DeleteOptions{})
	})
	return e
}

// clients creates the clients of the environment.
func (e *env) clients() *env {
	e.t.Helper()
	var err error
	e.core, err = kubernetes.NewForConfig(e.config)
	require.NoError(e.t, err)
	e.kruise, err = versioned.NewForConfig(e.config)
	require.NoError(e.t, err)
	return e
}

// since leaves the test out on versions of Kubernetes before 1.<minor>, which do not have what the test needs.
func (e *env) since(minor int, needs string) {
	e.t.Helper()
	version, err := e.core.Discovery().ServerVersion()
	require.NoError(e.t, err)
	of, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	require.NoError(e.t, err)
	if of < minor {
		e.t.Skipf("Kubernetes before 1.%d does not have %s", minor, needs)
	}
}

// quickRestarts leaves the test out where kubelets wait up to five minutes before they restart a container that ends again and again. The
// kubelets of the local cluster wait a second where they can be told to.
func (e *env) quickRestarts() {
	e.t.Helper()
	e.since(32, "kubelets that restart a container soon each time")
}

// dump logs the Pods and the last events, and writes what else is needed to understand a failure to a file beside the logs of the cluster.
func (e *env) dump() {
	ctx := context.WithoutCancel(e.t.Context())
	for _, args := range [][]string{
		{"get", "pods", "-o", "wide"},
		{"get", "events", "--sort-by=.metadata.creationTimestamp"},
	} {
		out, _ := e.command(ctx, args...).CombinedOutput()
		lines := strings.SplitAfter(string(out), "\n")
		e.t.Logf("kubectl %s\n%s", strings.Join(args, " "), strings.Join(lines[max(0, len(lines)-30):], ""))
	}
	var all bytes.Buffer
	for _, args := range [][]string{
		{"get", "clonesets,pods,events", "-o", "yaml"},
		{"-n", "kruise-system", "get", "pods", "-o", "wide"},
		{"get", "sidecarsets", "-o", "yaml"},
		{"-n", "kruise-system", "logs", "--selector=app.kubernetes.io/component=controller", "--prefix", "--tail=300"},
		{"-n", "kruise-system", "logs", "--selector=app.kubernetes.io/component=apiserver", "--prefix", "--tail=200"},
	} {
		out, _ := e.command(ctx, args...).CombinedOutput()
		fmt.Fprintf(&all, "kubectl %s\n%s\n", strings.Join(args, " "), out)
	}
	path := filepath.Join(filepath.Dir(e.kubeconfig), "log", strings.ReplaceAll(e.t.Name(), "/", "_")+".log")
	if err := os.WriteFile(path, all.Bytes(), 0o600); err != nil {
		e.t.Logf("the state of the cluster is lost: %v", err)
		return
	}
	e.t.Logf("the state of the cluster is in %s", path)
}

// command returns a kubectl command in the test's namespace.
func (e *env) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, os.Getenv("KUBECTL"), append([]string{"--kubeconfig", e.kubeconfig, "--namespace", e.namespace}, args...)...)
}

// kubectl runs kubectl and returns its output. The test fails if kubectl fails.
func (e *env) kubectl(args ...string) string {
	e.t.Helper()
	out, err := e.command(e.t.Context(), args...).CombinedOutput()
	require.NoError(e.t, err, "kubectl %s: %s", strings.Join(args, " "), out)
	return string(out)
}

// refused runs kubectl with a manifest on standard input and returns its error output. The test fails if kubectl succeeds.
func (e *env) refused(manifest string, args ...string) string {
	e.t.Helper()
	command := e.command(e.t.Context(), args...)
	command.Stdin = strings.NewReader(manifest)
	out, err := command.CombinedOutput()
	require.Error(e.t, err, "kubectl %s: %s", strings.Join(args, " "), out)
	return string(out)
}

// apply applies a manifest with further kubectl arguments.
func (e *env) apply(manifest string, args ...string) string {
	e.t.Helper()
	command := e.command(e.t.Context(), append([]string{"apply", "-f", "-"}, args...)...)
	command.Stdin = strings.NewReader(manifest)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	require.NoError(e.t, command.Run(), "apply: %s", &out)
	return out.String()
}

// established waits until a CustomResourceDefinition is served. kubectl does not wait for one whose conditions are not written yet.
func (e *env) established(definition string) {
	e.t.Helper()
	e.eventually("the definition is established", func(c *require.Assertions, ctx context.Context) {
		out, err := e.command(ctx, "wait", "customresourcedefinition", definition, "--for=condition=Established").CombinedOutput()
		c.NoError(err, "%s", out)
	})
}

// eventually waits until check passes.
func (e *env) eventually(what string, check func(c *require.Assertions, ctx context.Context)) {
	e.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		recorder := &failureRecorder{}
		attempt(recorder, func() { check(require.New(recorder), e.t.Context()) })
		if !recorder.failed {
			return
		}
		if time.Now().After(deadline) {
			e.t.Fatalf("%s: not within %v: %s", what, patience, recorder.text)
		}
		<-time.After(250 * time.Millisecond)
	}
}

// said waits for an event with a reason whose line contains text. Events are sent after the changes that they report.
// Events of objects without a namespace need the flag -A.
func (e *env) said(reason, text string, flags ...string) {
	e.t.Helper()
	args := append([]string{"get", "events", "--field-selector", "reason=" + reason}, flags...)
	e.eventually("event "+reason, func(c *require.Assertions, _ context.Context) { c.Contains(e.kubectl(args...), text) })
}

// failureRecorder is a require.TestingT that records the first failure of an attempt.
type failureRecorder struct {
	failed bool
	text   string
}

type attemptFailed struct{}

func (r *failureRecorder) Errorf(format string, args ...any) {
	r.failed, r.text = true, strings.TrimSpace(sprintf(format, args...))
}

func (r *failureRecorder) FailNow() { panic(attemptFailed{}) }

// attempt runs f and ends it at the first recorded failure.
func attempt(r *failureRecorder, f func()) {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(attemptFailed); !ok {
				panic(v)
			}
		}
	}()
	f()
}

// cloneSet reads one CloneSet.
func (e *env) cloneSet(name string) *v1beta1.CloneSet {
	e.t.Helper()
	set, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Get(e.t.Context(), name, metav1.GetOptions{})
	require.NoError(e.t, err)
	return set
}

// pods lists the Pods of one app label that are not being deleted.
func (e *env) pods(app string) []corev1.Pod {
	e.t.Helper()
	list, err := e.core.CoreV1().Pods(e.namespace).List(e.t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	require.NoError(e.t, err)
	var live []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			live = append(live, pod)
		}
	}
	return live
}

// ready waits until the CloneSet's newest generation has the given number of Pods, all updated and available.
func (e *env) ready(name string, replicas int32) *v1beta1.CloneSet {
	e.t.Helper()
	var set *v1beta1.CloneSet
	e.eventually("CloneSet "+name+" ready", func(c *require.Assertions, ctx context.Context) {
		var err error
		set, err = e.kruise.AppsV1beta1().CloneSets(e.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.Equal(set.Generation, set.Status.ObservedGeneration, "observedGeneration")
		c.Equal(replicas, set.Status.Replicas, "replicas")
		c.Equal(replicas, set.Status.UpdatedReplicas, "updatedReplicas")
		c.Equal(replicas, set.Status.UpdatedAvailableReplicas, "updatedAvailableReplicas")
		e.serve(ctx, c, set, set.Spec.Selector, replicas)
	})
	return set
}

// serve checks that a number of live Pods of a workload are ready. The status of the workload can be older than the last deletion of
// a Pod.
func (e *env) serve(ctx context.Context, c *require.Assertions, owner metav1.Object, selector *metav1.LabelSelector, number int32) {
	list, err := e.core.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(selector)})
	c.NoError(err)
	ready := int32(0)
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil && metav1.IsControlledBy(pod, owner) && podstate.Ready(pod) {
			ready++
		}
	}
	c.Equal(number, ready, "live Pods that are ready")
}
