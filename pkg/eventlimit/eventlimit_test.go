package eventlimit

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
)

// sink counts the events of each reason.
type sink struct {
	lock sync.Mutex
	sent map[string]int
}

func (s *sink) Create(event *corev1.Event) (*corev1.Event, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.sent[event.Reason]++
	return event, nil
}

func (s *sink) Update(event *corev1.Event) (*corev1.Event, error) { return s.Create(event) }

func (s *sink) Patch(event *corev1.Event, _ []byte) (*corev1.Event, error) { return s.Create(event) }

// The events about many Pods must not hide why the next step of their workload fails.
func TestOneReasonLeavesRoomForOthers(t *testing.T) {
	events := &sink{sent: map[string]int{}}
	broadcaster := record.NewBroadcaster(record.WithContext(t.Context()), PerReason(0))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(events)
	recorder := broadcaster.NewRecorder(clientscheme.Scheme, corev1.EventSource{Component: "c"})
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "1"}}
	for i := range 100 {
		recorder.Event(object, corev1.EventTypeNormal, "Created", fmt.Sprint("Pod ", i))
		<-time.After(time.Millisecond) // The recorder drops events that come faster than it sends.
	}
	recorder.Event(object, corev1.EventTypeNormal, "Updated", "Pod 1")
	require.Eventually(t, func() bool {
		events.lock.Lock()
		defer events.lock.Unlock()
		return events.sent["Updated"] == 1
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, 25, events.sent["Created"], "a reason is still limited")
}
