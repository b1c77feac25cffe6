package uniteddeployment

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/kinds"
)

// parts are the fields that the workloads of all kinds have. The pointers point into the workload. A write through them is only allowed
// on a copy: the workload may belong to a cache.
type parts struct {
	replicas **int32
	selector **metav1.LabelSelector
	template *corev1.PodTemplateSpec
	// partition returns the workload's partition, and hold sets it. They are nil if the kind or its update strategy has none.
	partition func() int32
	hold      func(partition int32)
	// maxUnavailable returns where maxUnavailable is. It is nil if the kind or its update strategy has none. It may add the fields
	// above, so it is only called for workloads that the caller owns.
	maxUnavailable func() **intstr.IntOrString
	// first is the first ordinal of the Pods.
	first  int32
	counts counts
}

// counts is what the status of a workload says of its Pods.
type counts struct {
	// replicas and ready are the numbers of existing and of ready Pods.
	replicas, ready int32
	// observed is the generation of the spec that the workload's controller has seen. If it is lower than the generation of the
	// workload, the other counts may belong to an older spec.
	observed int64
	// revision is the revision that the workload gives to new Pods, or "" if the status does not name it, as that of a Deployment.
	revision string
}

// adapter is what the controller knows of a kind of workloads.
type adapter struct {
	kind schema.GroupKind
	// resource is the resource of the workloads, and empty returns a workload without fields.
	resource schema.GroupVersionResource
	empty    func() controller.Object
	// from returns a new workload with the metadata and the spec of a template, or nil if the template is for another kind.
	from  func(*v1beta1.SubsetTemplate) controller.Object
	parts func(controller.Object) parts
	// list returns the workloads of an owner, orphans those of a subset that have no controller, and pods the Pods of a workload.
	list    func(owner metav1.Object) ([]controller.Object, error)
	orphans func(namespace, subset string) ([]controller.Object, error)
	pods    func(workload metav1.Object) ([]*corev1.Pod, error)

	// create stores a new workload, and patch sends a strategic merge patch. Both return the stored workload, whose resource version
	// the guard waits for.
	create func(context.Context, controller.Object) (controller.Object, error)
	patch  func(ctx context.Context, namespace, name string, patch []byte) (controller.Object, error)
	delete func(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error
	// longest is the maximum length of the prefix of a workload's name, or zero if only the API server limits it. The prefix is cut to
	// this length.
	longest int
	// gapsStop is true if the workload does not replace a Pod that cannot become ready, until the Pod is deleted.
	gapsStop bool
	// unpartitioned is true if the kind has no partitions.
	unpartitioned bool
}

// writer is the part of a typed client that writes the workloads of a namespace.
type writer[T any] interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Patch(ctx context.Context, name string, form types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// typed is what differs between the kinds. One row of the table in kinds.go is one value of this type.
type typed[T controller.Object] struct {
	// informer watches the workloads of the kind, and empty returns one without fields.
	informer controller.Informer
	empty    func() T
	// template fills a workload from a template, and reports whether the template is for the kind. The filled workload shares memory
	// with the template, so the caller copies it before it writes.
	template func(*v1beta1.SubsetTemplate, T) (*metav1.ObjectMeta, bool)
	// parts returns the shared fields of a workload, and client writes the workloads of a namespace.
	parts  func(T) parts
	client func(namespace string) writer[T]
}

// adapt makes the controller watch a kind, and returns its adapter. The Pods are those that pods finds by their controller.
func adapt[T controller.Object](
	c *controller.Of[*v1beta1.UnitedDeployment], kind schema.GroupKind, t *typed[T], selecting reconcile.Mapper,
	pods func(workload metav1.Object) ([]*corev1.Pod, error),
) *adapter {
	resource := kinds.Of(kind).Resource
	indexer := c.Owns(resource, t.informer)
	return &adapter{
		kind: kind, resource: resource, pods: pods, empty: func() controller.Object { return t.empty() },
		from: func(template *v1beta1.SubsetTemplate) controller.Object {
			workload := t.empty()
			meta, found := t.template(template, workload)
			if !found {
				return nil
			}
			// t.template copies the spec only shallowly, and the template belongs to the cache. The copy below makes the workload safe
			// to change.
			workload.SetLabels(meta.Labels)
			workload.SetAnnotations(meta.Annotations)
			owned, _ := workload.DeepCopyObject().(controller.Object)
			return owned
		},
		parts: func(object controller.Object) parts {
			workload, ok := object.(T)
			// The adapter gets only objects of its own kind. Fields of an empty workload are harmless if this is ever wrong.
			if !ok {
				workload = t.empty()
			}
			return t.parts(workload)
		},
		list:    func(owner metav1.Object) ([]controller.Object, error) { return objects[T](indexer, owner) },
		orphans: orphansIn(c, t.informer, selecting),
		create: func(ctx context.Context, object controller.Object) (controller.Object, error) {
			workload, _ := object.(T)
			return t.client(object.GetNamespace()).Create(ctx, workload, metav1.CreateOptions{})
		},
		patch: func(ctx context.Context, namespace, name string, patch []byte) (controller.Object, error) {
			return t.client(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		},
		delete: func(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
			return t.client(namespace).Delete(ctx, name, options)
		},
	}
}

// objects lists the objects of an owner from a cache, in the form that is the same for all kinds.
func objects[T controller.Object](indexer cache.Indexer, owner metav1.Object) ([]controller.Object, error) {
	found, err := controller.ByOwner[T](indexer, owner)
	if err != nil {
		return nil, err
	}
	all := make([]controller.Object, 0, len(found))
	for _, object := range found {
		all = append(all, object)
	}
	return all, nil
}

// adapters returns the adapters of the four kinds. selecting finds the UnitedDeployments that select a workload.
func adapters(deps controller.Deps, c *controller.Of[*v1beta1.UnitedDeployment], selecting reconcile.Mapper) []*adapter {
	byOwner := c.IndexByOwner(deps.KubeInformers.Core().V1().Pods())
	sets := c.IndexByOwner(deps.KubeInformers.Apps().V1().ReplicaSets())
	direct := func(workload metav1.Object) ([]*corev1.Pod, error) {
		return controller.ByOwner[*corev1.Pod](byOwner, workload)
	}
	// The controller of the Pods of a Deployment is a ReplicaSet, also during an update, when there are several.
	throughSets := func(workload metav1.Object) (all []*corev1.Pod, err error) {
		replicaSets, err := controller.ByOwner[*appsv1.ReplicaSet](sets, workload)
		for _, set := range replicaSets {
			pods, podsErr := direct(set)
			if podsErr != nil {
				return nil, podsErr
			}
			all = append(all, pods...)
		}
		return all, err
	}
	native := adapt(c, kinds.StatefulSet, statefulSets(deps), selecting, direct)
	advanced := adapt(c, kinds.AdvancedStatefulSet, advancedStatefulSets(deps), selecting, direct)
	native.gapsStop = true
	clones := adapt(c, kinds.CloneSet, cloneSets(deps), selecting, direct)
	for _, a := range []*adapter{native, advanced, clones} {
		a.longest = longestInLabel
	}
	rolling := adapt(c, kinds.Deployment, deployments(deps), selecting, throughSets)
	rolling.unpartitioned = true
	return []*adapter{native, advanced, clones, rolling}
}

// longestInLabel limits the prefix of the name of a StatefulSet or a CloneSet. Each of its Pods has a label whose value is the name, a
// dash and the hash of a revision, and a label value has at most 63 characters. The name is the prefix and 5 random characters, and the
// hash has up to 10 characters. The Pods of a Deployment have only the hash.
const longestInLabel = 46

// made returns what the pointer points at. If it is nil, made sets it to an empty value. So the caller can write a field of an optional
// struct, for example of rollingUpdate, that the user left out.
func made[T any](pointer **T) *T {
	if *pointer == nil {
		*pointer = new(T)
	}
	return *pointer
}

// using returns the adapter of the kind that the template is for, or nil.
func (r *Reconciler) using(template *v1beta1.SubsetTemplate) *adapter {
	index := slices.IndexFunc(r.adapters, func(a *adapter) bool { return a.from(template) != nil })
	if index < 0 {
		return nil
	}
	return r.adapters[index]
}
