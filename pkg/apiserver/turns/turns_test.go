package turns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kruise.io/kruise/pkg/apiserver/guard"
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
	for range count {
		servers = append(servers, New(newClient(t), t.Name(), guard.New().Explain))
	}
	client = newClient(t)
	t.Cleanup(func() { // The locks are given back before the clients are closed.
		for _, server := range servers {
			idle(t, server)
		}
	})
	return servers, client
}

// idle waits until the server has given all locks back, and remembers no set.
func idle(t *testing.T, server *Turns) {
	t.Helper()
	require.Eventually(t, func() bool {
		server.lock.Lock()
		defer server.lock.Unlock()
		return len(server.queues) == 0
	}, 20*time.Second, time.Millisecond)
}

// newClient returns a client that is closed at the end of the test. The member waits seconds for open clients when it stops.
func newClient(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// A lease for each lock would cost two more writes. The first turn also gets the lease of the server.
func TestTurnCostsTwoWrites(t *testing.T) {
	servers, client := newServers(t, 1)
	writes := func() uint64 {
		status, err := client.Status(t.Context(), endpoint)
		require.NoError(t, err)
		return status.RaftIndex
	}
	turn := func() {
		_, done, err := servers[0].Take(t.Context(), "sidecarsets")
		require.NoError(t, err)
		done()
		idle(t, servers[0])
	}
	turn()
	before := writes()
	for range 10 {
		turn()
	}
	assert.Contains(t, []uint64{20, 21}, writes()-before, "etcd itself writes its version once after the start")
}

// A lock is a write too. etcd refuses it when it is full, and a repetition does not help.
func TestTurnInAFullEtcd(t *testing.T) {
	dir, err := os.MkdirTemp("", "turns") //nolint:usetesting // t.TempDir is longer than a socket's path may be
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	member, err := store.Start(t.Context(), store.Config{Dir: dir, QuotaBytes: 2 << 20, MaxRequestBytes: store.DefaultMaxRequestBytes})
	require.NoError(t, err)
	t.Cleanup(member.Stop)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{member.Endpoint}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	for i := 0; err == nil; i++ {
		_, err = client.Put(t.Context(), fmt.Sprint(i), strings.Repeat("x", 200<<10))
	}
	require.ErrorIs(t, err, rpctypes.ErrNoSpace)
	_, _, err = New(client, t.Name(), guard.New().Explain).Take(t.Context(), "sidecarsets")
	status, ok := errors.AsType[*apierrors.StatusError](err)
	require.True(t, ok, "%v", err)
	assert.EqualValues(t, 507, status.Status().Code)
}

// Each request reads a number and writes the next one. Requests that overlap would write the same number.
func TestOneTurnAtATime(t *testing.T) {
	servers, client := newServers(t, 2)
	_, err := client.Delete(t.Context(), t.Name())
	require.NoError(t, err)
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

// whileTwentyWait ends a turn while twenty requests wait in the server, and calls work in the turn of each of them.
func whileTwentyWait(t *testing.T, server *Turns, end func(), work func(turn context.Context)) {
	t.Helper()
	var requests sync.WaitGroup
	var waiting atomic.Int32
	for range 20 {
		requests.Go(func() {
			waiting.Add(1)
			turn, done, err := server.Take(t.Context(), "sidecarsets")
			if assert.NoError(t, err) {
				work(turn)
				done()
			}
		})
	}
	for waiting.Load() < 20 {
		runtime.Gosched()
	}
	end()
	requests.Wait()
}

// The requests that wait in one server need the lock in etcd only once.
func TestWaitingRequestsShareTheLock(t *testing.T) {
	servers, client := newServers(t, 1)
	servers[0].hold = time.Minute
	_, first, err := servers[0].Take(t.Context(), "sidecarsets")
	require.NoError(t, err)
	before, err := client.Get(t.Context(), "/")
	require.NoError(t, err)
	whileTwentyWait(t, servers[0], first, func(context.Context) {})
	after, err := client.Get(t.Context(), "/")
	require.NoError(t, err)
	assert.Less(t, after.Header.Revision-before.Header.Revision, int64(20), "each lock is written to etcd")
}

// Requests of one server that never end must not keep another server waiting.
func TestOtherServersHaveTheirTurn(t *testing.T) {
	servers, client := newServers(t, 2)
	servers[0].hold = 10 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for ctx.Err() == nil {
				if turn, done, err := servers[0].Take(ctx, "sidecarsets"); err == nil {
					_, _ = client.Get(turn, "/") // The others wait meanwhile.
					done()
				}
			}
		})
	}
	patient, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 3 {
		_, done, err := servers[1].Take(patient, "sidecarsets")
		require.NoError(t, err)
		done()
	}
	stop()
	busy.Wait()
}

// Nothing stays of a namespace without writes, see idle.
func TestNamespacesDoNotWaitForEachOther(t *testing.T) {
	servers, _ := newServers(t, 2)
	for i, set := range []string{"budgets/a", "budgets/b", "budgets/a-b"} {
		patient, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, done, err := servers[i%2].Take(patient, set)
		require.NoError(t, err)
		defer done()
	}
}

