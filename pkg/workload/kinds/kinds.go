package kinds

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is a workload of a kind in the table, in the version of the kind's Resource.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is what the program knows about a workload kind. Its accessors return nil for objects of other kinds.
type Kind struct {
	schema.GroupKind
	// Resource is the resource through which objects are read.
	Resource schema.GroupVersionResource
	// New returns an empty object.
	New func() Object

	// Replicas returns the wanted number of Pods, or nil if every Pod that exists is wanted. For kinds of this project it also
	// accepts the internal type.
	Replicas func(object runtime.Object) *int32
	// Template returns the template of the object's Pods. The template belongs to the object. The function is nil for kinds without
	// a template of their own.
	Template func(object runtime.Object) *corev1.PodTemplateSpec
	// Selector returns the selector that the object's Pods must match. It is nil for kinds that a WorkloadSpread cannot target.
	Selector func(object runtime.Object) *metav1.LabelSelector
	// Claims returns the templates of the claims that each Pod gets. It is nil for kinds without claims.
	Claims func(object runtime.Object) []corev1.PersistentVolumeClaim
	// UpdateOrder returns the Pods in the order in which the object updates them. If object is nil, the order is only as exact as
	// it can be without the object. The given Pods must be sorted by name or by the order they were chosen in. It is nil for kinds
	// without an order.
	UpdateOrder func(object runtime.Object, pods []*corev1.Pod) ([]*corev1.Pod, error)

	// Progress returns how far the object has rolled out its newest revision, or nil if that is not known. It is nil for kinds that do
	// not roll out, and for kinds that others reconcile.
	Progress func(object runtime.Object) *Progress

	// OwnsPods is true if the kind's objects are the controllers of their Pods.
	OwnsPods bool
	// Through is the kind of the objects that own the Pods on behalf of this kind, or nil.
	Through *schema.GroupKind
	// StableNames is true if a replacement Pod takes the name and the identity of the Pod that it replaces.
	StableNames bool
	// Spread is true if a WorkloadSpread may target the kind.
	Spread bool
	// AbsencePermits is true if a request is allowed when an object of the kind does not exist, because the object's Pods will be
	// deleted anyway. Code that answers "not found" for such a kind must therefore be certain.
	AbsencePermits bool
	// Protected is true if the API server that stores the kind rejects the deletion of an object that has the protection label and
	// replicas.
	Protected bool
	// SetsReadiness is true if the kind's controller sets the readiness condition of its Pods together with its other writes.
	SetsReadiness bool
	// Watched is true if controllers have a cache of the kind.
	Watched bool
	// PodsUnread is true if no controller reads the spec of the Pods in the template, so that their caches do not keep it.
	PodsUnread bool
	// LateWrites is the name of the metric of writes that a cache did not show in time, or empty if the kind has no such metric.
	LateWrites string
}

// All returns the table. Callers must not change it.
func All() []*Kind { return table }

// Of returns what is known about a kind, or nil.
func Of(kind schema.GroupKind) *Kind { return byKind[kind] }

// OfResource returns the kind of a resource, or nil. The version does not matter.
func OfResource(resource schema.GroupResource) *Kind {
	for _, kind := range table {
		if kind.Resource.GroupResource() == resource {
			return kind
		}
	}
	return nil
}

// OfObject returns the kind of a typed object, or nil. The object has the type of its Resource's version. Internal types have
// no kind.
func OfObject(object any) *Kind { return byType[reflect.TypeOf(object)] }

// OfController returns the kind of the object that controls an object, or nil. The version in the reference does not matter.
func OfController(object metav1.Object) *Kind {
	if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
		return Of(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind())
	}
	return nil
}

// HasPods reports whether the Pods of the kind's objects can be found by their owners.
func (k *Kind) HasPods() bool { return k.OwnsPods || k.Through != nil }

// Names returns the kinds for which holds returns true, in the order of the table.
func Names(holds func(*Kind) bool) (names []schema.GroupKind) {
	for _, kind := range table {
		if holds(kind) {
			names = append(names, kind.GroupKind)
		}
	}
	return names
}
