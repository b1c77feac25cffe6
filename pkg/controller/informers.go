package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/core"
	coreinformers "k8s.io/client-go/informers/core/v1"
	kubeinternal "k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/kubernetes"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	kruiseapps "kruise.io/kruise/pkg/generated/informers/externalversions/apps"
	kruiseinternal "kruise.io/kruise/pkg/generated/informers/externalversions/internalinterfaces"
	"kruise.io/kruise/pkg/generated/informers/externalversions/policy"
)

// KubeInformers provides informers for kinds of the host cluster. A controller must ask for informers and listers in its constructor,
// before the informers start. It offers only the groups that some controller reads.
type KubeInformers interface {
	Core() core.Interface
	Apps() apps.Interface
	Batch() batch.Interface
	Storage() storage.Interface
	// InNamespace provides informers that watch only one namespace.
	InNamespace(namespace string) KubeInformers
	// Selected provides informers that watch only objects with a label, and cache what the transform returns.
	Selected(label string, transform cache.TransformFunc) KubeInformers
}

// KruiseInformers provides informers for the kinds of this project.
type KruiseInformers interface {
	Apps() kruiseapps.Interface
	Policy() policy.Interface
}

// kubeInformers is the factory behind the typed accessors. Each accessor calls InformerFor for its informer and for its lister. It
// implements the internal interface of generated factories, so that it can record which controller asks for which informer.
type kubeInformers struct {
	caches *Caches
	needs  *needs
	scope  scope
	// transform returns what the informers cache.
	transform cache.TransformFunc
}

// scope is what the informers of a factory watch. Empty fields mean everything. Informers of different scopes are different caches,
// even for the same kind.
type scope struct{ namespace, label string }

// narrow makes a list or watch return only objects with the label.
func (s scope) narrow(options *metav1.ListOptions) { options.LabelSelector = s.label }

// onlyNamespace returns an informer of the Namespace of the scope. A controller that is restricted to a namespace does not see what is
// in the other ones, so it must not write their labels.
func (s scope) onlyNamespace(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
	return coreinformers.NewFilteredNamespaceInformer(client, resync,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, func(options *metav1.ListOptions) {
			s.narrow(options)
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.namespace).String()
		})
}

// The generated accessors take these types as their factories.
var (
	_ KubeInformers                        = &kubeInformers{}
	_ kubeinternal.SharedInformerFactory   = &kubeInformers{}
	_ KruiseInformers                      = &kruiseInformers{}
	_ kruiseinternal.SharedInformerFactory = &kruiseInformers{}
)

func (k *kubeInformers) Core() core.Interface { return core.New(k, k.scope.namespace, k.scope.narrow) }
func (k *kubeInformers) Apps() apps.Interface { return apps.New(k, k.scope.namespace, k.scope.narrow) }
func (k *kubeInformers) Batch() batch.Interface {
	return batch.New(k, k.scope.namespace, k.scope.narrow)
}
func (k *kubeInformers) Storage() storage.Interface {
	return storage.New(k, k.scope.namespace, k.scope.narrow)
}

// InNamespace drops the label of the scope: it is called on the unrestricted factory only.
func (k *kubeInformers) InNamespace(namespace string) KubeInformers {
	return &kubeInformers{caches: k.caches, needs: k.needs, scope: scope{namespace: namespace}, transform: k.transform}
}

// Selected keeps the namespace of the program, so a manager that is restricted to one namespace needs no permission in others.
func (k *kubeInformers) Selected(label string, transform cache.TransformFunc) KubeInformers {
	return &kubeInformers{caches: k.caches, needs: k.needs, scope: scope{k.scope.namespace, label}, transform: transform}
}

// InformerFor returns the shared informer, and records that the controller reads it. A Namespace is cluster-scoped, so the factory's
// namespace does not restrict it; a field selector does.
func (k *kubeInformers) InformerFor(obj runtime.Object, make kubeinternal.NewInformerFunc) cache.SharedIndexInformer {
	if _, is := obj.(*corev1.Namespace); is && k.scope.namespace != metav1.NamespaceAll {
		make = k.scope.onlyNamespace
	}
	informer := k.caches.kubeFactory(k.scope, k.transform).InformerFor(obj, make)
	k.needs.add(kubescheme.Scheme, obj, k.scope, informer)
	return informer
}

// Start does nothing, because only Caches starts informers.
func (*kubeInformers) Start(<-chan struct{}) {}

// InformerName returns nil: informers have no metrics of their own.
func (*kubeInformers) InformerName() *cache.InformerName { return nil }

// kruiseInformers is the same for the kinds of this project.
type kruiseInformers struct {
	caches *Caches
	needs  *needs
}

func (k *kruiseInformers) Apps() kruiseapps.Interface {
	return kruiseapps.New(k, k.caches.namespace, nil)
}
func (k *kruiseInformers) Policy() policy.Interface { return policy.New(k, k.caches.namespace, nil) }

// InformerFor returns the shared informer, and records that the controller reads it.
func (k *kruiseInformers) InformerFor(obj runtime.Object, make kruiseinternal.NewInformerFunc) cache.SharedIndexInformer {
	informer := k.caches.kruise.InformerFor(obj, make)
	k.needs.add(kruisescheme.Scheme, obj, scope{namespace: k.caches.namespace}, informer)
	return informer
}

// Start does nothing, because only Caches starts informers.
func (*kruiseInformers) Start(<-chan struct{}) {}

// InformerName returns nil: informers have no metrics of their own.
func (*kruiseInformers) InformerName() *cache.InformerName { return nil }
