package rolloutprogress

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics"

	"kruise.io/kruise/pkg/workload/kinds"
)

// mostShown limits how many rollouts have series of their own, so that a scrape stays small. The others are only counted.
const mostShown = 500

// States of a rollout that is under way.
const (
	progressing      = "progressing"
	paused           = "paused"
	deadlineExceeded = "deadline_exceeded"
)

// key is the values of the labels kind, namespace and name, in this order.
type key [3]string

// Metrics are the metrics of rollouts. The methods of a nil pointer do nothing. Several controllers call them concurrently.
type Metrics struct {
	target, updated, available, paused, rollouts *metrics.GaugeVec

	// lock guards states and shown, and that the series match them.
	lock sync.Mutex
	// states holds the rollouts that are under way, and shown those with series of their own.
	states map[key]string
	shown  map[key]bool
}

// NewMetrics returns metrics that are not registered yet.
func NewMetrics() *Metrics {
	// All metrics have the same stability level.
	gauge := func(name, help string, labels ...string) *metrics.GaugeVec {
		return metrics.NewGaugeVec(&metrics.GaugeOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
	}
	only := fmt.Sprintf(" Exported only for rollouts in progress, and for at most %d.", mostShown)
	return &Metrics{
		target: gauge("kruise_rollout_target_pods",
			"Number of Pods to update to the newest revision. Pods that a partition keeps are not counted."+only, "kind", "namespace", "name"),
		updated: gauge("kruise_rollout_updated_pods", "Number of Pods at the newest revision."+only, "kind", "namespace", "name"),
		available: gauge("kruise_rollout_available_pods",
			"Number of available Pods at the newest revision."+only, "kind", "namespace", "name"),
		paused: gauge("kruise_rollout_paused",
			"1 if the workload says that its rollout does not proceed (paused or OnDelete), 0 otherwise."+only, "kind", "namespace", "name"),
		rollouts: gauge("kruise_rollouts",
			"Number of rollouts in progress, by state: progressing, paused or deadline_exceeded.", "kind", "state"),
		states: map[key]string{}, shown: map[key]bool{},
	}
}

// Register registers the metrics. It returns the first error of register.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	for _, metric := range []metrics.Registerable{m.target, m.updated, m.available, m.paused, m.rollouts} {
		if err := register(metric); err != nil {
			return err
		}
	}
	return nil
}

// Observe records how far the rollout of an object is. It ignores objects of kinds without rollouts. A rollout that is done, or
// whose object is being deleted, loses its series.
func (m *Metrics) Observe(object runtime.Object) {
	if m == nil {
		return
	}
	// A rollout is looked up by the Go type, so this costs little for other kinds.
	kind, workload := kinds.OfObject(object), object.(metav1.Object) //nolint:forcetypeassert // objects of the API have metadata
	if kind == nil || kind.Progress == nil {
		return
	}
	of := key{kind.Kind, workload.GetNamespace(), workload.GetName()}
	progress := kind.Progress(object)
	m.lock.Lock()
	defer m.lock.Unlock()
	if progress == nil || progress.Done() || workload.GetDeletionTimestamp() != nil {
		m.forget(of)
		return
	}
	// The counts have all rollouts, also those without series of their own.
	m.count(of, stateOf(progress))
	// A rollout that ends frees its place for one that changes later.
	if !m.shown[of] && len(m.shown) >= mostShown {
		return
	}
	m.shown[of] = true
	m.target.WithLabelValues(of[:]...).Set(float64(progress.Target))
	m.updated.WithLabelValues(of[:]...).Set(float64(progress.Updated))
	m.available.WithLabelValues(of[:]...).Set(float64(progress.Available))
	stands := 0.0
	if progress.Paused {
		stands = 1
	}
	m.paused.WithLabelValues(of[:]...).Set(stands)
}

// Forget drops a deleted object.
func (m *Metrics) Forget(object metav1.Object) {
	if m == nil {
		return
	}
	if kind := kinds.OfObject(object); kind != nil && kind.Progress != nil {
		m.lock.Lock()
		defer m.lock.Unlock()
		m.forget(key{kind.Kind, object.GetNamespace(), object.GetName()})
	}
}

// stateOf returns the state of a rollout that is under way. A paused rollout counts as paused, even after its deadline.
func stateOf(progress *kinds.Progress) string {
	switch {
	case progress.Paused:
		return paused
	case progress.Exceeded:
		return deadlineExceeded
	default:
		return progressing
	}
}

// count moves a rollout to a state. An empty state means that no rollout is under way. The caller holds the lock.
func (m *Metrics) count(of key, state string) {
	before := m.states[of]
	if before == state {
		return
	}
	// The gauge is changed by one, so it is right without a scan of all rollouts.
	if before != "" {
		m.rollouts.WithLabelValues(of[0], before).Dec()
	}
	if state == "" {
		delete(m.states, of)
		return
	}
	m.states[of] = state
	m.rollouts.WithLabelValues(of[0], state).Inc()
}

// forget removes a rollout from the counts and deletes its series. The caller holds the lock.
func (m *Metrics) forget(of key) {
	m.count(of, "")
	if !m.shown[of] {
		return
	}
	delete(m.shown, of)
	for _, series := range []*metrics.GaugeVec{m.target, m.updated, m.available, m.paused} {
		series.DeleteLabelValues(of[:]...)
	}
}
