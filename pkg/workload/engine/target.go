package engine

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
)

// Object is a workload of any kind.
type Object interface {
	runtime.Object
	metav1.Object
}

// Target is a workload as the engine needs it. The kind makes it from its object.
type Target struct {
	Object   Object
	Kind     schema.GroupVersionKind
	Selector labels.Selector
	// Replicas is how many Pods are wanted.
	Replicas        int
	MinReadySeconds int32
	Lifecycle       *pub.Lifecycle
	// Policy says whether Pods are updated in place, GraceSeconds how long they are out of service before, and InPlace what may
	// change in them.
	Policy       pub.PodUpdatePolicyType
	GraceSeconds int32
	InPlace      inplace.Options
	// Compatible tells whether Pods may be updated in place between two revisions, as far as the kind has a rule of its own.
	Compatible func(from, to *appsv1.ControllerRevision) bool
	// Stamp writes a revision's name into a Pod's labels.
	Stamp func(pod *corev1.Pod, revision string)
	// Picked tells whether the user asks for the Pod's deletion in another way than by its label. It may be nil.
	Picked func(pod *corev1.Pod) bool
	// Adopts tells whether the workload adopts a Pod that its selector matches and that has no controller. Without it there is no
	// adoption. Fresh reads the workload from its server: one that is being deleted, or was replaced, adopts nothing.
	Adopts func(pod *corev1.Pod) bool
	Fresh  func(ctx context.Context) (metav1.Object, error)
	// InstanceLabel is the label that holds the ID of an instance on its Pod and its claims.
	InstanceLabel string
	// ReuseClaims keeps the claims of Pods that were lost for the Pods that replace them.
	ReuseClaims bool
	// Revisions says how the workload stores its revisions.
	Revisions Revisions
	// CreateFailed and UpdateFailed tell that the last pass could not create, or update, all Pods. The engine then asks the server
	// by a dry run before it does anything that a refusal would leave half done.
	CreateFailed, UpdateFailed bool
}

// Revisions is a workload's history.
type Revisions struct {
	Format history.Format
	// Content is that of the revision that the workload wants now.
	Content history.Content
	// Current is the name of the revision that was last rolled out, as the status says.
	Current        string
	CollisionCount *int32
	// Limit is how many revisions are kept that no Pod uses.
	Limit int
	// Annotate adds to a revision that is created, or made the newest one again. It may be nil.
	Annotate func(*appsv1.ControllerRevision)
}

// OwnerRef returns the reference to the workload that its Pods, claims and revisions carry.
func (t *Target) OwnerRef() metav1.OwnerReference { return *metav1.NewControllerRef(t.Object, t.Kind) }

// inPlaceHook returns the hook that holds Pods before and after their update, or nil.
func (t *Target) inPlaceHook() *pub.LifecycleHook {
	if t.Lifecycle == nil {
		return nil
	}
	return t.Lifecycle.InPlaceUpdate
}
