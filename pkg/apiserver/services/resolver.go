package services

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission"
	webhookinit "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listerscorev1 "k8s.io/client-go/listers/core/v1"
)

// firstPatience is how long the first connections wait until the Services are known. It is the default timeout of a webhook.
const firstPatience = 10 * time.Second

// Resolver implements webhook.ServiceResolver. As an admission.PluginInitializer, it sets itself as the resolver of the webhook plugins,
// which would otherwise use DNS names. It is safe for concurrent use.
type Resolver struct {
	services  listerscorev1.ServiceLister
	endpoints proxy.EndpointSliceGetter
	patience  time.Duration
	// start starts the informers once. known is closed when they have synced, and stopped when the server ends.
	start   func()
	known   chan struct{}
	stopped <-chan struct{}
}

var (
	_ webhook.ServiceResolver     = &Resolver{}
	_ admission.PluginInitializer = &Resolver{}
)

// New returns a resolver that runs until ctx ends. It does not connect. If toEndpoints is true, the address of a Service is that of one of
// its ready endpoints, as with the flag --enable-aggregator-routing of kube-apiserver. Otherwise it is the cluster IP.
func New(ctx context.Context, client kubernetes.Interface, toEndpoints bool) (*Resolver, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(withoutManagers))
	r := &Resolver{
		services: factory.Core().V1().Services().Lister(), patience: firstPatience,
		known: make(chan struct{}), stopped: ctx.Done(),
	}
	if toEndpoints {
		var err error
		if r.endpoints, err = proxy.NewEndpointSliceIndexerGetter(factory.Discovery().V1().EndpointSlices()); err != nil {
			return nil, fmt.Errorf("index endpoint slices: %w", err)
		}
	}
	r.start = sync.OnceFunc(func() {
		factory.Start(ctx.Done())
		go func() {
			for _, synced := range factory.WaitForCacheSync(ctx.Done()) {
				if !synced {
					return // The server ends.
				}
			}
			close(r.known)
		}()
	})
	return r, nil
}

// withoutManagers drops the managed fields, which are a large part of most objects.
func withoutManagers(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// Initialize implements admission.PluginInitializer.
func (r *Resolver) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(webhookinit.WantsServiceResolver); ok {
		wants.SetServiceResolver(r)
	}
}

// ResolveEndpoint implements webhook.ServiceResolver. It is called for each new connection. An error means that the webhook cannot be
// called, and its failure policy decides.
func (r *Resolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	r.start()
	select {
	case <-r.known:
	case <-r.stopped:
		return nil, apierrors.NewServiceUnavailable("the server ends")
	case <-time.After(r.patience):
		return nil, apierrors.NewServiceUnavailable("the Services of the cluster are not known yet; check that this server may list and " +
			"watch services and endpointslices.discovery.k8s.io")
	}
	if r.endpoints != nil {
		return proxy.ResolveEndpoint(r.services, r.endpoints, namespace, name, port)
	}
	return proxy.ResolveCluster(r.services, namespace, name, port)
}
