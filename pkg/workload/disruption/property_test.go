package disruption

import (
	"flag"
	"fmt"
	"math/rand"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

var simulations = flag.Int("simulations", 500, "number of simulated budgets")

// TestGrantsNeverExceedTheBudgetInAnyOrder simulates clients that ask, requests that arrive late or never, nodes that
// act, a cache that lags, and controllers that write counts from old reads. At every moment, enough Pods serve even if every
// granted disruption happens.
func TestGrantsNeverExceedTheBudgetInAnyOrder(t *testing.T) {
	granted := 0
	for seed := range int64(*simulations) {
		w := newSimulation(seed)
		for step := range 400 {
			w.step()
			require.GreaterOrEqual(t, w.available(), 7, "seed %d, step %d: %v", seed, step, w.budget.Status)
		}
		granted += w.granted
	}
	require.Greater(t, granted, *simulations*5, "the budget was spent again and again")
}

// lifeOfARequest is the maximum time from a grant to the disruption.
const lifeOfARequest = 4 * time.Second

type simulation struct {
	random  *rand.Rand
	now     time.Time
	version int
	// server holds the actual Pods. changes are on their way to the cache.
	server, cache map[string]*corev1.Pod
	changes       []*corev1.Pod
	budget        *v1beta1.PodUnavailableBudget
	stored        int
	requests      []inFlight
	counts        []pendingCount
	granted       int
	// looks caches the answers for the current recount. It is replaced when a recount is given up.
	looks *Server
}

// inFlight is a granted request that has neither been carried out nor lost.
type inFlight struct {
	uid       types.UID
	name      string
	operation v1beta1.PubOperation
	until     time.Time
}

// pendingCount is a computed count that is not written yet.
type pendingCount struct {
	over   int
	status v1beta1.PodUnavailableBudgetStatus
}

func newSimulation(seed int64) *simulation {
	w := &simulation{
		random: rand.New(rand.NewSource(seed)), now: now, version: 1,
		server: map[string]*corev1.Pod{}, cache: map[string]*corev1.Pod{}, budget: newBudget(),
	}
	for i := range 10 {
		pod := newPod(strconv.Itoa(i))
		pod.Generation, pod.Status.ObservedGeneration = 1, 1
		w.server[pod.Name], w.cache[pod.Name] = pod, pod
	}
	w.lookAnew()
	return w
}

func (w *simulation) lookAnew() {
	w.looks = NewServer(func(name string) (*metav1.ObjectMeta, error) { return &w.server[name].ObjectMeta, nil })
}

func (w *simulation) step() {
	w.now = w.now.Add(time.Duration(w.random.Intn(700)) * time.Millisecond)
	switch w.random.Intn(8) {
	case 0, 1:
		w.ask()
	case 2:
		w.act()
	case 3:
		w.nodes()
	case 4, 5:
		w.lag()
	case 6:
		w.count()
	case 7:
		w.write()
	}
	w.giveUp()
}

func (w *simulation) any() *corev1.Pod {
	pick := w.random.Intn(len(w.server))
	for i := range 100 {
		if pod, found := w.server[strconv.Itoa(i)]; found {
			if pick == 0 {
				return pod
			}
			pick--
		}
	}
	return nil
}

func (w *simulation) ask() {
	pod := w.any()
	request := &Request{Operation: []v1beta1.PubOperation{"DELETE", "EVICT", "UPDATE"}[w.random.Intn(3)], Pod: pod}
	if !Serving(pod) { // The Pod does not serve, so no disruption is possible.
		return
	}
	next := w.budget.DeepCopy()
	if Spend(next, request, w.now) != nil {
		return
	}
	if next.Status.UnavailableAllowed < w.budget.Status.UnavailableAllowed {
		w.granted++
	}
	w.budget = next
	w.stored++
	w.requests = append(w.requests, inFlight{uid: pod.UID, name: pod.Name, operation: request.Operation, until: w.now.Add(lifeOfARequest)})
}

// change writes to the server. The cache receives the change later.
func (w *simulation) change(name string, edit func(*corev1.Pod)) {
	w.version++
	pod := w.server[name].DeepCopy()
	pod.ResourceVersion = strconv.Itoa(w.version)
	edit(pod)
	w.server[name] = pod
	w.changes = append(w.changes, pod)
}

// act carries out a granted request, or loses it.
func (w *simulation) act() {
	if len(w.requests) == 0 {
		return
	}
	i := w.random.Intn(len(w.requests))
	request := w.requests[i]
	w.requests = append(w.requests[:i], w.requests[i+1:]...)
	pod := w.server[request.name]
	if pod.UID != request.uid || pod.DeletionTimestamp != nil || w.random.Intn(4) == 0 {
		return
	}
	w.change(request.name, func(pod *corev1.Pod) {
		if request.operation == v1beta1.PubUpdateOperation {
			pod.Generation++
		} else {
			goes(pod)
		}
	})
}

// nodes end terminating Pods, replace them under the same name, finish updates, and report what runs.
func (w *simulation) nodes() {
	pod := w.any()
	switch {
	case pod.DeletionTimestamp != nil:
		w.change(pod.Name, func(pod *corev1.Pod) {
			*pod = *newPod(pod.Name, notReady, func(p *corev1.Pod) {
				p.UID, p.ResourceVersion = types.UID(fmt.Sprintf("%s-%d", pod.Name, w.version)), pod.ResourceVersion
				p.Generation, p.Status.ObservedGeneration = 1, 1
				p.CreationTimestamp = metav1.NewTime(w.now.Truncate(time.Second))
			})
		})
	case pod.Status.ObservedGeneration < pod.Generation:
		w.change(pod.Name, func(pod *corev1.Pod) { pod.Status.ObservedGeneration = pod.Generation; notReady(pod) })
	case pod.Status.Conditions[0].Status == corev1.ConditionFalse:
		w.change(pod.Name, func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionTrue })
	}
}

