package engine

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
)

// Resources that the engine writes. Guard gets their GroupResource.
var (
	PodResource      = corev1.SchemeGroupVersion.WithResource("pods")
	ClaimResource    = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	RevisionResource = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
)

// Guard records writes, so that no pass begins before the caches show them.
type Guard interface {
	Wrote(owner types.UID, resource schema.GroupResource, version string)
	Deleted(owner types.UID, resource schema.GroupResource, object metav1.Object)
}

// Budget limits how many Pods are out of service at once.
type Budget interface {
	// Reserve reserves the Pod's share of its budget before the workload takes the Pod out of service. If the Pod has to wait, it
	// returns an error for which disruption.Refused is true.
	Reserve(ctx context.Context, workload metav1.Object, kind schema.GroupKind, pod *corev1.Pod) error
}

// Engine executes passes over workloads of one kind. Its fields must be set before the first pass.
type Engine struct {
	// Server gets all writes, Caches give all reads of Observe, and Guard delays the next pass until the caches show the
	// writes.
	Server Server
	Caches Caches
	Guard  Guard
	// Budget may be nil. Then only the workload itself limits its updates.
	Budget   Budget
	Recorder record.EventRecorder
	Clock    clock.PassiveClock
	// Width is the maximum number of concurrent requests of a pass. Zero means passes.Width.
	Width int
	// Random returns the random part of a name. The default is rand.String of Kubernetes.
	Random func(length int) string

	// memories is the only field that changes later. It has a lock of its own.
	memories memories
}

// Forget drops the state that is kept in memory for a deleted workload.
func (e *Engine) Forget(owner types.UID) { e.memories.forget(owner) }

func (e *Engine) random() func(int) string {
	if e.Random == nil {
		return rand.String
	}
	return e.Random
}
