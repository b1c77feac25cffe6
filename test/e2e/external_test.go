//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kruise.io/kruise/hack/images"
	"kruise.io/kruise/hack/localcluster"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/workload/podstate"
)

// chartKeys maps the programs to the chart's names for their images.
var chartKeys = map[string]string{"apiserver": "apiserver", "controller": "manager", "node-agent": "daemon"}

// TestExternalStore installs the chart on a separate cluster. It uses an external etcd with TLS and therefore two apiservers.
// Killing one apiserver, or etcd, loses nothing. Then it upgrades and uninstalls the release.
// Cases install 8, 11, 12.
func TestExternalStore(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, values := externalCluster(t, root)
	e := environment(t, cluster)
	chart := filepath.Join(root, "artifacts", "helm", "kruise")
	set := externalValues(t, e, cluster, values)
	installExternal(t, e, cluster, chart, set)

	servers := e.apiservers()
	require.Len(t, servers, 2)
	budgets, err := e.core.PolicyV1().PodDisruptionBudgets("kruise-system").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, budgets.Items, 2, "one for the apiserver, one for the controller")

	e.apply(manifest("web"))
	before := e.ready("web", 3)
	pods := restarts(e.pods("web"))
	require.NoError(t, e.core.CoreV1().Pods("kruise-system").Delete(t.Context(), servers[0].Name, metav1.DeleteOptions{}))
	e.kubectl("scale", "cloneset", "web", "--replicas=4")
	e.ready("web", 4)

	require.NoError(t, cluster.KillComponent(t.Context(), "etcd"))
	require.NoError(t, cluster.StartComponent(t.Context(), "etcd"))
	e.eventually("the next change is accepted", func(c *require.Assertions, ctx context.Context) {
		out, err := e.command(ctx, "scale", "cloneset", "web", "--replicas=5").CombinedOutput()
		c.NoError(err, "%s", out)
	})
	assert.Equal(t, before.UID, e.ready("web", 5).UID)
	after := restarts(e.pods("web"))
	for container, count := range pods {
		assert.Equal(t, count, after[container], container)
	}
	t.Run("reviews", func(t *testing.T) { reviewsGoToPodsThatWork(t, e) })
	t.Run("upgrade", func(t *testing.T) { upgradeKeepsAll(t, e, cluster, chart, set) })
	t.Run("uninstall", func(t *testing.T) { uninstallLeavesNothing(t, e, cluster) })
}

// reviewsGoToPodsThatWork starts a third apiserver whose image does not exist. Its Pod has an address, and gets no reviews.
func reviewsGoToPodsThatWork(t *testing.T, e *env) {
	t.Helper()
	ready := func(c *require.Assertions, ctx context.Context) (addresses, others []string) {
		pods, err := e.core.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: "control-plane=apiserver"})
		c.NoError(err)
		for _, pod := range pods.Items {
			switch {
			case podstate.Ready(&pod) && pod.DeletionTimestamp == nil:
				addresses = append(addresses, pod.Status.PodIP)
			case pod.Status.PodIP != "":
				others = append(others, pod.Name)
			}
		}
		return addresses, others
	}
	reviewed := func(c *require.Assertions, ctx context.Context) (addresses []string) {
		slices, err := e.core.DiscoveryV1().EndpointSlices(system).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=kruise-apiserver-reviews"})
		c.NoError(err)
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
		return addresses
	}
	e.system("set", "image", "deployment/kruise-apiserver", "*=kruise.local/apiserver:no-such-tag")
	e.eventually("the Pod that cannot start gets no reviews", func(c *require.Assertions, ctx context.Context) {
		addresses, others := ready(c, ctx)
		c.Len(addresses, 2)
		c.Len(others, 1)
		c.ElementsMatch(addresses, reviewed(c, ctx))
	})
	e.system("rollout", "undo", "deployment/kruise-apiserver")
	e.system("rollout", "status", "deployment/kruise-apiserver", "--timeout=170s")
	e.eventually("all Pods get reviews again", func(c *require.Assertions, ctx context.Context) {
		addresses, _ := ready(c, ctx)
		c.Len(addresses, 2)
		c.ElementsMatch(addresses, reviewed(c, ctx))
	})
}

// upgradeKeepsAll upgrades the release twice.
func upgradeKeepsAll(t *testing.T, e *env, cluster *localcluster.Cluster, chart string, set []string) {
	t.Helper()
	kept := func() []string {
		const uid = "jsonpath={.metadata.uid}"
		return []string{
			e.kubectl("get", "secret", "kruise-apiserver-certs", "--namespace=kruise-system", "-o", "jsonpath={.data}"),
			e.kubectl("get", "apiservice", "v1beta1.apps.kruise.io", "-o", "jsonpath={.spec.caBundle}"),
			e.kubectl("get", "service", "kruise-apiserver", "--namespace=kruise-system", "-o", "jsonpath={.spec.clusterIP}"),
			e.kubectl("get", "cloneset", "web", "-o", uid), e.kubectl("get", "pods", "--selector=app=web", "-o", "jsonpath={.items[*].metadata.uid}"),
		}
	}
	before := kept()
	for _, level := range []string{"2", "3"} {
		helm(t, cluster, append([]string{"upgrade", "kruise", chart, "--set", "apiserver.log.level=" + level}, set...)...)
		assert.Equal(t, before, kept())
	}
}

