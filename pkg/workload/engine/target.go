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

// Target is a workload in the form that the engine needs. Each kind makes it from its object for each pass. Functions in it
// must be pure, except Fresh.
type Target struct {
	// Object is the workload as the cache has it, Kind its kind in owner references, and Selector selects its Pods.
	Object   Object
	Kind     schema.GroupVersionKind
	Selector labels.Selector
	// Replicas is the wanted number of Pods.
	Replicas        int
	MinReadySeconds int32
	Lifecycle       *pub.Lifecycle
	// Policy says whether Pods are updated in place. GraceSeconds is how long a Pod is out of service before an in-place update.
	// InPlace says what may change in place.
	Policy       pub.PodUpdatePolicyType
	GraceSeconds int32
	InPlace      inplace.Options
	// Stopped is true while the user has stopped updates, by a pause or by OnDelete. Updates in place that have begun go on.
	Stopped bool
	// Compatible reports whether Pods may be updated in place between two revisions, by a rule of the kind. It may be nil.
	Compatible func(from, to *appsv1.ControllerRevision) bool
	// Stamp writes a revision's name into a Pod's labels. HashLabel is the label that Stamp writes in addition to the revision label.
	// A Pod without it gets it. It may be empty.
	Stamp     func(pod *corev1.Pod, revision string)
	HashLabel string
	// Picked reports whether the user asked for the Pod's deletion by other means than its label. It may be nil.
	Picked func(pod *corev1.Pod) bool
	// Adopts reports whether the workload adopts a Pod that matches its selector and has no controller. If it is nil, the workload
	// adopts nothing. Strange says why the others are not adopted, for an event that names them. Fresh reads the workload from the API
	// server, because a workload that is being deleted or was replaced must not adopt anything, and must not delete claims. It may be
	// nil for a workload that does neither.
	Adopts   func(pod *corev1.Pod) bool
	Strange  string
	Fresh    func(ctx context.Context) (metav1.Object, error)
	Identity Identity
	// ReplaceAtOnce deletes a Pod that cannot be updated in place, and keeps its claims. Otherwise the Pod is marked for deletion,
	// and a later pass replaces it.
	ReplaceAtOnce bool
	// StateOptional gives no lifecycle state to Pods that have none when they are updated in place.
	StateOptional bool
	// Describe returns the reason and the message of the event about a write, or no reason if none is to be sent. If it is nil, the
	// engine's own words are used.
	Describe func(*Result) (reason, message string)
	// TellDeletionTwice sends a second event about a failed deletion, in the engine's own words.
	TellDeletionTwice bool
	// Revisions says how the workload stores its revisions.
	Revisions Revisions
	// CreateFailed and UpdateFailed report that the last pass could not create or update all Pods. The engine then sends a dry run
	// before any write that a later rejection would leave half done.
	CreateFailed, UpdateFailed bool
}

// Revisions describes a workload's history. If the engine has no cache of revisions, it builds the revision of the content in
// memory, and stores none.
type Revisions struct {
	Format history.Format
	// Content is the content of the revision that the workload wants now.
	Content history.Content
	// Current is the name of the last revision that was rolled out completely, from the status.
	Current        string
	CollisionCount *int32
	// Limit is the number of unused revisions to keep. With LimitUsed, old revisions that Pods use count too, but they are kept.
	Limit     int
	LimitUsed bool
	// Exact requires that the label of a Pod is the complete name of its revision.
	Exact bool
	// Recorded returns the name that the record of an update in place has for a revision. If it is nil, that is the complete name.
	Recorded func(revision string) string
	// KeepCurrent keeps the current revision of the status. Otherwise the update revision becomes the current one when all Pods are
	// at it.
	KeepCurrent bool
	// Adopts is true if the workload adopts revisions that match its selector and have no controller.
	Adopts bool
	// Annotate adds annotations to a revision that is created or becomes the newest again. It may be nil.
	Annotate func(*appsv1.ControllerRevision)
}

// OwnerRef returns the reference to the workload that its Pods, claims and revisions carry.
func (t *Target) OwnerRef() metav1.OwnerReference { return *metav1.NewControllerRef(t.Object, t.Kind) }

// InPlaceHook returns the hook that holds Pods before and after their update, or nil. A lifecycle may have only a hook for
// deletions.
func (t *Target) InPlaceHook() *pub.LifecycleHook {
	if t.Lifecycle == nil {
		return nil
	}
	return t.Lifecycle.InPlaceUpdate
}
