package controller

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/kinds"
)

const (
	// ownerIndex finds objects by their namespace and the UID of their controller.
	ownerIndex = "controller"
	// clusterOwnerIndex finds objects of all namespaces by the UID of a controller without a namespace.
	clusterOwnerIndex = "clusterController"
)

// ownerKey is the value by which an object and its controller find each other. An owner reference has no namespace, and its UID is not
// checked: anybody can write the UID of another namespace's object into it. So the namespace is a part of the key. The UID is used and
// not the name, because an object that was deleted and created again has other Pods than before.
func ownerKey(namespace string, owner types.UID) string { return namespace + "/" + string(owner) }

// IndexByOwner adds the index that ByOwner uses. Controllers that share an informer may all call it. It must be called before the
// informer starts.
func IndexByOwner(informer cache.SharedIndexInformer) error {
	return Index(informer, ownerIndex, func(obj any) ([]string, error) {
		object, ok := obj.(metav1.Object)
		if !ok {
			return nil, nil
		}
		if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
			return []string{ownerKey(object.GetNamespace(), ref.UID)}, nil
		}
		return nil, nil
	})
}

// IndexByClusterOwner adds the index that ByClusterOwner uses, for a kind whose objects have no namespace.
func IndexByClusterOwner(informer cache.SharedIndexInformer, kind schema.GroupKind) error {
	owner := OwnerOf(kind)
	return Index(informer, clusterOwnerIndex, func(obj any) ([]string, error) {
		object, ok := obj.(metav1.Object)
		if !ok || len(owner(object)) == 0 {
			return nil, nil
		}
		return []string{string(metav1.GetControllerOfNoCopy(object).UID)}, nil
	})
}

// unwatchedIndex finds objects by the namespace and the name of their controller, if its kind is not watched.
const unwatchedIndex = "unwatchedController"

// IndexByUnwatched adds the index that ByUnwatched uses. Controllers that share an informer may all call it. It must be called before
// the informer starts.
func IndexByUnwatched(informer cache.SharedIndexInformer) error {
	return Index(informer, unwatchedIndex, func(obj any) ([]string, error) {
		object, ok := obj.(metav1.Object)
		if !ok {
			return nil, nil
		}
		workload, ref := disruption.ControllerOf(object)
		if kind := kinds.Of(workload.GroupKind); ref == nil || kind != nil && kind.Watched {
			return nil, nil
		}
		return []string{cache.NewObjectName(object.GetNamespace(), ref.Name).String()}, nil
	})
}

// ByUnwatched lists the objects whose controller has the namespace and the name of the key, and a kind that is not watched. The caller
// compares the kind. The controllers may not be allowed to read such a workload, so its UID is not known. The objects belong to the cache
// and must not be changed.
func ByUnwatched[T any](indexer cache.Indexer, key types.NamespacedName) ([]T, error) {
	return byIndex[T](indexer, unwatchedIndex, key.String())
}

// Index adds an index to the informer, unless it already exists. It must be called before the informer starts. Two callers with one
// name must pass the same function, because the function of the first one stays.
func Index(informer cache.SharedIndexInformer, name string, values cache.IndexFunc) error {
	if _, found := informer.GetIndexer().GetIndexers()[name]; found {
		return nil
	}
	return informer.AddIndexers(cache.Indexers{name: values})
}

// ByOwner lists the objects of the owner's namespace that it controls. The objects belong to the cache and must not be changed.
func ByOwner[T any](indexer cache.Indexer, owner metav1.Object) ([]T, error) {
	return ByOwnerIn[T](indexer, owner.GetNamespace(), owner.GetUID())
}

// ByOwnerIn is ByOwner for a caller that knows only the namespace and the UID of the owner.
func ByOwnerIn[T any](indexer cache.Indexer, namespace string, owner types.UID) ([]T, error) {
	return byIndex[T](indexer, ownerIndex, ownerKey(namespace, owner))
}

// ByClusterOwner lists the objects of all namespaces that an object without a namespace controls. The objects belong to the cache and must
// not be changed.
func ByClusterOwner[T any](indexer cache.Indexer, owner types.UID) ([]T, error) {
	return byIndex[T](indexer, clusterOwnerIndex, string(owner))
}

// byIndex lists the objects of a type that an index has for a value.
func byIndex[T any](indexer cache.Indexer, index, value string) ([]T, error) {
	items, err := indexer.ByIndex(index, value)
	if err != nil {
		return nil, fmt.Errorf("list by the index %s: %w", index, err)
	}
	typed := make([]T, 0, len(items))
	for _, item := range items {
		if object, ok := item.(T); ok {
			typed = append(typed, object)
		}
	}
	return typed, nil
}
