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
	namespace string
	kruise    externalversions.SharedInformerFactory
	newKube   func(scope scope, transform cache.TransformFunc) informers.SharedInformerFactory
	// outages are the outages of this project's API server, under true, and of the host cluster's.
	outages map[bool]*outage

	lock    sync.Mutex
	kube    map[scope]informers.SharedInformerFactory
	started map[cache.SharedIndexInformer]bool
	running sync.WaitGroup
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

// For returns the Deps for one controller.
func (c *Caches) For(deps Deps) Deps {
	deps.needs = &needs{}
	deps.KubeInformers = &kubeInformers{caches: c, needs: deps.needs, scope: scope{namespace: c.namespace}, transform: Trim}
	deps.KruiseInformers = &kruiseInformers{caches: c, needs: deps.needs}
	deps.Options.Informers = deps.needs.synced
	return deps
}

// Start starts those of the informers that do not run yet. They run until the context ends.
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

func (c *Caches) kubeFactory(s scope, transform cache.TransformFunc) informers.SharedInformerFactory {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.kube[s] == nil {
		c.kube[s] = c.newKube(s, transform)
	}
	return c.kube[s]
}

// needs holds what one controller asked for, without duplicates.
type needs struct {
	lock sync.Mutex
	all  []Need
}

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

func (n *needs) list() []Need {
	n.lock.Lock()
	defer n.lock.Unlock()
	return slices.Clone(n.all)
}

func (n *needs) synced() (all []cache.InformerSynced) {
	for _, need := range n.list() {
		all = append(all, need.Informer.HasSynced)
	}
	return all
}
