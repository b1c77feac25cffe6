//go:build e2e && fault

package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/hack/localcluster"
)

// hold is how long the garbage collector has to make a mistake while a store is lost.
var hold = flag.Duration("hold", time.Minute, "how long each loss of the store lasts")

// budgeted is the CloneSet whose Pods are under a budget that allows one eviction.
var budgeted = idleName(0)

// killAPIServer deletes the apiserver's Pod without a grace period.
func (e *env) killAPIServer(t *testing.T) {
	t.Helper()
	require.NoError(t, e.core.CoreV1().Pods(system).DeleteCollection(t.Context(),
		metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, metav1.ListOptions{LabelSelector: "control-plane=apiserver"}))
}

// dataDir returns the folder of this machine that holds the embedded store.
func (e *env) dataDir() string {
	e.t.Helper()
	name := e.system("get", "persistentvolumeclaim", "kruise-apiserver-data", "--output=jsonpath={.spec.volumeName}")
	return e.kubectl("get", "persistentvolume", name, "--output=jsonpath={.spec.hostPath.path}")
}

// replaceData moves the content of the store's folder to kept, and copies other into it, unless other is empty. The folder itself
// stays, because it is mounted.
func replaceData(t *testing.T, dir, kept, other string) {
	t.Helper()
	makeFolder(t, kept)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		require.NoError(t, os.Rename(filepath.Join(dir, entry.Name()), filepath.Join(kept, entry.Name())))
	}
	if other != "" {
		copyData(t, other, dir)
	}
}

// makeFolder creates a folder that every user can write, as a volume is. Copies take over the mode.
func makeFolder(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(path, 0o777))
	require.NoError(t, os.Chmod(path, 0o777))
}

// copyData copies a store with owners and modes.
func copyData(t *testing.T, from, to string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "cp", "--archive", from+"/.", to).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// lose puts another store in the place of the right one, waits, and puts the right one back.
func (l *load) lose(t *testing.T, running bool, other, reason string) {
	e, dir := l.e, l.e.dataDir()
	kept := filepath.Join(filepath.Dir(dir), "kept-"+filepath.Base(dir))
	t.Cleanup(func() { _ = os.RemoveAll(kept) })
	if running {
		replaceData(t, dir, kept, other)
		e.killAPIServer(t)
	} else {
		e.stopAPIServer()
		replaceData(t, dir, kept, other)
		e.startAPIServer()
	}
	e.eventually("the cluster is told why the store is closed", func(c *require.Assertions, ctx context.Context) {
		object, err := e.core.CoreV1().ConfigMaps(system).Get(ctx, "kruise-store", metav1.GetOptions{})
		c.NoError(err)
		c.Contains(object.Data["state"], reason)
	})
	for i := range idleSets {
		_, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Get(t.Context(), idleName(i), metav1.GetOptions{})
		require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	}
	l.refusesEvictions(t)
	l.stay(t)
	e.stopAPIServer()
	lost := kept + "-lost"
	replaceData(t, dir, lost, kept)
	require.NoError(t, os.RemoveAll(lost))
	e.serveAgain()
	l.served(t)
	e.eventually("the budget allows an eviction again", func(c *require.Assertions, ctx context.Context) { c.NoError(l.evict(ctx)) })
	l.report(t)
}

// evict asks whether a Pod under the budget that allows one eviction may be evicted. It is a dry run, so the Pod stays.
func (l *load) evict(ctx context.Context) error {
	e := l.e
	return e.core.CoreV1().Pods(e.namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: e.pods(budgeted)[0].Name},
		DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
	})
}

// refusesEvictions checks that a closed store allows no eviction of a Pod that a budget of the lost store may protect. The
// apiserver has started with the closed store, so it has never read a budget.
func (l *load) refusesEvictions(t *testing.T) {
	t.Helper()
	l.e.eventually("the store is named as the reason why an eviction is refused", func(c *require.Assertions, ctx context.Context) {
		err := l.evict(ctx)
		require.Error(t, err, "an eviction was allowed without its budget")
		c.Contains(err.Error(), "the store is closed")
	})
}

