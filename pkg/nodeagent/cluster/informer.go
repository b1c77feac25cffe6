package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// ListerWatcher lists and watches the objects of source for an informer. selects sets the selectors of each request,
// which must limit it to the objects of the node: the API server refuses others. client must be the client that
// source comes from; it says whether the server can send the existing objects through a watch.
func ListerWatcher[L runtime.Object](client Interface, source Source[L], selects func(*metav1.ListOptions)) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			selects(&options)
			return source.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			selects(&options)
			return source.Watch(ctx, options)
		},
	}, client)
}

// Trim is an informer transform. It drops managedFields, which the agent does not read.
func Trim(obj any) (any, error) {
	if object, ok := obj.(metav1.Object); ok && object.GetManagedFields() != nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}
