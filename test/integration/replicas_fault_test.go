//go:build integration && fault

package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// replicaStops is how often a replica ends.
	replicaStops = 8
	// endpointDelay is how long it takes until a terminating Pod is no longer an endpoint.
	endpointDelay = 500 * time.Millisecond
)

// TestReplicaEndsUnderLoad ends one of two apiservers after the other, as a rolling upgrade does: Kubernetes sends SIGTERM, and takes
// the endpoint away a moment later. The library closes a connection by one frame. A write that is on its way then fails, because the
// proxy of kube-apiserver cannot repeat a body: at most one for each client and end. A watch sees every acknowledged write.
func TestReplicaEndsUnderLoad(t *testing.T) {
	servers, _ := twoServersWith(t, "--shutdown-delay-duration=5s")
	const clients = 4
	l := startLoad(t, env.kruise.AppsV1beta1().CloneSets(newNamespace(t)), clients)
	for i := range replicaStops {
		ends := servers[i%2]
		began, before := time.Now(), len(l.failed())
		stopped := make(chan struct{})
		go func() { defer close(stopped); ends.stop() }()
		<-time.After(endpointDelay)
		withdraw(t, ends.port)
		<-stopped
		t.Logf("replica %d ended after %s, %d writes failed, the longest time without an answer was %s", i%2,
			time.Since(began).Round(time.Millisecond), len(l.failed())-before, l.longestGap())
		assert.Less(t, time.Since(began), 30*time.Second)
		require.NoError(t, ends.start(t.Context()))
		require.NoError(t, applyEndpointSlice(t.Context(), ends.port))
	}
	l.finish(t)
	assert.LessOrEqual(t, len(l.failures), clients*replicaStops)
}

// twoServersWith is twoServers with more flags.
func twoServersWith(t *testing.T, args ...string) (servers []*server, store etcd) {
	t.Helper()
	servers, store = twoServers(t, patient...)
	for _, s := range servers {
		s.stop()
		s.args = append(s.args, args...)
		require.NoError(t, s.start(t.Context()))
	}
	namespace := newNamespace(t)
	kept := create(t, servers[0].client(t, namespace), newCloneSet("kept"))
	eventually(t, func() bool {
		got, err := env.kruise.AppsV1beta1().CloneSets(namespace).Get(t.Context(), kept.Name, metav1.GetOptions{})
		return err == nil && got.UID == kept.UID
	})
	return servers, store
}

// withdraw takes one endpoint from the Service.
func withdraw(t *testing.T, port int) {
	t.Helper()
	slices := env.kube.DiscoveryV1().EndpointSlices(ownNamespace)
	list, err := slices.List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=kruise-apiserver"})
	require.NoError(t, err)
	for _, slice := range list.Items {
		if int(*slice.Ports[0].Port) == port {
			require.NoError(t, slices.Delete(t.Context(), slice.Name, metav1.DeleteOptions{}))
		}
	}
}