// TestOutages takes parts of the installation away while 20 CloneSets have 200 Pods and a client changes other CloneSets. No Pod
// is restarted or deleted in any of them, every acknowledged change is there afterwards, and all objects keep their UIDs. While the
// store is lost, no Pod under a budget can be evicted.
func TestOutages(t *testing.T) {
	e := newEnv(t)
	dir := e.dataDir()
	before := filepath.Join(filepath.Dir(dir), "before-"+filepath.Base(dir))
	t.Cleanup(func() { _ = os.RemoveAll(before) })
	e.stopAPIServer()
	makeFolder(t, before)
	copyData(t, dir, before)
	e.serveAgain()

	l := startLoad(t)
	l.e.budget("apps.kruise.io/v1alpha1", "CloneSet", budgeted, "maxUnavailable: 1", idleReplicas)
	scenarios := []struct {
		name string
		run  func(t *testing.T)
	}{
		{"the store is wiped while the server runs", func(t *testing.T) { l.lose(t, true, "", "the store has lost its record") }},
		{"the store is wiped while the server is down", func(t *testing.T) { l.lose(t, false, "", "the store has lost its record") }},
		{"the store is rolled back while the server runs", func(t *testing.T) { l.lose(t, true, before, "the store was rolled back") }},
		{"the store is rolled back while the server is down", func(t *testing.T) { l.lose(t, false, before, "the store was rolled back") }},
		{"all programs are away for five minutes", l.stopEverything},
		{"the APIServices are deleted and added again", l.deleteAPIServices},
		{"the chart is uninstalled and installed again", l.uninstall},
		{"the manifest is deleted and the chart installed again", l.deleteManifest},
	}
	for _, scenario := range scenarios {
		if !t.Run(scenario.name, func(t *testing.T) {
			l.e.t = t
			defer func() { l.e.t = e.t }()
			scenario.run(t)
		}) {
			return // The next scenario would fail for the same reason.
		}
	}
}

// stopEverything stops the apiserver, the controller and every node agent. Meanwhile other Pods are created, and a namespace is
// deleted.
func (l *load) stopEverything(t *testing.T) {
	e := l.e
	other := newEnv(t)
	usual := max(other.createsPod("before-1"), other.createsPod("before-2"))
	e.stopAPIServer()
	e.system("scale", "deployment", "kruise-controller-manager", "--replicas=0")
	e.system("patch", "daemonset", "kruise-daemon", "--patch={\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"no\":\"such-node\"}}}}}")
	began := time.Now()
	meanwhile := min(other.createsPod("meanwhile-1"), other.createsPod("meanwhile-2"))
	t.Logf("a Pod was created and ran after %v, and after %v while our programs were away", usual, meanwhile)
	assert.Less(t, meanwhile, 3*usual+2*time.Second)
	going := newEnv(t)
	require.NoError(t, e.core.CoreV1().Namespaces().Delete(t.Context(), going.namespace, metav1.DeleteOptions{}))
	for time.Since(began) < 5*time.Minute {
		l.undisturbed(t)
		<-time.After(5 * time.Second)
	}
	e.startAPIServer()
	e.system("scale", "deployment", "kruise-controller-manager", "--replicas=1")
	e.system("patch", "daemonset", "kruise-daemon", "--type=json", "--patch=[{\"op\":\"remove\",\"path\":\"/spec/template/spec/nodeSelector/no\"}]")
	e.system("rollout", "status", "deployment", "kruise-apiserver", "--timeout=170s")
	e.system("wait", "--for=condition=Available", "--timeout=170s", "apiservice", "--selector=app.kubernetes.io/name=kruise")
	returned := time.Now()
	e.eventually("the namespace is deleted", func(c *require.Assertions, ctx context.Context) {
		// kube-controller-manager has tried in vain for minutes, and tries again after up to one more minute. A change makes it try soon.
		_ = e.command(ctx, "label", "--overwrite", "namespace", going.namespace, sprintf("e2e.example.com/try=%d", time.Now().Unix())).Run()
		_, err := e.core.CoreV1().Namespaces().Get(ctx, going.namespace, metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "%v", err)
	})
	t.Logf("the namespace was deleted %v after the apiserver was ready", time.Since(returned).Round(time.Second))
	assert.Less(t, time.Since(returned), 2*time.Minute)
	e.system("rollout", "status", "deployment", "kruise-controller-manager", "--timeout=170s")
	e.system("rollout", "status", "daemonset", "kruise-daemon", "--timeout=170s")
	l.served(t)
	l.report(t)
}

