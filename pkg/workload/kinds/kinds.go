package kinds

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is a workload of a kind of the table, in the version of the row's Resource.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is what the program knows of a workload kind. Its accessors take objects of the kind alone, and return nothing for others.
type Kind struct {
	schema.GroupKind
	// Resource is what it is read by.
	Resource schema.GroupVersionResource
	// New returns an empty object.
	New func() Object

	// Replicas is how many Pods the object is to have; nil where that is as many as there are. Kinds of ours take the internal
	// type too.
	Replicas func(object runtime.Object) *int32
	// Template is the template of the object's Pods. It belongs to the object. Nil where a kind has none of its own.
	Template func(object runtime.Object) *corev1.PodTemplateSpec
	// Claims are the templates of the claims that each Pod gets for itself. Nil where a kind has none.
	Claims func(object runtime.Object) []corev1.PersistentVolumeClaim
	// UpdateOrder returns the object's Pods in the order in which it updates them, as far as that is known without an object
	// where it is nil. The Pods are sorted, by name or what they were chosen by. Nil where there is no order.
	UpdateOrder func(object runtime.Object, pods []*corev1.Pod) ([]*corev1.Pod, error)

	// OwnsPods says that its objects are the controllers of their Pods.
	OwnsPods bool
	// Through is the kind of the objects that own the Pods for it, or nil.
	Through *schema.GroupKind
	// StableNames says that a new Pod takes the name, and the place, of the one before.
	StableNames bool
	// Spread says that a WorkloadSpread may name it.
	Spread bool
	// AbsencePermits says that a request is allowed because an object of the kind is not there: its Pods are bound to go. Who
	// answers "not found" for such a kind must be sure of it.
	AbsencePermits bool
	// Protected says that the deletion of an object with the protection label is refused while it has replicas, by the API
	// server that stores it.
	Protected bool
	// SetsReadiness says that its controller gives its Pods the readiness condition, together with what else it writes.
	SetsReadiness bool
	// Watched says that controllers have a cache of it.
	Watched bool
	// LateWrites is the metric of writes that a cache did not show in time, where dashboards have a name for it.
	LateWrites string
}

// All returns the table. It must not be changed.
func All() []*Kind { return table }

// Of returns the row of a kind, or nil.
func Of(kind schema.GroupKind) *Kind { return byKind[kind] }

// OfResource returns the row of a resource, or nil.
func OfResource(resource schema.GroupResource) *Kind {
	for _, kind := range table {
		if kind.Resource.GroupResource() == resource {
			return kind
		}
	}
	return nil
}

// OfObject returns the row of a typed object, or nil.
func OfObject(object any) *Kind { return byType[reflect.TypeOf(object)] }

// OfController returns the row of the kind that controls an object, or nil.
func OfController(object metav1.Object) *Kind {
	if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
		return Of(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind())
	}
	return nil
}

// HasPods says that the Pods of the kind's objects are found by their owners.
func (k *Kind) HasPods() bool { return k.OwnsPods || k.Through != nil }

// Names are the kinds for which the condition holds, in the order of the table.
func Names(holds func(*Kind) bool) (names []schema.GroupKind) {
	for _, kind := range table {
		if holds(kind) {
			names = append(names, kind.GroupKind)
		}
	}
	return names
}
