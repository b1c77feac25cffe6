//go:build integration

package integration

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"kruise.io/kruise/pkg/workload/nodefit"
)

// sequence is what a watcher sees of the Pods and claims of a namespace: each Pod's creation, readiness, start and end of its
// deletion, and who owns it.
type sequence struct {
	// place is the name under which the changes of a Pod are recorded.
	place func(*corev1.Pod) string

	lock     sync.Mutex
	steps    []step
	claims   []string
	pods     map[types.UID]string
	number   map[types.UID]int
	owned    map[types.UID]bool
	revision map[string]int
	live     map[types.UID]bool
	// least is the smallest number of ready Pods since the last reset.
	least int
	last  time.Time
}

// step is one change of a Pod. pod is the number of the Pod, in the order in which Pods came up.
type step struct {
	place, what string
	pod         int
}

func (s step) String() string { return s.place + " " + s.what }

func podName(pod *corev1.Pod) string { return pod.Name }

// follow records the sequence of a namespace until the test ends.
func follow(t *testing.T, namespace string, place func(*corev1.Pod) string) *sequence {
	t.Helper()
	s := &sequence{
		place: place, pods: map[types.UID]string{}, number: map[types.UID]int{}, owned: map[types.UID]bool{},
		revision: map[string]int{}, live: map[types.UID]bool{},
	}
	pods, err := env.kube.CoreV1().Pods(namespace).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	claims, err := env.kube.CoreV1().PersistentVolumeClaims(namespace).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, w := range []watch.Interface{pods, claims} {
		t.Cleanup(w.Stop)
		go func() {
			for event := range w.ResultChan() {
				s.see(event.Type, event.Object)
			}
		}()
	}
	return s
}

func (s *sequence) see(what watch.EventType, object runtime.Object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.last = time.Now()
	switch o := object.(type) {
	case *corev1.PersistentVolumeClaim:
		if what != watch.Modified {
			s.claims = append(s.claims, o.Name+" "+string(what))
		}
	case *corev1.Pod:
		s.seePod(what, o)
	}
}

func (s *sequence) seePod(what watch.EventType, pod *corev1.Pod) {
	before, known := s.pods[pod.UID]
	if !known {
		s.number[pod.UID] = len(s.number) + 1
	}
	s.seeOwner(what, pod, known)
	state := s.state(what, pod)
	if known && state == "created" {
		state = "not ready"
	}
	s.live[pod.UID] = state == "ready"
	if what == watch.Deleted {
		delete(s.live, pod.UID)
	}
	s.least = min(s.least, s.ready())
	if state == before || state == "not ready" && before != "ready" {
		return
	}
	s.pods[pod.UID] = state
	if state == "created" {
		state += fmt.Sprintf(" r%d", s.position(pod.Labels["controller-revision-hash"]))
	}
	s.record(pod, state)
}

// seeOwner records that a Pod got or lost its controller.
func (s *sequence) seeOwner(what watch.EventType, pod *corev1.Pod, known bool) {
	owned := metav1.GetControllerOf(pod) != nil
	if known && owned != s.owned[pod.UID] && what != watch.Deleted && pod.DeletionTimestamp == nil {
		s.record(pod, map[bool]string{true: "adopted", false: "released"}[owned])
	}
	s.owned[pod.UID] = owned
}

func (s *sequence) record(pod *corev1.Pod, what string) {
	s.steps = append(s.steps, step{s.place(pod), what, s.number[pod.UID]})
}

func (s *sequence) state(what watch.EventType, pod *corev1.Pod) string {
	switch {
	case what == watch.Deleted:
		return "gone"
	case pod.DeletionTimestamp != nil:
		return "terminating"
	case ready(pod):
		return "ready"
	default:
		return "created"
	}
}

// position returns the number of a revision, in the order in which the revisions came up.
func (s *sequence) position(hash string) int {
	if s.revision[hash] == 0 {
		s.revision[hash] = len(s.revision) + 1
	}
	return s.revision[hash]
}

func (s *sequence) ready() (count int) {
	for _, is := range s.live {
		if is {
			count++
		}
	}
	return count
}

// take returns what was recorded since the last call, and the smallest number of ready Pods meanwhile.
func (s *sequence) take() (steps []step, claims []string, least int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	steps, claims, least = s.steps, s.claims, s.least
	s.steps, s.claims, s.least = nil, nil, s.ready()
	slices.Sort(claims)
	return steps, claims, least
}

// count returns how many changes were recorded since the last call of take.
func (s *sequence) count() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.steps) + len(s.claims)
}

// quiet returns how long nothing has changed.
func (s *sequence) quiet() time.Duration {
	s.lock.Lock()
	defer s.lock.Unlock()
	return time.Since(s.last)
}

// touch starts the time without a change.
func (s *sequence) touch() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.last = time.Now()
}

// byPlace returns the changes of each place, in their order.
func byPlace(steps []step) map[string][]string {
	places := map[string][]string{}
	for _, s := range steps {
		places[s.place] = append(places[s.place], s.what)
	}
	return places
}

// byPod returns the changes of each Pod, in their order.
func byPod(steps []step) [][]string {
	pods := map[int][]string{}
	for _, s := range steps {
		pods[s.pod] = append(pods[s.pod], s.what)
	}
	return slices.Collect(maps.Values(pods))
}

// inOrder returns all changes.
func inOrder(steps []step) (all []string) {
	for _, s := range steps {
		all = append(all, s.String())
	}
	return all
}

func nodeOf(pod *corev1.Pod) string { return nodefit.NodeOf(pod) }
