package app

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/controller"
)

// apiPeriod is how often the API servers are asked which kinds they serve, while a controller waits for a kind.
const apiPeriod = 2 * time.Second

// waiter starts the informers of each controller when all kinds that it reads are served. An informer of a missing
// kind never syncs its cache. So a missing API delays only the controllers that need it.
type waiter struct {
	discovery discovery.ServerResourcesInterface
	// left are the controllers that wait. start starts the informers of one.
	left  []*running
	start func([]controller.Need)
	// said records the controllers for which the wait was logged.
	said map[*running]bool
}

// run returns when every controller has been started, or when ctx ends.
func (w *waiter) run(ctx context.Context) {
	w.said = map[*running]bool{}
	_ = wait.PollUntilContextCancel(ctx, apiPeriod, true, func(ctx context.Context) (bool, error) {
		w.pass(klog.FromContext(ctx))
		return len(w.left) == 0, nil
	})
}

// pass starts the controllers whose kinds are all served. It asks for each group and version only once. A wait is
// logged once, and so is its end.
func (w *waiter) pass(logger klog.Logger) {
	served := &apis{discovery: w.discovery, versions: map[schema.GroupVersion]*answer{}}
	w.left = slices.DeleteFunc(w.left, func(c *running) bool {
		missing, err := served.missing(c.needs)
		switch {
		case missing.Empty():
			if w.said[c] {
				logger.Info("The API is served, starting the controller", "controller", c.Name())
			}
			w.start(c.needs)
			return true
		// The wait is logged once for each controller, with the first missing kind.
		case !w.said[c]:
			logger.Info("A controller waits for an API that is not served: check that kruise-apiserver runs, that its APIService is available, and "+
				"that both servers support the API", "controller", c.Name(), "kind", missing, "err", err)
			w.said[c] = true
		}
		return false
	})
}

// apis caches which kinds the API servers serve, for one pass. The next pass asks again.
type apis struct {
	discovery discovery.ServerResourcesInterface
	versions  map[schema.GroupVersion]*answer
}

// answer is what the servers said about one group version. A version that is not served has neither resources nor an
// error.
type answer struct {
	resources []metav1.APIResource
	err       error
}

// missing returns the first needed kind that is not served, or an empty kind.
func (a *apis) missing(needs []controller.Need) (schema.GroupVersionKind, error) {
	for _, need := range needs {
		version := a.of(need.Kind.GroupVersion())
		if !slices.ContainsFunc(version.resources, func(r metav1.APIResource) bool {
			return r.Kind == need.Kind.Kind && slices.Contains(r.Verbs, "watch")
		}) {
			return need.Kind, version.err
		}
	}
	return schema.GroupVersionKind{}, nil
}

// of returns what the servers say about a group version.
func (a *apis) of(version schema.GroupVersion) *answer {
	if known := a.versions[version]; known != nil {
		return known
	}
	found := &answer{}
	a.versions[version] = found
	list, err := a.discovery.ServerResourcesForGroupVersion(version.String())
	if err != nil && !apierrors.IsNotFound(err) {
		found.err = err
	}
	if err == nil {
		found.resources = list.APIResources
	}
	return found
}
