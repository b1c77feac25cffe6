//go:build integration

package integration

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// patient are flags of an etcd whose members elect no other leader because the machine is busy. A write that an election interrupts fails.
var patient = []string{"--heartbeat-interval=500", "--election-timeout=5000"}

// serverPair starts two apiservers on one etcd with three members. The cluster does not use them.
func serverPair(t *testing.T, flags ...string) (servers []*server, store etcd) {
	t.Helper()
	store = startMembers(t, 3, flags...)
	gates := slices.DeleteFunc(slices.Clone(env.server.args), func(arg string) bool { return !strings.HasPrefix(arg, "--feature-gates") })
	for _, name := range []string{"a", "b"} {
		servers = append(servers, alone(t, strings.ToLower(t.Name())+"-"+name, append(gates, "--etcd-servers="+strings.Join(store.endpoints(), ","))...))
	}
	return servers, store
}

// twoServers lets two apiservers on one etcd serve the cluster instead of the shared server until the test ends. So the test is not
// parallel. The flags are those of etcd.
func twoServers(t *testing.T, flags ...string) (servers []*server, store etcd) {
	t.Helper()
	servers, store = serverPair(t, flags...)
	servedBy(t, servers, servers[0].port, servers[1].port)
	return servers, store
}

// servedBy lets servers serve the cluster by some of their ports, instead of the shared server, until the test ends.
func servedBy(t *testing.T, servers []*server, ports ...int) {
	t.Helper()
	require.NoError(t, applyService(t.Context(), ports...))
	// kube-apiserver keeps its connection to the shared server otherwise, and none of the others is used.
	env.server.stop()
	require.NoError(t, allAvailable(t.Context()))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, s := range servers { // Before the shared server is waited for, so that none of them is lost after it.
			s.kill()
		}
		require.NoError(t, env.server.start(ctx))
		require.NoError(t, env.server.publish(ctx))
	})
}

// etcd is an etcd cluster with several members.
type etcd []*member

// member is one process of an etcd cluster. Its data is kept when it stops.
type member struct {
	name, client, peer string
	args               []string
	command            *exec.Cmd
}

// startMembers starts an etcd cluster with the given number of members, which stop at the end of the test.
func startMembers(t *testing.T, count int, flags ...string) (all etcd) {
	t.Helper()
	dir := t.TempDir()
	var peers []string
	for i := range count {
		m := &member{name: fmt.Sprintf("member-%d", i), client: localURL(t), peer: localURL(t)}
		all, peers = append(all, m), append(peers, m.name+"="+m.peer)
	}
	for _, m := range all {
		m.args = []string{
			"--name=" + m.name, "--data-dir=" + filepath.Join(dir, m.name),
			"--listen-client-urls=" + m.client, "--advertise-client-urls=" + m.client, "--listen-peer-urls=" + m.peer,
			"--initial-advertise-peer-urls=" + m.peer, "--initial-cluster=" + strings.Join(peers, ","), "--log-level=error", "--unsafe-no-fsync",
		}
		m.args = append(m.args, flags...)
		require.NoError(t, m.start())
		t.Cleanup(m.kill)
	}
	all.leader(t)
	return all
}

func (m *member) start() error {
	m.command = exec.Command(env.cluster.Binary("etcd"), m.args...)
	m.command.Stderr = os.Stderr
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return m.command.Start()
}

func (m *member) kill() {
	_ = m.command.Process.Kill()
	_ = m.command.Wait()
}

// endpoints returns the addresses of the members for clients.
func (all etcd) endpoints() (list []string) {
	for _, m := range all {
		list = append(list, m.client)
	}
	return list
}

// leader waits until the members have a leader, and returns it.
func (all etcd) leader(t *testing.T) (leader *member) {
	t.Helper()
	eventually(t, func() bool {
		for _, m := range all {
			if leads(t, m.client) {
				leader = m
				return true
			}
		}
		return false
	})
	return leader
}

func leads(t *testing.T, endpoint string) bool {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Context: t.Context()})
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // A member without a peer does not answer.
	defer cancel()
	status, err := client.Status(ctx, endpoint)
	return err == nil && status.Leader == status.Header.MemberId
}

func localURL(t *testing.T) string {
	t.Helper()
	port, err := freePort(t.Context())
	require.NoError(t, err)
	return (&url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}).String()
}
