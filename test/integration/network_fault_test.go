//go:build integration && fault

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// network is what lies between kube-apiserver and a server: a TCP proxy.
type network struct {
	listener net.Listener
	target   string
	// delay is added to each piece of data. stall is the probability that one is sent again after retransmission, as on a network
	// that loses packets. cut keeps all data back.
	delay atomic.Int64
	stall atomic.Int64
	cut   atomic.Bool
	// carried is the number of connections.
	carried atomic.Int64
}

// retransmission is how long a lost packet takes.
const retransmission = 200 * time.Millisecond

// startNetwork listens on a port that the cluster reaches.
func startNetwork(t *testing.T, s *server) *network {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", ":0")
	require.NoError(t, err)
	n := &network{listener: listener, target: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go n.carry(connection)
		}
	}()
	return n
}

// heal makes the network fast and reliable again.
func (n *network) heal() {
	n.delay.Store(0)
	n.stall.Store(0)
	n.cut.Store(false)
}

func (n *network) port() int { return n.listener.Addr().(*net.TCPAddr).Port }

func (n *network) carry(near net.Conn) {
	defer func() { _ = near.Close() }()
	n.carried.Add(1)
	far, err := net.Dial("tcp", n.target)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	var group sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		group.Go(func() {
			n.pass(way[0], way[1])
			_, _ = near.Close(), far.Close()
		})
	}
	group.Wait()
}

// piece is data that has not been delivered yet.
type piece struct {
	data []byte
	due  time.Time
}

// pass carries data in order. A delay does not limit the throughput.
func (n *network) pass(from, to net.Conn) {
	way := make(chan piece, 1024)
	defer close(way)
	go func() {
		for p := range way {
			<-time.After(time.Until(p.due))
			for n.cut.Load() {
				<-time.After(50 * time.Millisecond)
			}
			if _, err := to.Write(p.data); err != nil {
				_ = from.Close()
			}
		}
	}()
	buffer := make([]byte, 32<<10)
	for {
		count, err := from.Read(buffer)
		if err != nil {
			return
		}
		wait := time.Duration(n.delay.Load())
		if rand.Int64N(100) < n.stall.Load() {
			wait += retransmission
		}
		way <- piece{slices.Clone(buffer[:count]), time.Now().Add(wait)}
	}
}

// networkToServer has kube-apiserver reach the shared server through a network until the end of the test.
func networkToServer(t *testing.T) *network {
	t.Helper()
	n := startNetwork(t, env.server)
	require.NoError(t, applyService(t.Context(), n.port()))
	serveAgain(t)
	t.Cleanup(n.heal)
	env.server.stop() // kube-apiserver keeps its connection otherwise.
	require.NoError(t, env.server.start(t.Context()))
	require.NoError(t, allAvailable(t.Context()))
	eventually(t, func() bool { // kube-apiserver connects through the proxy.
		_, err := env.kruise.AppsV1beta1().CloneSets("default").List(t.Context(), metav1.ListOptions{})
		return err == nil && n.carried.Load() > 0
	})
	return n
}

// latency is how long requests took.
type latency struct {
	median, slow  time.Duration
	count, failed int
}

func (l latency) String() string {
	return fmt.Sprintf("median %s, 99 %% below %s, %d of %d failed",
		l.median.Round(100*time.Microsecond), l.slow.Round(100*time.Microsecond), l.failed, l.count)
}

// measure repeats a request.
func measure(count int, request func(i int) error) latency { return measureUntil(nil, count, request) }

// measureUntil repeats a request, at most until end is closed.
func measureUntil(end <-chan struct{}, count int, request func(i int) error) latency {
	var l latency
	taken := make([]time.Duration, 0, count)
	for i := range count {
		select {
		case <-end:
			return l.of(taken)
		default:
		}
		began := time.Now()
		if err := request(i); err != nil {
			l.failed++
		}
		taken = append(taken, time.Since(began))
		<-time.After(5 * time.Millisecond)
	}
	return l.of(taken)
}

// of sets what the times of the requests say.
func (l latency) of(taken []time.Duration) latency {
	if l.count = len(taken); l.count > 0 {
		slices.Sort(taken)
		l.median, l.slow = taken[l.count/2], taken[l.count*99/100]
	}
	return l
}

// TestBadNetworkDelaysNobodyElse has the network between kube-apiserver and the apiserver slow, lossy and cut, while clients use
// Kruise objects. Requests for objects that are not of Kruise take as long as before and after that: Pods, whose webhooks are
// registered, and ConfigMaps.
func TestBadNetworkDelaysNobodyElse(t *testing.T) {
	protected(t)
	n := networkToServer(t)
	// The controller, which does not run here, gives a namespace this label if nothing changes its Pods.
	namespace := newLabelledNamespace(t, map[string]string{pub.PodCreationKey: pub.PodCreationIgnored})
	l := startLoad(t, env.kruise.AppsV1beta1().CloneSets(newNamespace(t)), 4)
	request := func(i int) error {
		name := fmt.Sprintf("c-%d-%d", i, time.Now().UnixNano())
		configMaps := env.kube.CoreV1().ConfigMaps(namespace)
		if _, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := env.kube.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"no": "such-node"}, Containers: []corev1.Container{{Name: "web", Image: "kruise.local/demo:v1"}},
			},
		}, metav1.CreateOptions{})
		return err
	}
	require.NoError(t, request(0))
	const count = 300
	measure(count, request)
	before := measure(count, request)
	t.Logf("quiet: %s", before)
	for _, step := range []struct {
		name         string
		delay, stall int64
		cut          bool
	}{
		{"slow, 500 ms", int64(500 * time.Millisecond), 0, false}, {"lossy, 5 %", 0, 5, false}, {"cut", 0, 0, true},
	} {
		n.delay.Store(step.delay)
		n.stall.Store(step.stall)
		n.cut.Store(step.cut)
		<-time.After(2 * time.Second)
		bad := measure(count, request)
		n.heal()
		<-time.After(2 * time.Second)
		after := measure(count, request)
		t.Logf("%s: %s; quiet again: %s", step.name, bad, after)
		assert.Zero(t, bad.failed, step.name)
		assert.Less(t, bad.median, 2*max(before.median, after.median), step.name)
		before = after
	}
	eventually(t, func() bool {
		before := len(l.failed())
		<-time.After(time.Second)
		return len(l.failed()) == before && l.longestGap() < 5*time.Second
	})
	l.finish(t)
}

// serveAgain points the APIServices to the shared server at the end of the test.
func serveAgain(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, env.server.publish(context.WithoutCancel(t.Context()))) })
}