func (w *simulation) lag() {
	for n := w.random.Intn(3); n > 0 && len(w.changes) > 0; n-- {
		w.cache[w.changes[0].Name] = w.changes[0]
		w.changes = w.changes[1:]
	}
}

// count computes a count from the stored budget, to be written later. It may repeat a count whose write failed.
func (w *simulation) count() {
	if w.random.Intn(4) == 0 {
		w.lookAnew()
	}
	seen := &Observation{
		Replicas: 10, Now: w.now,
		Cached: func(name string) *corev1.Pod { return w.cache[name] },
		Server: w.looks,
	}
	for _, pod := range w.cache {
		seen.Pods = append(seen.Pods, pod)
	}
	count, err := Recount(w.budget, seen)
	if err != nil {
		panic(err)
	}
	w.counts = append(w.counts, pendingCount{over: w.stored, status: count.Status})
}

// write writes a count if the budget is unchanged since the count was computed.
func (w *simulation) write() {
	if len(w.counts) == 0 {
		return
	}
	i := w.random.Intn(len(w.counts))
	count := w.counts[i]
	w.counts = append(w.counts[:i], w.counts[i+1:]...)
	if count.over == w.stored {
		w.budget.Status = *count.status.DeepCopy()
		w.stored++
	}
}

func (w *simulation) giveUp() {
	alive := w.requests[:0]
	for _, request := range w.requests {
		if w.now.Before(request.until) {
			alive = append(alive, request)
		}
	}
	w.requests = alive
}

// available counts the Pods that serve and that no granted request may still disrupt.
func (w *simulation) available() (n int) {
	leave := map[types.UID]bool{}
	for _, request := range w.requests {
		leave[request.uid] = true
	}
	for _, pod := range w.server {
		if Available(pod) && !leave[pod.UID] {
			n++
		}
	}
	return n
}
