package podprober

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// perPod is how many probes of one Pod run at once. shared is how many probes run at once beside the first one of each Pod.
	// The first one needs no place that others could take, so a Pod whose probes hang delays no other Pod.
	perPod = 4
	shared = 32
)

// podKey identifies a Pod. The UID distinguishes Pods with the same name.
type podKey struct {
	namespace, name string
	uid             types.UID
}

type probeKey struct {
	pod podKey
	// name is "<PodProbeMarker>#<probe>".
	name string
}

// probe is one probe of one container. The mutex of the schedule protects it.
type probe struct {
	key       probeKey
	pod       *pod
	container string
	spec      corev1.Probe
	// version grows when the handler changes. The outcome of a run with an older version is dropped.
	version int
	// result is what the runs showed. due is when the probe runs next.
	result result

	due time.Time
	// index is the place in the heap, or -1.
	index   int
	running bool
	// again is true if due was set while the probe ran.
	again bool
	// apart is true once the probe has a phase of its own.
	apart bool
	// cancel ends the current run.
	cancel context.CancelFunc
	// absent is the time between the last two looks for a container that does not exist. Only a run uses it, without the mutex.
	absent time.Duration
}

// rerun is when a probe runs again, if at is not zero. It is earlier than the end of the period, except if late is set.
type rerun struct {
	at   time.Time
	late bool
}

// pod is a Pod with probes.
type pod struct {
	key podKey
	ip  string
	// probes is how many probes it has, and running how many run.
	probes, running int
	// waiting are due probes without a place.
	waiting []*probe
	// starved is true while the Pod is in the list of Pods that wait for a shared place.
	starved   bool
	instances instances
}

// period returns the time between two runs.
func (p *probe) period() time.Duration { return seconds(p.spec.PeriodSeconds) }

// seconds returns a number of a probe as duration. Each number is at least 1.
func seconds(n int32) time.Duration { return time.Duration(max(1, n)) * time.Second }

// schedule runs probes when they are due. It has one timer for all of them, and a goroutine only for each that runs.
// The caller holds mu for all methods except Run and finish.
type schedule struct {
	clock clock.WithTicker
	// run runs a probe once, without the mutex.
	run  func(ctx context.Context, p *probe) rerun
	wake chan struct{}
	// phase returns by how much the second run of a probe comes before the end of the first period. A new PodProbeMarker starts
	// the probes of all its Pods together. Without it, they would stay together, and delay each other in every period.
	phase func(period time.Duration) time.Duration

	// mu is the mutex of the controller, which protects all fields below and the probes.
	mu     *sync.Mutex
	probes map[probeKey]*probe
	pods   map[podKey]*pod
	due    dueHeap
	// shared is how many shared places are taken. starved are Pods that wait for one.
	shared  int
	starved []*pod

	workers sync.WaitGroup
}

// newSchedule returns a schedule without probes. It starts nothing; call Run.
func newSchedule(clock clock.WithTicker, mu *sync.Mutex, run func(context.Context, *probe) rerun) *schedule {
	return &schedule{
		clock: clock, mu: mu, run: run, wake: make(chan struct{}, 1), probes: map[probeKey]*probe{}, pods: map[podKey]*pod{},
		phase: rand.N[time.Duration], // Spreading load needs no secret.
	}
}

// Run starts due probes until ctx ends, and waits for those that run. Without probes, the timer sleeps for an hour at
// a time; wake interrupts it.
func (s *schedule) Run(ctx context.Context) {
	defer s.workers.Wait()
	timer := s.clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(s.startDue(ctx))
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C():
		}
	}
}

// startDue starts the probes that are due, and returns the time until the next one is. It takes the mutex.
func (s *schedule) startDue(ctx context.Context) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	// A due probe always goes through the list of its Pod, so probes of one Pod start in the order in which they are
	// due.
	for len(s.due) > 0 && !s.due[0].due.After(now) {
		p, _ := heap.Pop(&s.due).(*probe)
		p.pod.waiting = append(p.pod.waiting, p)
		s.start(ctx, p.pod)
	}
	if len(s.due) == 0 {
		return time.Hour
	}
	return s.due[0].due.Sub(now)
}

