package workloadclient

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/spread"
)

// Custom reads workloads whose kinds are not in the table of workload kinds. The administrator allows such kinds. It needs the verb get
// on them, and no watch.
type Custom struct {
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	Mapper  Mapper
	// Namespace is the system namespace, which has the administrator's list of kinds.
	Namespace string
}

// CustomWorkload is a workload of a custom kind.
type CustomWorkload struct {
	UID types.UID
	// Replicas is the number of Pods that the workload wants: at the paths of the filter, at the path of the administrator, or in the
	// scale. Without any of them, and if the scale may not be read, it is zero.
	Replicas int
	// Forbidden is set if the account may not read the scale, and needs it.
	Forbidden *ForbiddenError
	// Entry is what the administrator's list says about the kind, or nil.
	Entry *spread.Custom
}

// Target returns the target of a WorkloadSpread, or nil if the object does not exist. The WorkloadSpread must have a target. A kind
// without a scale wants no Pods. A kind that is not served is an error, because its discovery may only have failed, and so is a scale that
// cannot be read. A target that the account may not read is a ForbiddenError.
func (c *Custom) Target(ctx context.Context, object *v1beta1.WorkloadSpread) (*CustomWorkload, error) {
	kind := spread.KindOf(object)
	// A kind without an entry is read too: the filter of the user or the scale tells its replicas.
	entry, err := c.Entry(ctx, kind)
	if err != nil {
		return nil, err
	}
	name := object.Spec.TargetRef.Name
	workload, err := c.Get(ctx, kind, object.Namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // as documented
	}
	if err != nil {
		return nil, err
	}
	found := &CustomWorkload{UID: workload.GetUID(), Entry: entry}
	// What the user says comes before what the administrator says.
	switch filter := object.Spec.TargetFilter; {
	case filter != nil && len(filter.ReplicasPathList) > 0:
		found.Replicas = spread.Sum(workload.Object, filter.ReplicasPathList)
	case entry != nil && entry.ReplicasPath != "":
		found.Replicas = spread.Sum(workload.Object, []string{entry.ReplicasPath})
	default:
		scale, err := c.Get(ctx, kind, object.Namespace, name, "scale")
		if err == nil {
			found.Replicas = spread.ScaleReplicas(scale)
			return found, nil
		}
		var forbidden bool
		if found.Forbidden, forbidden = errors.AsType[*ForbiddenError](err); !forbidden && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return found, nil
}

// ListError is the error for a list of the administrator that cannot be read as a list of kinds.
type ListError struct{ err error }

func (e *ListError) Error() string { return e.err.Error() }

func (e *ListError) Unwrap() error { return e.err }

// Entry returns what the administrator's list says about a kind, or nil. A mistake in the list is a ListError.
func (c *Custom) Entry(ctx context.Context, kind schema.GroupKind) (*spread.Custom, error) {
	list, err := AllowedKinds(ctx, c.Kube, c.Namespace, pub.WorkloadSpreadWorkloadsKey)
	if err != nil {
		return nil, err
	}
	entry, err := spread.CustomIn(list, kind)
	if err != nil {
		return nil, &ListError{err: fmt.Errorf("key %s of ConfigMap %s/%s: %w", pub.WorkloadSpreadWorkloadsKey, c.Namespace,
			pub.ConfigurationName, err)}
	}
	return entry, nil
}

// AllowedKinds returns one of the administrator's lists of kinds, or an empty string if it does not exist. The namespace is the
// system namespace, and the key names the list. It reads the ConfigMap each time, so a change takes effect at once.
func AllowedKinds(ctx context.Context, kube kubernetes.Interface, namespace, key string) (string, error) {
	config, err := kube.CoreV1().ConfigMaps(namespace).Get(ctx, pub.ConfigurationName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get ConfigMap %s: %w", pub.ConfigurationName, err)
	}
	return config.Data[key], nil
}

// KindsOfPersistentPodStates returns the kinds that the administrator lists for PersistentPodStates. A list that cannot be parsed lists
// nothing.
func KindsOfPersistentPodStates(ctx context.Context, kube kubernetes.Interface, namespace string) (sets.Set[schema.GroupKind], error) {
	list, err := AllowedKinds(ctx, kube, namespace, pub.PersistentPodStateWorkloadsKey)
	if err != nil {
		return nil, err
	}
	listed, err := spread.KindsIn(list)
	if err != nil {
		klog.FromContext(ctx).Info("The list of kinds is ignored: correct it", "configMap", klog.KRef(namespace, pub.ConfigurationName),
			"key", pub.PersistentPodStateWorkloadsKey, "reason", err.Error())
	}
	return listed, nil
}

// ForbiddenError is the error for a kind of workload that the account may not read. It wraps the error of the server.
type ForbiddenError struct {
	Kind     schema.GroupKind
	Resource schema.GroupResource
	err      error
}

func (e *ForbiddenError) Error() string { return e.err.Error() }

func (e *ForbiddenError) Unwrap() error { return e.err }

// Unread returns the kind of the resource, by resource. A nil error has none.
func (e *ForbiddenError) Unread() map[schema.GroupResource]schema.GroupKind {
	if e == nil {
		return nil
	}
	return map[schema.GroupResource]schema.GroupKind{e.Resource: e.Kind}
}

// Missing reports whether an error of Get says that the object does not exist. A kind that is not served has no objects.
func Missing(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// Get returns an object of a kind, or one of its subresources, in the version that the server prefers. If the account may not read it,
// the error is a ForbiddenError.
func (c *Custom) Get(
	ctx context.Context, kind schema.GroupKind, namespace, name string, subresources ...string,
) (*unstructured.Unstructured, error) {
	mapping, err := c.Mapper.RESTMapping(kind)
	if err != nil {
		return nil, fmt.Errorf("find kind %s: %w", kind, err)
	}
	object, err := c.Dynamic.Resource(mapping.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{}, subresources...)
	if err == nil {
		return object, nil
	}
	err = fmt.Errorf("get %s: %w", strings.Join(append([]string{kind.String(), name}, subresources...), " "), err)
	if apierrors.IsForbidden(err) {
		return nil, &ForbiddenError{Kind: kind, Resource: mapping.Resource.GroupResource(), err: err}
	}
	return nil, err
}