// createsPod creates a Pod that no kind of ours concerns, and returns the time until it runs.
func (e *env) createsPod(name string) time.Duration {
	e.t.Helper()
	began := time.Now()
	e.kubectl("run", name, "--image=kruise.local/demo:v1", "--image-pull-policy=IfNotPresent")
	e.kubectl("wait", "pod/"+name, "--for=condition=Ready", "--timeout=60s")
	return time.Since(began).Round(10 * time.Millisecond)
}

func (l *load) deleteAPIServices(t *testing.T) {
	e := l.e
	const selector = "--selector=app.kubernetes.io/name=kruise"
	saved := e.kubectl("get", "apiservices", selector, "--output=json")
	e.kubectl("delete", "apiservices", selector)
	l.addOwned(t)
	l.stay(t)
	// Fields that the server sets would make the creation fail.
	var list unstructured.UnstructuredList
	require.NoError(t, json.Unmarshal([]byte(saved), &list))
	for i := range list.Items {
		for _, field := range [][]string{{"status"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"}} {
			unstructured.RemoveNestedField(list.Items[i].Object, field...)
		}
	}
	manifest, err := json.Marshal(&list)
	require.NoError(t, err)
	e.apply(string(manifest))
	l.back(t)
	for name := range l.sets {
		_, err := e.core.CoreV1().ConfigMaps(e.namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err, "the garbage collector deletes nothing whose owner exists")
	}
}

// addOwned creates ConfigMaps that belong to the CloneSets that nobody changes. The garbage collector does not watch the version in
// the reference, so it reads each owner, and kube-apiserver answers that it does not exist.
func (l *load) addOwned(t *testing.T) {
	t.Helper()
	for name, uid := range l.sets {
		_, err := l.e.core.CoreV1().ConfigMaps(l.e.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: name, UID: types.UID(uid)}},
		}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

func (l *load) uninstall(t *testing.T) {
	root, cluster := localCluster(t)
	out, err := exec.CommandContext(t.Context(), cluster.Binary("helm"), "uninstall", "kruise", "--namespace=default", "--wait").CombinedOutput()
	require.NoError(t, err, "%s", out)
	l.stay(t)
	install(t, root)
	l.back(t)
}

func (l *load) deleteManifest(t *testing.T) {
	root, cluster := localCluster(t)
	// The file has objects in several namespaces, so kubectl must not get one.
	out, err := exec.CommandContext(t.Context(), cluster.Binary("kubectl"), "delete", "--ignore-not-found", "--wait=true",
		"--filename="+filepath.Join(root, "artifacts", "install.yaml")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	l.stay(t)
	install(t, root)
	l.back(t)
}

// stay checks for the time of hold that nothing is deleted.
func (l *load) stay(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(*hold); time.Now().Before(end); {
		l.undisturbed(t)
		<-time.After(time.Second)
	}
}

// back waits until the installation is complete, and reports.
func (l *load) back(t *testing.T) {
	t.Helper()
	l.e.kubectl("wait", "--for=condition=Available", "--timeout=170s", "apiservice", "--selector=app.kubernetes.io/name=kruise")
	l.served(t)
	l.report(t)
}

func localCluster(t *testing.T) (root string, cluster *localcluster.Cluster) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, err = localcluster.New(localcluster.MainConfig(root))
	require.NoError(t, err)
	return root, cluster
}

// install installs the chart as "make up" does.
func install(t *testing.T, root string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "run", "./hack/local", "deploy")
	command.Dir = root
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
