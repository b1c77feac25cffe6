package cluster

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// object is a pointer to an API object of type T.
type object[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

// list is a pointer to an API list of type L.
type list[L any] interface {
	*L
	runtime.Object
}

// resource makes requests for one kind. An empty namespace means all namespaces, or a kind without namespaces. It
// stands in for the generated clients, which would register every type of their clientset.
type resource[T, L any, P object[T], Q list[L]] struct {
	client    rest.Interface
	name      string
	namespace string
}

// request adds the namespace and the resource to a request.
func (r *resource[T, L, P, Q]) request(verb *rest.Request) *rest.Request {
	return verb.NamespaceIfScoped(r.namespace, r.namespace != "").Resource(r.name)
}

// Get reads one object.
func (r *resource[T, L, P, Q]) Get(ctx context.Context, name string, options metav1.GetOptions) (P, error) {
	result := P(new(T))
	return result, r.request(r.client.Get()).Name(name).VersionedParams(&options, parameters).Do(ctx).Into(result)
}

// List reads the objects that the options select.
func (r *resource[T, L, P, Q]) List(ctx context.Context, options metav1.ListOptions) (Q, error) {
	result := Q(new(L))
	return result, r.request(r.client.Get()).VersionedParams(&options, parameters).Timeout(timeout(options)).Do(ctx).Into(result)
}

// Watch watches the objects that the options select, until the server or the caller ends the watch.
func (r *resource[T, L, P, Q]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return r.request(r.client.Get()).VersionedParams(&options, parameters).Timeout(timeout(options)).Watch(ctx)
}

// Create creates an object.
func (r *resource[T, L, P, Q]) Create(ctx context.Context, created P, options metav1.CreateOptions) (P, error) {
	result := P(new(T))
	return result, r.request(r.client.Post()).VersionedParams(&options, parameters).Body(created).Do(ctx).Into(result)
}

// Update replaces an object. It fails with a conflict if the object has changed since it was read.
func (r *resource[T, L, P, Q]) Update(ctx context.Context, updated P, options metav1.UpdateOptions) (P, error) {
	return r.update(ctx, updated, options)
}

// UpdateStatus replaces the status of an object. It fails with a conflict if the object has changed since it was
// read.
func (r *resource[T, L, P, Q]) UpdateStatus(ctx context.Context, updated P, options metav1.UpdateOptions) (P, error) {
	return r.update(ctx, updated, options, "status")
}

func (r *resource[T, L, P, Q]) update(ctx context.Context, updated P, options metav1.UpdateOptions, subresources ...string) (P, error) {
	result := P(new(T))
	return result, r.request(r.client.Put()).Name(updated.GetName()).SubResource(subresources...).
		VersionedParams(&options, parameters).Body(updated).Do(ctx).Into(result)
}

// Patch patches an object.
func (r *resource[T, L, P, Q]) Patch(
	ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string,
) (P, error) {
	result := P(new(T))
	return result, r.request(r.client.Patch(kind)).Name(name).SubResource(subresources...).
		VersionedParams(&options, parameters).Body(data).Do(ctx).Into(result)
}

// timeout returns the time limit that the options set for the request, or zero for none. It is also the limit of the
// client, as in the generated clients.
func timeout(options metav1.ListOptions) time.Duration {
	if options.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*options.TimeoutSeconds) * time.Second
}