// uninstallLeavesNothing deletes all objects and then the release.
func uninstallLeavesNothing(t *testing.T, e *env, cluster *localcluster.Cluster) {
	t.Helper()
	e.kubectl("delete", "cloneset", "web", "--timeout=3m")
	helm(t, cluster, "uninstall", "kruise")
	const left = "apiservices,validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies," +
		"validatingadmissionpolicybindings,clusterroles,clusterrolebindings,deployments,daemonsets"
	// The garbage collector may still find Pods whose owner was deleted with the APIServices. This keeps it from deleting others.
	assert.Equal(t, "validatingwebhookconfiguration.admissionregistration.k8s.io/kruise-garbage-collection",
		strings.TrimSpace(e.kubectl("get", left, "--all-namespaces", "--selector=app.kubernetes.io/name=kruise", "-o", "name")))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:v1", ImagePullPolicy: corev1.PullIfNotPresent}},
	}}
	created, err := e.core.CoreV1().Pods(e.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Empty(t, created.Spec.ReadinessGates)
	require.NoError(t, e.core.CoreV1().Pods(e.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "after-uninstall"}}
	_, err = e.core.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	require.NoError(t, err)
	e.kubectl("delete", "namespace", namespace.Name, "--timeout=3m")
}

// helm runs helm for the release in the namespace default.
func helm(t *testing.T, cluster *localcluster.Cluster, args ...string) {
	t.Helper()
	args = append(args, "--kubeconfig", cluster.Kubeconfig(), "--namespace", "default", "--wait", "--timeout", "6m")
	out, err := exec.CommandContext(t.Context(), cluster.Binary("helm"), args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// externalCluster starts the cluster of the tests with an external etcd.
func externalCluster(t *testing.T, root string) (cluster *localcluster.Cluster, values []string) {
	t.Helper()
	return separateCluster(t, root, "external", func(config *localcluster.Config) { config.Nodes = 2 })
}

// separateCluster starts a cluster that ends with the test, with the programs' images, and returns the chart values that select the images.
func separateCluster(
	t *testing.T, root, name string, edit func(*localcluster.Config),
) (cluster *localcluster.Cluster, values []string) {
	t.Helper()
	var archives []string
	builder := images.Builder{ModuleRoot: root, Dir: filepath.Join(root, ".local", "images")}
	fixtures, err := builder.Build(t.Context(), images.Fixtures()...)
	require.NoError(t, err)
	programs, err := builder.Build(t.Context(), images.Programs()...)
	require.NoError(t, err)
	for _, image := range append(fixtures, programs...) {
		archives = append(archives, image.Archive)
	}
	for _, image := range programs {
		key := chartKeys[strings.TrimPrefix(image.Repository, images.Registry+"/")]
		require.NotEmpty(t, key, image.Ref)
		values = append(values, key+".image.repository="+image.Repository, key+".image.tag="+image.Tag)
	}
	config := localcluster.OwnedConfig(root, name)
	config.Images, config.KubernetesVersion = archives, os.Getenv(localcluster.VersionVariable)
	config.Containerd = os.Getenv(localcluster.ContainerdVariable)
	edit(&config)
	cluster, err = localcluster.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Down(context.WithoutCancel(t.Context()))) })
	require.NoError(t, cluster.Up(t.Context()))
	return cluster, values
}

// environment returns an env for the cluster's namespace default.
func environment(t *testing.T, cluster *localcluster.Cluster) *env {
	t.Helper()
	e := &env{t: t, namespace: metav1.NamespaceDefault, kubeconfig: cluster.Kubeconfig()}
	var err error
	e.config, err = cluster.RESTConfig()
	require.NoError(t, err)
	e.core, err = kubernetes.NewForConfig(e.config)
	require.NoError(t, err)
	e.kruise, err = versioned.NewForConfig(e.config)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			e.dump()
		}
	})
	return e
}

// externalValues returns the flags that set the values of the chart. The apiserver gets a client certificate for the cluster's
// etcd, and its own key prefix.
func externalValues(t *testing.T, e *env, cluster *localcluster.Cluster, values []string) (set []string) {
	t.Helper()
	network, err := cluster.Network()
	require.NoError(t, err)
	_, err = e.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "kruise-system", Labels: map[string]string{"control-plane": "controller-manager"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	certificate, key, authority := cluster.Credentials("etcd-client")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "kruise-etcd"}, Data: map[string][]byte{}}
	for name, path := range map[string]string{"tls.crt": certificate, "tls.key": key, "ca.crt": authority} {
		secret.Data[name], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	_, err = e.core.CoreV1().Secrets("kruise-system").Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)

	set = []string{
		"--set", "installation.createNamespace=false", "--set", "storage.etcd.endpoints={" + network.EtcdEndpoint() + "}",
		"--set", "storage.etcd.prefix=/kruise", "--set", "storage.etcd.tls.existingSecret=kruise-etcd",
	}
	for _, value := range values {
		set = append(set, "--set-string", value)
	}
	return set
}

// installExternal installs the chart and waits until its APIs are available.
func installExternal(t *testing.T, e *env, cluster *localcluster.Cluster, chart string, set []string) {
	t.Helper()
	helm(t, cluster, append([]string{"install", "kruise", chart}, set...)...)
	e.kubectl("wait", "--for=condition=Available", "--timeout=3m", "apiservice", "--selector=app.kubernetes.io/name=kruise")
}
