//go:build integration

package integration

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// prepared returns a server that does not run yet.
func prepared(t *testing.T, name string, args ...string) *server {
	t.Helper()
	s, err := newServer(t.Context(), name, args...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if s.command != nil {
			s.kill()
		}
	})
	return s
}

// etcdAt returns a directory and an address for a separate etcd.
func etcdAt(t *testing.T, name string) (dir, endpoint string) {
	t.Helper()
	port, err := freePort(t.Context())
	require.NoError(t, err)
	return filepath.Join(env.dir, name), (&url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}).String()
}

// answers waits until a path returns an error that contains the text.
func (s *server) answers(t *testing.T, path, text string) {
	t.Helper()
	var last error
	if !assert.Eventually(t, func() bool {
		_, last = s.get(t.Context(), path)
		return last != nil && strings.Contains(last.Error(), text)
	}, patience, 100*time.Millisecond) {
		t.Fatalf("%s: %v", path, last)
	}
}

func (s *server) alive(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		_, err := s.get(t.Context(), "/livez")
		return err == nil
	})
}

// refuses checks that get and list return 503 with the reason, and that discovery works.
func (s *server) refuses(t *testing.T, namespace, text string) {
	t.Helper()
	client := s.client(t, namespace)
	_, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	assert.ErrorContains(t, err, text)
	_, err = client.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	_, err = s.get(t.Context(), "/apis/apps.kruise.io/v1beta1")
	assert.NoError(t, err)
}

// TestServerStartsWithoutEtcd checks that the server waits for etcd without a time limit, and reports this.
func TestServerStartsWithoutEtcd(t *testing.T) {
	t.Parallel()
	dir, endpoint := etcdAt(t, "late-etcd")
	s := prepared(t, "late", "--etcd-servers="+endpoint)
	require.NoError(t, s.launch())
	s.alive(t)
	s.answers(t, "/readyz", "etcd at "+endpoint+" does not answer")
	s.refuses(t, "default", "etcd at "+endpoint+" does not answer")
	select {
	case <-s.done:
		t.Fatal("it exited")
	case <-time.After(25 * time.Second): // the library gives up after 20
	}
	s.alive(t)

	startEtcd(t, dir, endpoint)
	require.NoError(t, s.waitReady(t.Context()))
	_, err := s.client(t, newNamespace(t)).Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	assert.NoError(t, err)
}

