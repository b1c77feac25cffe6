package certificates

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const (
	// recheck is how often Sync runs without a change, to notice the passing of time.
	recheck = time.Minute
	// retry is the delay after a failure.
	retry = 5 * time.Second
)

// WaitForFirst repeats Sync until it succeeds. If ctx ends first, it returns the last error. The server calls it
// before it listens, because it cannot serve without a certificate.
func (m *Manager) WaitForFirst(ctx context.Context) error {
	for {
		err := m.Sync(ctx)
		if err == nil {
			return nil
		}
		klog.FromContext(ctx).Error(err, "No serving certificate yet")
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retry):
		}
	}
}

// Run repeats Sync after each change of the Secret or an APIService, and at least every minute, until ctx ends. After
// a failure it waits for a shorter time. The watches only make it faster: a missed event delays a Sync by up to a
// minute.
func (m *Manager) Run(ctx context.Context) {
	// One pending signal is enough, because Sync looks at everything.
	changed := make(chan struct{}, 1)
	m.watch(ctx, changed)
	for {
		pause := recheck
		if err := m.Sync(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Certificates are not up to date")
			pause = retry
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-time.After(pause):
		}
	}
}

// watch watches each object by name, because the role of the server does not let it list others. It returns at once;
// the informers run until ctx ends.
func (m *Manager) watch(ctx context.Context, changed chan<- struct{}) {
	// A full channel has a signal already, and an informer must not wait.
	notify := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	start := func(lister cache.ListerWatcher, object runtime.Object) {
		// The objects are not read from the cache: Sync reads them live.
		_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: lister,
			ObjectType:    object,
			Handler: cache.ResourceEventHandlerFuncs{
				AddFunc: notify, UpdateFunc: func(_, obj any) { notify(obj) }, DeleteFunc: notify,
			},
		})
		go controller.RunWithContext(ctx)
	}
	start(named(m.SecretName,
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return m.secrets().List(ctx, options)
		},
		m.secrets().Watch, m.Kube), &corev1.Secret{})
	for _, name := range m.APIServices {
		start(named(name,
			func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return m.apiServices().List(ctx, options)
			},
			m.apiServices().Watch, m.Aggregator), &apiregistrationv1.APIService{})
	}
}

// named lists and watches one object. It adds the field selector, without which the authorizer refuses the request.
// client is used to detect whether the server supports WatchList.
func named(
	name string, list func(context.Context, metav1.ListOptions) (runtime.Object, error),
	watchFunc func(context.Context, metav1.ListOptions) (watch.Interface, error), client any,
) cache.ListerWatcher {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return list(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return watchFunc(ctx, options)
		},
	}, client)
}
