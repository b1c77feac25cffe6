package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
)

// Caches owns the informers of the program. Controllers share the informers. Each controller gets its own Deps from For. Deps
// record which informers the controller asked for. A controller is started once the API servers serve all of them, and its first
// reconcile waits until all of them are synced. Only Caches starts informers.
type Caches struct {
	// namespace is the only namespace that the program watches, or empty for all.
	namespace string
	kruise    externalversions.SharedInformerFactory
	// newKube makes the factory of a scope. Factories are made when a controller asks for the first informer of their scope.
	newKube func(scope scope, transform cache.TransformFunc) informers.SharedInformerFactory
	// outages are the outages of this project's API server, under true, and of the host cluster's.
	outages map[bool]*outage

	// lock guards kube and started. The informers of one scope come from one factory, so controllers with the same scope share them.
	lock sync.Mutex
	kube map[scope]informers.SharedInformerFactory
	// started holds the informers that were started once. A SharedIndexInformer cannot run twice.
	started map[cache.SharedIndexInformer]bool
	// running counts the goroutines of started informers, for Wait.
	running sync.WaitGroup
	// barriers make a new leader wait until the informers are current.
	barriers barriers
}

// NewCaches returns caches of one namespace, or of all namespaces if namespace is empty. Every object is reconciled once per
// resync period. Zero disables this.
func NewCaches(kube kubernetes.Interface, kruise versioned.Interface, namespace string, resync time.Duration) *Caches {
	return &Caches{
		namespace: namespace, kube: map[scope]informers.SharedInformerFactory{}, started: map[cache.SharedIndexInformer]bool{},
		kruise: externalversions.NewSharedInformerFactoryWithOptions(kruise, resync,
			externalversions.WithNamespace(namespace), externalversions.WithTransform(Trim)),
		newKube: func(s scope, transform cache.TransformFunc) informers.SharedInformerFactory {
			return informers.NewSharedInformerFactoryWithOptions(kube, resync,
				informers.WithNamespace(s.namespace), informers.WithTransform(transform))
		},
		// kube-apiserver answers /readyz itself. The list of one CloneSet goes through the aggregator to kruise-apiserver and reads
		// its store, as the lists of reflectors do.
		outages: map[bool]*outage{
			true:  {probe: probing(kruise.Discovery().RESTClient(), "/apis/apps.kruise.io/v1beta1/clonesets?limit=1")},
			false: {probe: probing(kube.Discovery().RESTClient(), "/readyz")},
		},
	}
}

// Need is an informer that a controller reads.
type Need struct {
	Informer cache.SharedIndexInformer
	Kind     schema.GroupVersionKind
	// Namespace is the only namespace that the informer watches, or empty for all. Label is the label of all objects that it watches,
	// or empty.
	Namespace, Label string
	// Kruise is true if this project's API server serves the kind, and false if the host cluster's does.
	Kruise bool
}

// For returns the Deps for one controller. Its informers and listers record themselves in it, so each controller needs a Deps of its
// own.
func (c *Caches) For(deps Deps) Deps {
	deps.needs = &needs{}
	deps.KubeInformers = &kubeInformers{caches: c, needs: deps.needs, scope: scope{namespace: c.namespace}, transform: Trim}
	deps.KruiseInformers = &kruiseInformers{caches: c, needs: deps.needs}
	deps.Options.Informers = deps.needs.synced
	// Without a mapper, as in unit tests, there is no server to compare with.
	if deps.Mapper != nil {
		deps.Options.Current = func(ctx context.Context) error { return c.barriers.pass(ctx, &deps) }
	}
	return deps
}

// Start starts those of the informers that do not run yet. They run until the context ends. It may be called again when another
// controller starts, with needs that partly run already.
func (c *Caches) Start(ctx context.Context, needs []Need) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, need := range needs {
		if !c.started[need.Informer] {
			c.started[need.Informer] = true
			// The informer does not run yet, so this returns no error.
			_ = need.Informer.SetWatchErrorHandlerWithContext(c.outages[need.Kruise].handle)
			c.running.Go(func() { need.Informer.RunWithContext(ctx) })
		}
	}
}

// Wait blocks until the informers have stopped.
func (c *Caches) Wait() { c.running.Wait() }

// kubeFactory returns the factory of a scope, and creates it on first use. The transform of the first caller applies to all, so
// callers with one scope must pass the same transform.
func (c *Caches) kubeFactory(s scope, transform cache.TransformFunc) informers.SharedInformerFactory {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.kube[s] == nil {
		c.kube[s] = c.newKube(s, transform)
	}
	return c.kube[s]
}

// needs holds what one controller asked for, without duplicates. Each accessor adds to it, even when the controller asks only for a
// lister.
type needs struct {
	lock sync.Mutex
	all  []Need
}

// add records an informer. A generated accessor asks for the same informer for its lister again, so add ignores a known one. The kind
// stays empty if the scheme does not know the object; then nothing waits for its API.
func (n *needs) add(scheme *runtime.Scheme, obj runtime.Object, s scope, informer cache.SharedIndexInformer) {
	n.lock.Lock()
	defer n.lock.Unlock()
	if slices.ContainsFunc(n.all, func(need Need) bool { return need.Informer == informer }) {
		return
	}
	need := Need{Informer: informer, Namespace: s.namespace, Label: s.label, Kruise: scheme == kruisescheme.Scheme}
	if kinds, _, err := scheme.ObjectKinds(obj); err == nil {
		need.Kind = kinds[0]
	}
	n.all = append(n.all, need)
}

// list returns a copy, which the caller may read without the lock.
func (n *needs) list() []Need {
	n.lock.Lock()
	defer n.lock.Unlock()
	return slices.Clone(n.all)
}

// synced returns the checks that the queue waits for. The queue calls it when it starts, so informers that the constructor added
// after For are included.
func (n *needs) synced() (all []cache.InformerSynced) {
	for _, need := range n.list() {
		all = append(all, need.Informer.HasSynced)
	}
	return all
}
