package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"kruise.io/kruise/pkg/features"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/nodeagent/cluster/clustertest"
	"kruise.io/kruise/pkg/nodeagent/cri/critest"
	"kruise.io/kruise/pkg/nodeagent/server"
)

// setup returns the configuration of an agent on its own node, with a free address.
func setup(t *testing.T) (*Config, *fake.Clientset) {
	t.Helper()
	runDir, err := os.MkdirTemp("", "run") //nolint:usetesting // A socket's path has at most 107 bytes.
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(runDir)) })
	client := fake.NewClientset()
	gates, err := features.New("")
	require.NoError(t, err)
	return &Config{Options: Options{NodeName: "node-1", Gates: gates, Addr: freeAddr(t), PprofAddr: freeAddr(t), RunDir: runDir, CRRWorkers: 1},
		Client: clustertest.New(client, kruisefake.NewClientset())}, client
}

func freeAddr(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

// get returns the answer as one text, or the error.
func get(t *testing.T, addr, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { assert.NoError(t, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

// Case metrics 5.
func TestRun(t *testing.T) {
	config, client := setup(t)
	config.EnablePprof = true
	critest.Start(t, filepath.Join(config.RunDir, "containerd/containerd.sock"), "containerd", "2.1.0")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, config) }()

	assert.Eventually(t, func() bool { return get(t, config.Addr, "/readyz") == "200 ok" }, 10*time.Second, 10*time.Millisecond)
	assert.Equal(t, "200 ok", get(t, config.Addr, "/healthz"))
	assert.Contains(t, get(t, config.Addr, "/metrics"), `kruise_node_agent_cri_up{runtime="containerd"} 1`)
	for _, queue := range []string{
		"crr", "imagepuller", "sync_node_pod_probe", "update_node_pod_probe_status", "runtime_container_meta", "runtime_container_meta_restarter",
	} {
		assert.Contains(t, get(t, config.Addr, "/metrics"), `workqueue_depth{name="`+queue+`"} `)
	}
	assert.Contains(t, get(t, config.PprofAddr, "/debug/pprof/"), "200 ")
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		events, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
		assert.NoError(c, err)
		if assert.Len(c, events.Items, 1) {
			assert.Contains(c, events.Items[0].Message, "containerd 2.1.0")
		}
	}, 10*time.Second, 10*time.Millisecond)

	start := time.Now()
	cancel()
	require.NoError(t, <-done)
	assert.Less(t, time.Since(start), 5*time.Second)
	assert.Contains(t, get(t, config.Addr, "/healthz"), "connection refused")
}

// Case node-agent 7.
func TestHealth(t *testing.T) {
	var seen atomic.Bool
	parts := []part{{run: nil}, {check: nodeImageInformer, synced: seen.Load}}
	s := server.New("127.0.0.1:0", informerChecks(&parts), nil)
	require.NoError(t, s.Listen(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	assert.Equal(t, "500 check nodeImageInformerSynced failed, err: not synced\n", get(t, s.Addr(), "/healthz"))
	assert.Equal(t, "200 ok", get(t, s.Addr(), "/livez"))
	seen.Store(true)
	assert.Equal(t, "200 ok", get(t, s.Addr(), "/healthz"))
	cancel()
	require.NoError(t, <-done)
}

// Cases node-agent 4, 6.
func TestRunFails(t *testing.T) {
	containerd := func(t *testing.T, config *Config) {
		critest.Start(t, filepath.Join(config.RunDir, "containerd.sock"), "containerd", "2.1.0")
	}
	tests := map[string]struct {
		prepare func(*testing.T, *Config)
		want    string
	}{
		"the socket file is missing while containerd.sock exists": {func(t *testing.T, config *Config) {
			containerd(t, config)
			config.SocketFile = "foo.sock"
		}, "not found container runtime sock"},
		"no socket at all": {func(*testing.T, *Config) {}, "not found container runtime sock"},
		"the only runtime is dead": {func(t *testing.T, config *Config) {
			critest.Dead(t, filepath.Join(config.RunDir, "containerd.sock"))
		}, "connection refused"},
		"the port is taken": {func(t *testing.T, config *Config) {
			containerd(t, config)
			var listen net.ListenConfig
			listener, err := listen.Listen(t.Context(), "tcp", config.Addr)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, listener.Close()) })
		}, "address already in use"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, client := setup(t)
			test.prepare(t, config)
			assert.ErrorContains(t, Run(t.Context(), config), test.want)
			assert.Empty(t, client.Actions())
		})
	}
}