// start starts probes of a Pod that wait, as far as there are places. The first running probe of a Pod needs no
// shared place. If there is none, the Pod joins the list of starved Pods, which finish serves in order.
func (s *schedule) start(ctx context.Context, pod *pod) {
	for len(pod.waiting) > 0 && pod.running < perPod && ctx.Err() == nil {
		// No shared place is free. The Pod waits in the list until finish calls it.
		if pod.running > 0 && s.shared == shared {
			if !pod.starved {
				pod.starved = true
				s.starved = append(s.starved, pod)
			}
			return
		}
		if pod.running > 0 {
			s.shared++
		}
		pod.running++
		p := pod.waiting[0]
		pod.waiting = pod.waiting[1:]
		p.running = true
		// A probe is late if it waited for a place or if the agent is overloaded.
		countLate(s.clock.Since(p.due), p.period())
		once, cancel := context.WithCancel(ctx)
		p.cancel = cancel
		s.workers.Go(func() {
			defer cancel()
			s.finish(ctx, p, s.run(once, p))
		})
	}
}

// finish frees the place of a probe, plans its next run, and starts those that waited for a place. It takes the
// mutex. A probe that was removed during its run is not planned again.
func (s *schedule) finish(ctx context.Context, p *probe, again rerun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pod := p.pod
	if pod.running > 1 {
		s.shared--
	}
	pod.running--
	p.running = false
	if s.probes[p.key] == p {
		// The spec may have asked for another time during the run (p.again). The result of the run may ask for another one, too.
		next := p.due
		if !p.again {
			next = s.next(p)
		}
		switch {
		case again.at.IsZero():
		case again.late && !p.again:
			next = again.at
		default:
			next = earlier(next, again.at)
		}
		p.again = false
		s.at(p, next)
	}
	s.start(ctx, pod)
	// The Pods wait in a line, so none of them is passed over.
	for len(s.starved) > 0 && s.shared < shared {
		next := s.starved[0]
		s.starved = s.starved[1:]
		next.starved = false
		s.start(ctx, next)
	}
}

// next returns when a probe is due again: a whole number of periods after it was due, so that a slow run does not shift the
// following ones. A run that takes longer than the period skips those in between. Only the first period is shorter, see phase.
func (s *schedule) next(p *probe) time.Time {
	if !p.apart {
		p.apart = true
		p.due = p.due.Add(-s.phase(p.period()))
	}
	now, period := s.clock.Now(), p.period()
	return p.due.Add((now.Sub(p.due)/period + 1) * period)
}

// add adds a probe that is first due at the given time.
func (s *schedule) add(p *probe, ip string, due time.Time) {
	if s.pods[p.key.pod] == nil {
		s.pods[p.key.pod] = &pod{key: p.key.pod}
	}
	p.pod = s.pods[p.key.pod]
	p.pod.ip = ip
	p.pod.probes++
	p.index = -1
	s.probes[p.key] = p
	s.at(p, due)
}

// at sets when a probe is due. A probe that runs or waits for a place is planned when it has run. It wakes Run,
// because the probe may now be the first one.
func (s *schedule) at(p *probe, due time.Time) {
	p.due = due
	switch {
	case p.index >= 0:
		heap.Fix(&s.due, p.index)
	case p.running:
		p.again = true
	case !p.waits():
		heap.Push(&s.due, p)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// waits returns true if the probe waits for a place.
func (p *probe) waits() bool {
	return slices.Contains(p.pod.waiting, p)
}

// keep removes all probes that are not wanted, and cancels those that run. Their results are dropped, because record
// does not find them any more.
func (s *schedule) keep(wanted map[probeKey]bool) {
	for key, p := range s.probes {
		if wanted[key] {
			continue
		}
		delete(s.probes, key)
		if p.index >= 0 {
			heap.Remove(&s.due, p.index)
		}
		p.pod.drop(p)
		if p.running {
			p.cancel()
		}
		if p.pod.probes--; p.pod.probes == 0 {
			delete(s.pods, key.pod)
		}
	}
}

// drop removes a probe from those that wait.
func (p *pod) drop(gone *probe) {
	p.waiting = slices.DeleteFunc(p.waiting, func(other *probe) bool { return other == gone })
}

// dueHeap orders probes by the time when they are due. It implements heap.Interface, and keeps the index in each
// probe, so that a probe can be moved or removed without a search.
type dueHeap []*probe

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *dueHeap) Push(x any) {
	p, _ := x.(*probe) // The heap contains nothing else.
	p.index = len(*h)
	*h = append(*h, p)
}

func (h *dueHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h, last.index = (*h)[:len(*h)-1], -1
	return last
}
