package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

// Sink writes events to the API until ctx ends. After that, each write fails at once.
func Sink(ctx context.Context, client Interface) record.EventSink {
	return &sink{ctx: ctx, client: client}
}

type sink struct {
	ctx    context.Context // The methods of record.EventSink take no context.
	client Interface
}

// Create implements record.EventSink.
func (s *sink) Create(event *corev1.Event) (*corev1.Event, error) {
	return s.client.Events(event.Namespace).Create(s.ctx, event, metav1.CreateOptions{})
}

// Update implements record.EventSink.
func (s *sink) Update(event *corev1.Event) (*corev1.Event, error) {
	return s.client.Events(event.Namespace).Update(s.ctx, event, metav1.UpdateOptions{})
}

// Patch implements record.EventSink.
func (s *sink) Patch(event *corev1.Event, data []byte) (*corev1.Event, error) {
	return s.client.Events(event.Namespace).Patch(s.ctx, event.Name, types.StrategicMergePatchType, data, metav1.PatchOptions{})
}
