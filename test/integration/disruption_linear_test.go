//go:build integration

package integration

import (
	"context"
	"fmt"
	"math/rand"
	"net/http"
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
	"kruise.io/kruise/test/integration/occupancy"
)

const (
	disruptors  = 64
	unavailable = 8
)

// history records what clients did.
type history struct {
	lock sync.Mutex
	// outages are times in which a slot of the workload certainly had no available Pod: from the answer to a disruption until its
	// replacement was about to be ready, or until the grant expired.
	outages   []occupancy.Outage
	asked     atomic.Int64
	granted   atomic.Int64
	refused   atomic.Int64
	unsettled atomic.Int64
	// enough stops the clients.
	enough atomic.Bool
	// waited and refilling are the milliseconds that clients waited for answers and for replacements.
	waited    atomic.Int64
	refilling atomic.Int64
}

// add records outages. Each one ends at the latest when the slot has an available Pod again.
func (h *history) add(outages []occupancy.Outage, until time.Time) {
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, o := range outages {
		if o.To.After(until) {
			o.To = until
		}
		h.outages = append(h.outages, o)
	}
}

// TestBudgetsAreLinearizable lets clients evict, delete and update the Pods of one budget through two kube-apiservers and two apiservers
// on one etcd, while a controller counts and replacement Pods are created. One apiserver is killed and restarted, then the leader of
// etcd. At no time in the recorded history are more Pods disrupted than allowed.
// Not parallel: other servers serve the cluster.
func TestBudgetsAreLinearizable(t *testing.T) {
	servers, store := twoServers(t)
	b := withBudgets(t)
	b.budget(disruptors, unavailable)
	doors := []string{env.config.Host, startKubeAPIServer(t, "--service-account-key-file="+signingKey(), "--service-account-signing-key-file="+signingKey())}
	record, began := &history{}, time.Now()
	var clients sync.WaitGroup
	defer func() { // Also if an expectation fails: the clients would go on without a pause.
		record.enough.Store(true)
		clients.Wait()
	}()
	for slot := range disruptors {
		config := rest.CopyConfig(env.config)
		config.QPS, config.Host = -1, doors[slot%len(doors)]
		config.Wrap(asksOnce)
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		own := *b
		own.kube = client
		// kube-apiserver sends reviews only for Pods with this annotation. Replacement Pods have it from the start. Otherwise,
		// disruptions would not be reviewed until the controller has annotated them.
		own.annotations = map[string]string{"kruise.io/related-pub": "b", "pub.kruise.io/related-pub": "b"}
		clients.Go(func() { disrupt(t, &own, slot, record) })
	}
	record.share(t, 30, "both apiservers and all of etcd")
	servers[0].kill()
	require.NoError(t, applyService(t.Context(), servers[1].port))
	record.share(t, 15, "one apiserver")
	require.NoError(t, servers[0].start(t.Context()))
	require.NoError(t, applyService(t.Context(), servers[0].port, servers[1].port))
	record.share(t, 15, "both apiservers")
	leader := store.leader(t)
	leader.kill()
	record.share(t, 20, "without etcd's leader")
	require.NoError(t, leader.start())
	record.share(t, 20, "all of etcd")
	record.enough.Store(true)
	clients.Wait()

	record.lock.Lock()
	defer record.lock.Unlock()
	most, at := occupancy.Most(record.outages)
	t.Logf("%d operations in %s: %d granted, %d refused, %d unanswered; at most %d of %d Pods were out at once",
		record.asked.Load(), time.Since(began).Round(time.Second), record.granted.Load(), record.refused.Load(), record.unsettled.Load(), most, disruptors)
	assert.GreaterOrEqual(t, record.asked.Load(), int64(operations))
	assert.Greater(t, record.granted.Load(), int64(unavailable), "it was spent again and again")
	assert.NotZero(t, record.refused.Load())
	assert.LessOrEqual(t, most, unavailable, "at %s", at)
	b.settled(func(s policyv1beta1.PodUnavailableBudgetStatus) bool {
		return len(s.UnavailablePods)+len(s.DisruptedPods) == 0 && s.CurrentAvailable == disruptors && s.UnavailableAllowed == unavailable
	})
}

// asksOnce removes the header Retry-After from refusals. Otherwise the client library would retry ten times, each time after
// seconds, and these answers would be missing in the history.
func asksOnce(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(req)
		if err == nil {
			response.Header.Del("Retry-After")
		}
		return response, err
	})
}

// disrupt disrupts the Pods of one slot, and replaces them.
func disrupt(t *testing.T, b *budgeted, slot int, record *history) {
	random := rand.New(rand.NewSource(int64(slot)))
	name := fmt.Sprintf("p-%d", slot)
	// updates are the outages by updates of the current Pod. They end when its replacement is available.
	var updates []occupancy.Outage
	for generation := 1; !record.enough.Load(); record.asked.Add(1) {
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
		record.waited.Add(answered.Sub(began).Milliseconds())
		switch {
		case err == nil && update:
			record.granted.Add(1)
			updates = append(updates, occupancy.Outage{Place: slot, From: answered, To: began.Add(disruption.UpdateExpiry)})
		case err == nil:
			record.granted.Add(1)
			name = fmt.Sprintf("p-%d-%d", slot, generation)
			generation++
			// The longer the Pod is missing, the more likely one grant too many overlaps with all others.
			pause(t.Context(), time.Duration(random.Intn(1000))*time.Millisecond)
			refill := time.Now()
			back := b.refill(name)
			record.refilling.Add(time.Since(refill).Milliseconds())
			record.add(append(updates, occupancy.Outage{Place: slot, From: answered, To: back}), back)
			updates = nil
		case apierrors.IsForbidden(err), apierrors.IsTooManyRequests(err):
			record.refused.Add(1)
			pause(t.Context(), time.Duration(200+random.Intn(800))*time.Millisecond)
		default:
			record.unsettled.Add(1)
			pause(t.Context(), 200*time.Millisecond)
		}
	}
	record.add(updates, time.Now().Add(disruption.UpdateExpiry))
}

// refill creates the replacement of a Pod, and returns the time just before it became ready.
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

// share waits until the clients have completed another share of the operations, and logs the figures.
func (h *history) share(t *testing.T, percent int64, with string) {
	t.Helper()
	began, before, waited := time.Now(), h.asked.Load(), h.waited.Load()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 25*time.Minute, true, func(context.Context) (bool, error) {
		return h.asked.Load()-before >= operations*percent/100, nil
	})
	require.NoError(t, err)
	asked := h.asked.Load() - before
	t.Logf("%s: %.1f operations a second, answered after %d ms on average; %d granted, %d refused, %d unanswered so far, successors took %d ms",
		with, float64(asked)/time.Since(began).Seconds(), (h.waited.Load()-waited)/max(1, asked), h.granted.Load(), h.refused.Load(),
		h.unsettled.Load(), h.refilling.Load()/max(1, h.granted.Load()))
}