// A write that waits for a webhook must not keep the others waiting without an end, whether it looks at its context or not.
func TestTurnThatTakesTooLongEnds(t *testing.T) {
	servers, client := newServers(t, 2)
	servers[0].longest, servers[0].margin = 100*time.Millisecond, 100*time.Millisecond
	for _, next := range servers {
		turn, done, err := servers[0].Take(t.Context(), "sidecarsets")
		require.NoError(t, err)
		_, other, err := next.Take(t.Context(), "sidecarsets")
		require.NoError(t, err)
		require.Error(t, turn.Err(), "the other one has its turn only after the end of the first")
		assert.True(t, apierrors.IsTimeout(context.Cause(turn)), "%v", context.Cause(turn))
		_, err = client.Put(turn, t.Name(), "late")
		require.Error(t, err, "nothing is written after the turn")
		done() // It must not pass the turn of the other one on.
		waiting, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, _, err = servers[1].Take(waiting, "sidecarsets")
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		other()
	}
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

// A client whose requests reach two servers in turn waits for the lock that the other server gives back at this moment. etcd sends events
// of the past only every 100 ms. On a busy machine a round can fail by chance, so the first of five rounds that holds counts. If none
// holds, the test fails if the machine was quick in one of them, and says nothing otherwise.
func TestServersPassTheTurnToEachOtherAtOnce(t *testing.T) {
	servers, client := newServers(t, 2)
	const rounds, quick = 5, 20 * time.Millisecond
	fastest := time.Hour
	for range rounds {
		wait, write := medianTurn(t, servers, client)
		if wait < 50*time.Millisecond+5*write {
			return // Beside the writes of the lock, the server does not wait.
		}
		fastest = min(fastest, write)
	}
	if fastest >= quick {
		t.Skipf("the machine is too busy: a write takes %s (median)", fastest)
	}
	t.Errorf("beside the writes of the lock, the server waits, although a write takes only %s (median)", fastest)
}

// medianTurn lets two servers take turns. It returns how long a server waits for its turn, and how long a write takes.
func medianTurn(t *testing.T, servers []*Turns, client *clientv3.Client) (turn, write time.Duration) {
	t.Helper()
	const count = 30
	waits, writes := make([]time.Duration, 0, count), make([]time.Duration, 0, count)
	for i := range count {
		began := time.Now()
		_, err := client.Put(t.Context(), t.Name(), "written")
		require.NoError(t, err)
		written := time.Now()
		_, done, err := servers[i%2].Take(t.Context(), "sidecarsets")
		require.NoError(t, err)
		waits, writes = append(waits, time.Since(written)), append(writes, written.Sub(began))
		done()
	}
	slices.Sort(waits)
	slices.Sort(writes)
	t.Logf("a turn takes %s and a write %s (medians)", waits[count/2], writes[count/2])
	return waits[count/2], writes[count/2]
}

// A turn may last longer than the lease without a renewal. The other server then gets its turn at once, so the lease was renewed.
func TestLongTurnKeepsItsLease(t *testing.T) {
	servers, _ := newServers(t, 2)
	servers[0].ttl = 6 * time.Second // It is renewed every two seconds.
	turn, done, err := servers[0].Take(t.Context(), "sidecarsets")
	require.NoError(t, err)
	waiting, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	_, early, err := servers[1].Take(waiting, "sidecarsets")
	if assert.ErrorIs(t, err, context.DeadlineExceeded) {
		assert.NoError(t, turn.Err())
	} else {
		early()
	}
	done()
	_, next, err := servers[1].Take(t.Context(), "sidecarsets")
	require.NoError(t, err)
	next()
}

// cable is a network that can be cut: nothing arrives any more, and no connection ends.
type cable struct {
	net.Conn
	cut *atomic.Bool
}

func (c cable) Write(data []byte) (int, error) {
	if c.cut.Load() {
		return len(data), nil
	}
	return c.Conn.Write(data)
}

// A server that is cut off must end its turn before etcd gives the lock to another server.
func TestCutOffServerEndsItsTurnBeforeAnotherBeginsOne(t *testing.T) {
	servers, _ := newServers(t, 2)
	var cut atomic.Bool
	path := strings.TrimPrefix(endpoint, "unix://")
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialOptions: []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
			return cable{conn, &cut}, err
		}),
	}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	lonely := New(client, t.Name(), guard.New().Explain)
	lonely.ttl = 2 * time.Second // The shortest that etcd grants.
	for range 5 {
		turn, _, err := lonely.Take(t.Context(), "sidecarsets")
		require.NoError(t, err)
		cut.Store(true)
		_, done, err := servers[0].Take(t.Context(), "sidecarsets")
		require.NoError(t, err)
		assert.ErrorIs(t, context.Cause(turn), errLost)
		done()
		cut.Store(false)
		lonely.lock.Lock()
		cutOff := lonely.queues["sidecarsets"]
		lonely.lock.Unlock()
		<-cutOff.token
	}
}

// The lease of a server that was killed or cut off expires. A lease that was revoked is the same to the others.
func TestLostTurnEnds(t *testing.T) {
	servers, client := newServers(t, 2)
	servers[0].ttl = 2 * time.Second // The shortest that etcd grants.
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

	// The lost lock is not handed to the requests that wait in the same server: each gets a turn that is not lost.
	servers[0].hold = time.Minute
	whileTwentyWait(t, servers[0], done, func(turn context.Context) {
		_, err := client.Get(turn, "/")
		assert.NoError(t, err)
	})
}
