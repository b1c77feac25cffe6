package turns

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kruise.io/kruise/pkg/apiserver/store"
)

// endpoint is the etcd of all tests. Each test has a prefix of its own.
var endpoint string

func TestMain(m *testing.M) {
	os.Exit(withEtcd(m.Run))
}

func withEtcd(run func() int) int {
	dir, err := os.MkdirTemp("", "turns")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	member, err := store.Start(context.Background(), store.Config{ //nolint:forbidigo // TestMain has no context
		Dir: filepath.Join(dir, "data"), QuotaBytes: store.DefaultQuotaBytes, MaxRequestBytes: store.DefaultMaxRequestBytes,
	})
	if err != nil {
		panic(err)
	}
	defer member.Stop()
	endpoint = member.Endpoint
	return run()
}

// newServers returns the turns of several servers on one etcd, and a client of it.
func newServers(t *testing.T, count int) (servers []*Turns, client *clientv3.Client) {
	t.Helper()
	for range count + 1 {
		var err error
		client, err = clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		servers = append(servers, New(client, t.Name()))
	}
	return servers[:count], client
}

// Each request reads a number and writes the next one. Requests that overlap would write the same number.
func TestOneTurnAtATime(t *testing.T) {
	servers, client := newServers(t, 2)
	number := func() int {
		response, err := client.Get(t.Context(), t.Name())
		if !assert.NoError(t, err) || len(response.Kvs) == 0 {
			return 0
		}
		return len(response.Kvs[0].Value)
	}
	var requests sync.WaitGroup
	for i := range 50 {
		requests.Go(func() {
			turn, done, err := servers[i%2].Take(t.Context(), "sidecarsets")
			if !assert.NoError(t, err) {
				return
			}
			defer done()
			_, err = client.Put(turn, t.Name(), strings.Repeat("x", number()+1))
			assert.NoError(t, err)
		})
	}
	requests.Wait()
	assert.Equal(t, 50, number())
}

func TestKindsDoNotWaitForEachOther(t *testing.T) {
	servers, _ := newServers(t, 1)
	_, done, err := servers[0].Take(t.Context(), "sidecarsets")
	require.NoError(t, err)
	defer done()
	_, other, err := servers[0].Take(t.Context(), "others")
	require.NoError(t, err)
	other()
}

// A request that gives up must not keep the others waiting, whether it waits for its own server or for another one.
func TestRequestThatGivesUpLeavesTheTurnToOthers(t *testing.T) {
	servers, _ := newServers(t, 2)
	_, done, err := servers[0].Take(t.Context(), "sidecarsets")
	require.NoError(t, err)
	for _, server := range servers {
		waiting, cancel := context.WithCancel(t.Context())
		answers := make(chan error)
		go func() {
			_, _, err := server.Take(waiting, "sidecarsets")
			answers <- err
		}()
		runtime.Gosched()
		cancel()
		require.ErrorIs(t, <-answers, context.Canceled)
	}
	done()
	for _, server := range servers {
		_, done, err := server.Take(t.Context(), "sidecarsets")
		require.NoError(t, err)
		done()
	}
}

// The lease of a server that was killed or cut off expires. A lease that was revoked is the same to the others.
func TestLostTurnEnds(t *testing.T) {
	servers, client := newServers(t, 2)
	turn, done, err := servers[0].Take(t.Context(), "sidecarsets")
	require.NoError(t, err)
	require.NoError(t, turn.Err())
	locks, err := client.Get(t.Context(), "/"+t.Name()+"/turns/sidecarsets/", clientv3.WithPrefix())
	require.NoError(t, err)
	require.Len(t, locks.Kvs, 1)
	_, err = client.Revoke(t.Context(), clientv3.LeaseID(locks.Kvs[0].Lease))
	require.NoError(t, err)
	<-turn.Done()
	require.ErrorIs(t, context.Cause(turn), errLost)
	_, next, err := servers[1].Take(t.Context(), "sidecarsets")
	require.NoError(t, err)
	next()
	done()
}