// ownedPod creates a Pod of a CloneSet that cannot be scheduled. Its reference to the CloneSet has a version.
func ownedPod(t *testing.T, namespace, name string, owner *v1beta1.CloneSet, version schema.GroupVersion) {
	t.Helper()
	_, err := env.kube.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(owner, version.WithKind("CloneSet")),
		}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"no": "such-node"}, Containers: []corev1.Container{{Name: "web", Image: "kruise.local/demo:v1"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// TestEmptyStoreInAClusterWithPodsLosesNoPod empties the store of the server that the cluster uses, and its record in the cluster.
// The garbage collector reads the owner of each new Pod immediately, and the answer must not be 404. At the end, the operator accepts
// the loss, and the Pods are deleted. This proves that the garbage collector would have deleted them before.
// Not parallel: it empties the store of the shared server.
func TestEmptyStoreInAClusterWithPodsLosesNoPod(t *testing.T) {
	namespace := newNamespace(t)
	owner, err := env.kruise.AppsV1beta1().CloneSets(namespace).Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	require.NoError(t, err)
	ownedPod(t, namespace, "before", owner, v1beta1.SchemeGroupVersion)

	s := env.server
	data, kept := filepath.Join(s.dir, "data"), filepath.Join(s.dir, "kept")
	s.stop()
	require.NoError(t, os.Rename(data, kept))
	require.NoError(t, env.kube.CoreV1().ConfigMaps(ownNamespace).Delete(t.Context(), s.configMap, metav1.DeleteOptions{}))
	require.NoError(t, s.launch())
	t.Cleanup(func() {
		s.stop()
		require.NoError(t, os.RemoveAll(data))
		require.NoError(t, os.Rename(kept, data))
		require.NoError(t, s.start(context.WithoutCancel(t.Context())))
		require.NoError(t, allAvailable(context.WithoutCancel(t.Context())))
	})
	s.answers(t, "/readyz", "the store is closed: the store is empty, but ")
	s.alive(t)
	s.refuses(t, namespace, "the store is empty, but it must contain the owner of")
	ownedPod(t, namespace, "after", owner, v1beta1.SchemeGroupVersion)
	// The garbage collector does not watch this version, so it reads the owner.
	ownedPod(t, namespace, "read", owner, v1alpha1.SchemeGroupVersion)
	for range 5 {
		untilSeen(t, namespace)
	}
	for _, pod := range []string{"before", "after", "read"} {
		_, err := env.kube.CoreV1().Pods(namespace).Get(t.Context(), pod, metav1.GetOptions{})
		require.NoError(t, err, pod)
	}

	require.NoError(t, s.agree(t.Context(), s.offered(t.Context())))
	require.NoError(t, s.waitReady(t.Context()))
	for _, pod := range []string{"after", "read"} {
		eventually(t, func() bool {
			_, err := env.kube.CoreV1().Pods(namespace).Get(t.Context(), pod, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
}

// TestReviewsAreAnsweredWhileTheStoreIsClosed sends a review that does not need the store.
// Not parallel: it closes the store of the shared server.
func TestReviewsAreAnsweredWhileTheStoreIsClosed(t *testing.T) {
	namespace := protected(t)
	label(t, "namespace", namespace, "Cascading")
	pendingPod(t, namespace)
	expect := func(identity string) {
		_, err := env.kube.CoreV1().ConfigMaps(ownNamespace).Patch(context.WithoutCancel(t.Context()), env.server.configMap, types.MergePatchType,
			[]byte(`{"data":{"identity":"`+identity+`"}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	object, err := env.kube.CoreV1().ConfigMaps(ownNamespace).Get(t.Context(), env.server.configMap, metav1.GetOptions{})
	require.NoError(t, err)
	env.server.stop()
	expect("another")
	require.NoError(t, env.server.launch())
	t.Cleanup(func() {
		expect(object.Data["identity"])
		require.NoError(t, env.server.waitReady(context.WithoutCancel(t.Context())))
		require.NoError(t, allAvailable(context.WithoutCancel(t.Context())))
	})
	env.server.answers(t, "/readyz", "this is another store")
	eventually(t, func() bool {
		out, err := kubectl(t, "", "delete", "namespace", namespace, "--dry-run=server")
		return err != nil && strings.Contains(out, "active pods 1>0")
	})
	_, err = env.kruise.AppsV1beta1().CloneSets(namespace).Get(t.Context(), "demo", metav1.GetOptions{})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
}

// generation returns the generation in the ConfigMap of the store.
func (s *server) generation(t *testing.T) string {
	t.Helper()
	object, err := env.kube.CoreV1().ConfigMaps(ownNamespace).Get(t.Context(), s.configMap, metav1.GetOptions{})
	require.NoError(t, err)
	return object.Data["generation"]
}

// TestStoreRolledBackToASnapshotCloses replaces the store of a running server by an older copy. At the end, the operator opens it.
func TestStoreRolledBackToASnapshotCloses(t *testing.T) {
	t.Parallel()
	dir, endpoint := etcdAt(t, "rolled-etcd")
	stop := startEtcd(t, dir, endpoint)
	s := prepared(t, "rolled", "--etcd-servers="+endpoint)
	require.NoError(t, s.start(t.Context()))
	namespace := newNamespace(t)
	stop()
	require.NoError(t, os.CopyFS(dir+"-snapshot", os.DirFS(dir)))
	stop = startEtcd(t, dir, endpoint)
	require.NoError(t, s.waitReady(t.Context()))
	s.reads(t, namespace)
	before := s.generation(t)
	_, err := s.client(t, namespace).Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool { return s.generation(t) != before })

	stop()
	startEtcd(t, dir+"-snapshot", endpoint)
	eventually(t, func() bool {
		select {
		case <-s.done:
			return true
		default:
			_, err := s.client(t, namespace).Get(t.Context(), "demo", metav1.GetOptions{})
			require.False(t, apierrors.IsNotFound(err), "the collector would delete its Pods")
			return false
		}
	})
	log, err := os.ReadFile(s.logPath())
	require.NoError(t, err)
	assert.Contains(t, string(tail(log, 4000)), "the store is closed, restarting without caches: the store was rolled back")

	require.NoError(t, s.launch())
	s.answers(t, "/readyz", "the store was rolled back from generation ")
	s.refuses(t, namespace, "the store was rolled back")
	require.NoError(t, s.agree(t.Context(), s.offered(t.Context())))
	require.NoError(t, s.waitReady(t.Context()))
	_, err = s.client(t, namespace).Get(t.Context(), "demo", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

// TestStoreThatHoldsObjectsIsAdopted simulates an upgrade from a release without a guard.
func TestStoreThatHoldsObjectsIsAdopted(t *testing.T) {
	t.Parallel()
	dir, endpoint := etcdAt(t, "adopted-etcd")
	startEtcd(t, dir, endpoint)
	s := prepared(t, "adopted", "--etcd-servers="+endpoint)
	require.NoError(t, s.start(t.Context()))
	namespace := newNamespace(t)
	created, err := s.client(t, namespace).Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	require.NoError(t, err)
	s.stop()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Context: t.Context()})
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	deleted, err := client.Delete(t.Context(), "/registry/kruise.io/store-guard")
	require.NoError(t, err)
	require.EqualValues(t, 1, deleted.Deleted)
	require.NoError(t, env.kube.CoreV1().ConfigMaps(ownNamespace).Delete(t.Context(), s.configMap, metav1.DeleteOptions{}))

	require.NoError(t, s.launch())
	eventually(t, func() bool {
		_, err := s.get(t.Context(), "/readyz")
		return err == nil
	})
	assert.NotEmpty(t, s.generation(t))
	got, err := s.client(t, namespace).Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, created.UID, got.UID)
}
