//go:build integration

package integration

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

// alone starts a server without an APIService.
func alone(t *testing.T, name string, args ...string) *server {
	t.Helper()
	s, err := startServer(t.Context(), name, args...)
	require.NoError(t, err)
	t.Cleanup(func() { s.kill() })
	return s
}

// client returns a client of this server, without the aggregation layer.
func (s *server) client(t *testing.T, namespace string) typed.CloneSetInterface {
	t.Helper()
	config := rest.CopyConfig(env.config)
	config.Host, config.CAFile, config.CAData, config.Insecure = s.url(), "", nil, true
	return clientFor(t, config, namespace)
}

// clientset returns a clientset of this server, without the aggregation layer and without a rate limit.
func (s *server) clientset(t *testing.T) versioned.Interface {
	t.Helper()
	config := rest.CopyConfig(env.config)
	config.Host, config.CAFile, config.CAData, config.Insecure, config.QPS = s.url(), "", nil, true, -1
	client, err := versioned.NewForConfig(config)
	require.NoError(t, err)
	return client
}

func TestDataOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	s := alone(t, "restart")
	created, err := s.client(t, namespace).Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	require.NoError(t, err)

	for name, end := range map[string]func(){"stop": s.stop, "kill": s.kill} {
		end()
		require.NoError(t, s.start(t.Context()), name)
		got, err := s.client(t, namespace).Get(t.Context(), "demo", metav1.GetOptions{})
		require.NoError(t, err, name)
		assert.Equal(t, created.UID, got.UID)
		assert.Equal(t, created.ResourceVersion, got.ResourceVersion)
	}
}

// reads waits until the server reads objects from etcd again. Its readiness check has another connection to etcd than its storage,
// and may have reconnected first. A read that fails has no effect, but a write that fails would end the test.
func (s *server) reads(t *testing.T, namespace string) {
	t.Helper()
	client := s.client(t, namespace)
	eventually(t, func() bool {
		_, err := client.List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
}

// A server that stops closes its watches and exits soon, because the next server waits for the store.
func TestOpenWatchesDoNotHoldTheProcess(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	s := alone(t, "watched")
	watch, err := s.client(t, namespace).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer watch.Stop()
	start := time.Now()
	s.stop()
	assert.Less(t, time.Since(start), 30*time.Second)
}

func TestOneProcessOwnsTheDirectory(t *testing.T) {
	t.Parallel()
	s := alone(t, "owner")
	second := exec.CommandContext(t.Context(), env.binary, append(s.args, "--data-dir-lock-timeout=1s")...)
	out, err := second.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "Waiting for another kruise-apiserver to release the data directory")
	assert.Contains(t, string(out), "is in use by another kruise-apiserver; stop that one or choose another directory")
}

func TestStoreIsProtobufInTheStoredVersion(t *testing.T) {
	t.Parallel()
	cert, key, ca := env.cluster.Credentials("etcd-client")
	network, err := env.cluster.Network()
	require.NoError(t, err)
	s := alone(t, "external", "--etcd-servers="+network.EtcdEndpoint(), "--etcd-prefix=/external-"+strconv.Itoa(os.Getpid()),
		"--etcd-cafile="+ca, "--etcd-certfile="+cert, "--etcd-keyfile="+key)
	namespace := newNamespace(t)
	_, err = s.client(t, namespace).Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	require.NoError(t, err)

	stored := readKey(t, network.EtcdEndpoint(), fmt.Sprintf("/external-%d/apps.kruise.io/clonesets/%s/demo", os.Getpid(), namespace), cert, key, ca)
	assert.Equal(t, "k8s\x00", stored[:4])
	assert.Contains(t, stored, v1beta1.SchemeGroupVersion.String())
}

// While its etcd is unavailable, the server is not ready but alive, so it is not restarted. It is ready again when etcd returns.
func TestStoreComesBackAfterBeingAway(t *testing.T) {
	t.Parallel()
	port, err := freePort(t.Context())
	require.NoError(t, err)
	endpoint := (&url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}).String()
	dir := filepath.Join(env.dir, "returning-etcd")
	stop := startEtcd(t, dir, endpoint)
	s := alone(t, "returning", "--etcd-servers="+endpoint)
	namespace := newNamespace(t)
	client := s.client(t, namespace)
	created, err := client.Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	require.NoError(t, err)

	stop()
	eventually(t, func() bool {
		_, err := s.get(t.Context(), "/readyz")
		return err != nil && strings.Contains(err.Error(), "etcd at "+endpoint+" does not answer")
	})
	_, err = s.get(t.Context(), "/livez")
	require.NoError(t, err)
	startEtcd(t, dir, endpoint)
	eventually(t, func() bool {
		_, err := s.get(t.Context(), "/readyz")
		return err == nil
	})
	s.reads(t, namespace)
	created.Spec.MinReadySeconds = 1
	updated, err := client.Update(t.Context(), created, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, int64(2), updated.Generation)
}

func startEtcd(t *testing.T, dir, endpoint string) (stop func()) {
	t.Helper()
	command := exec.CommandContext(t.Context(), env.cluster.Binary("etcd"), "--data-dir="+dir, "--listen-client-urls="+endpoint,
		"--advertise-client-urls="+endpoint, "--listen-peer-urls=http://127.0.0.1:0", "--log-level=error", "--unsafe-no-fsync")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, command.Start())
	return func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
}
