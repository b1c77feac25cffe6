package engine

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
)

const (
	// defaultWidth is how many requests a pass has under way at once.
	defaultWidth = 16
	// defaultPassTime is how long a pass starts new writes. It bounds how late a pause or a rollback is seen, and how long one
	// workload keeps a worker from the others.
	defaultPassTime = time.Second
)

// Resources that the engine writes, as the Guard knows them.
var (
	PodResource      = corev1.SchemeGroupVersion.WithResource("pods")
	ClaimResource    = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	RevisionResource = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
)

// Guard learns of writes, so that no pass begins before the caches show them.
type Guard interface {
	Wrote(owner types.UID, resource schema.GroupResource, version string)
	Deleted(owner types.UID, resource schema.GroupResource, object metav1.Object)
}

// Budget bounds how many Pods are out of service at once.
type Budget interface {
	// Reserve takes the Pod's part of its budget before the workload takes the Pod out of service. It returns an error for which
	// disruption.Refused is true when the Pod has to wait.
	Reserve(ctx context.Context, workload metav1.Object, kind schema.GroupKind, pod *corev1.Pod) error
}

// Engine carries out passes over workloads of one kind. Its fields are set before its first pass.
type Engine struct {
	Server Server
	Caches Caches
	Guard  Guard
	// Budget may be nil: then nothing bounds updates but the workload itself.
	Budget   Budget
	Recorder record.EventRecorder
	Clock    clock.PassiveClock
	// Width is how many requests are under way at once, and PassTime how long a pass starts new ones. Zero is the default.
	Width    int
	PassTime time.Duration
	// Random makes the random part of a name; the default is that of Kubernetes.
	Random func(length int) string

	memories memories
}

// Forget drops what is remembered of a workload that is gone.
func (e *Engine) Forget(owner types.UID) { e.memories.forget(owner) }

func (e *Engine) random() func(int) string {
	if e.Random == nil {
		return rand.String
	}
	return e.Random
}

func (e *Engine) width() int {
	if e.Width == 0 {
		return defaultWidth
	}
	return e.Width
}

func (e *Engine) passTime() time.Duration {
	if e.PassTime == 0 {
		return defaultPassTime
	}
	return e.PassTime
}
