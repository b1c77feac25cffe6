//go:build integration

package integration

import (
	"context"
	"fmt"
	"math/rand"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/workload/disruption"
)

const (
	disruptors  = 64
	unavailable = 8
)

// outage is a time in which a slot of the workload surely had no Pod to count on: from the answer to a disruption to when its
// successor was about to be ready, or a grant expired.
type outage struct {
	slot     int
	from, to time.Time
}

// history is what clients did.
type history struct {
	lock      sync.Mutex
	outages   []outage
	asked     atomic.Int64
	granted   atomic.Int64
	refused   atomic.Int64
	unsettled atomic.Int64
}

// add notes outages, none of which lasts longer than until the slot had a Pod to count on.
func (h *history) add(outages []outage, until time.Time) {
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, o := range outages {
		if o.to.After(until) {
			o.to = until
		}
		h.outages = append(h.outages, o)
	}
}

// most is how many slots were out at once, at the worst moment.
func (h *history) most() (most int, at time.Time) {
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, one := range h.outages {
		out := map[int]bool{}
		for _, other := range h.outages {
			if !other.from.After(one.from) && other.to.After(one.from) {
				out[other.slot] = true
			}
		}
		if len(out) > most {
			most, at = len(out), one.from
		}
	}
	return most, at
}

// TestBudgetsAreLinearizable has clients that evict, delete and update the Pods of one budget through two apiservers on one
// etcd, while a controller counts and successors of the Pods come. One apiserver is killed, and etcd. No moment of the
// recorded history has more Pods disrupted than allowed.
func TestBudgetsAreLinearizable(t *testing.T) {
	servers, restartEtcd := twoServers(t)
	b := withBudgets(t)
	b.budget(disruptors, unavailable)
	record := &history{}
	var clients sync.WaitGroup
	for slot := range disruptors {
		config := rest.CopyConfig(env.config)
		config.QPS = -1
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		own := *b
		own.kube = client
		// kube-apiserver asks about Pods that say so. Successors say so from the start, or would go unasked until the controller
		// has seen them.
		own.annotations = map[string]string{"kruise.io/related-pub": "b", "pub.kruise.io/related-pub": "b"}
		clients.Go(func() { disrupt(t, &own, slot, record) })
	}
	reached := func(share int64) func() bool {
		return func() bool { return record.asked.Load() >= operations*share/100 }
	}
	eventuallyLong(t, reached(40))
	servers[0].kill()
	require.NoError(t, applyService(t.Context(), servers[1].port))
	eventuallyLong(t, reached(70))
	restartEtcd()
	clients.Wait()

	most, at := record.most()
	t.Logf("%d operations: %d granted, %d refused, %d unanswered; at most %d of %d Pods were out at once",
		record.asked.Load(), record.granted.Load(), record.refused.Load(), record.unsettled.Load(), most, disruptors)
	assert.GreaterOrEqual(t, record.asked.Load(), int64(operations))
	assert.Greater(t, record.granted.Load(), int64(unavailable), "it was spent again and again")
	assert.NotZero(t, record.refused.Load())
	assert.LessOrEqual(t, most, unavailable, "at %s", at)
	b.settled(func(s policyv1beta1.PodUnavailableBudgetStatus) bool {
		return len(s.UnavailablePods)+len(s.DisruptedPods) == 0 && s.CurrentAvailable == disruptors && s.UnavailableAllowed == unavailable
	})
}

// disrupt disrupts the Pods of whatever slot, and keeps one slot filled.
func disrupt(t *testing.T, b *budgeted, slot int, record *history) {
	random := rand.New(rand.NewSource(int64(slot)))
	name := fmt.Sprintf("p-%d", slot)
	// updates are those of the slot's Pod. What became of them ends with the Pod, when its successor is there.
	var updates []outage
	for generation := 1; record.asked.Add(1) <= operations; {
		began := time.Now()
		var err error
		var update bool
		switch random.Intn(4) {
		case 0, 1:
			err = b.evict(name)
		case 2:
			err = b.remove(name)
		default:
			update = true
			err = b.image(name, fmt.Sprintf("kruise.local/demo:%d", random.Int63()))
		}
		answered := time.Now()
		switch {
		case err == nil && update:
			record.granted.Add(1)
			updates = append(updates, outage{slot: slot, from: answered, to: began.Add(disruption.UpdateExpiry)})
		case err == nil:
			record.granted.Add(1)
			name = fmt.Sprintf("p-%d-%d", slot, generation)
			generation++
			back := b.refill(name)
			record.add(append(updates, outage{slot: slot, from: answered, to: back}), back)
			updates = nil
		case apierrors.IsForbidden(err), apierrors.IsTooManyRequests(err):
			record.refused.Add(1)
			pause(t.Context(), time.Duration(50+random.Intn(200))*time.Millisecond)
		default:
			record.unsettled.Add(1)
			pause(t.Context(), 200*time.Millisecond)
		}
	}
	record.add(updates, time.Now().Add(disruption.UpdateExpiry))
}

// refill makes the successor of a Pod, and returns when it was about to be ready.
func (b *budgeted) refill(name string) (readied time.Time) {
	for b.t.Context().Err() == nil {
		readied = time.Now()
		if _, err := b.pod(name); err == nil {
			return readied
		}
		if _, err := b.ready(name); err == nil {
			return readied
		}
		pause(b.t.Context(), 100*time.Millisecond)
	}
	return readied
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// twoServers lets two apiservers on one etcd serve the cluster, until the test ends. The function ends etcd and starts it again.
func twoServers(t *testing.T) (servers []*server, restartEtcd func()) {
	t.Helper()
	port, err := freePort(t.Context())
	require.NoError(t, err)
	endpoint := (&url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}).String()
	dir := filepath.Join(env.dir, "budgets-etcd")
	stop := startEtcd(t, dir, endpoint)
	gates := slices.DeleteFunc(slices.Clone(env.server.args), func(arg string) bool { return len(arg) < 15 || arg[:15] != "--feature-gates" })
	for _, name := range []string{"budgets-a", "budgets-b"} {
		servers = append(servers, alone(t, name, append(gates, "--etcd-servers="+endpoint)...))
	}
	require.NoError(t, applyService(t.Context(), servers[0].port, servers[1].port))
	t.Cleanup(func() {
		require.NoError(t, env.server.publish(context.WithoutCancel(t.Context())))
	})
	return servers, func() {
		stop()
		startEtcd(t, dir, endpoint)
	}
}

// eventuallyLong waits for as long as the operations take.
func eventuallyLong(t *testing.T, happened func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 25*time.Minute, true, func(context.Context) (bool, error) {
		return happened(), nil
	})
	require.NoError(t, err)
}
