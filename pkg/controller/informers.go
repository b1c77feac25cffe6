package controller

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/core"
	kubeinternal "k8s.io/client-go/informers/internalinterfaces"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	kruiseapps "kruise.io/kruise/pkg/generated/informers/externalversions/apps"
	kruiseinternal "kruise.io/kruise/pkg/generated/informers/externalversions/internalinterfaces"
	"kruise.io/kruise/pkg/generated/informers/externalversions/policy"
)

// KubeInformers provides informers for kinds of the host cluster. A controller must ask for informers and listers in its
// constructor, before the informers start.
type KubeInformers interface {
	Core() core.Interface
	Apps() apps.Interface
	Batch() batch.Interface
	// InNamespace provides informers that watch only one namespace.
	InNamespace(namespace string) KubeInformers
}

// KruiseInformers provides informers for the kinds of this project.
type KruiseInformers interface {
	Apps() kruiseapps.Interface
	Policy() policy.Interface
}

// kubeInformers is the factory behind the typed accessors. Each accessor calls InformerFor for its informer and for its lister.
type kubeInformers struct {
	caches    *Caches
	needs     *needs
	namespace string
}

var (
	_ KubeInformers                        = &kubeInformers{}
	_ kubeinternal.SharedInformerFactory   = &kubeInformers{}
	_ KruiseInformers                      = &kruiseInformers{}
	_ kruiseinternal.SharedInformerFactory = &kruiseInformers{}
)

func (k *kubeInformers) Core() core.Interface   { return core.New(k, k.namespace, nil) }
func (k *kubeInformers) Apps() apps.Interface   { return apps.New(k, k.namespace, nil) }
func (k *kubeInformers) Batch() batch.Interface { return batch.New(k, k.namespace, nil) }

func (k *kubeInformers) InNamespace(namespace string) KubeInformers {
	return &kubeInformers{caches: k.caches, needs: k.needs, namespace: namespace}
}

// InformerFor returns the shared informer, and records that the controller reads it.
func (k *kubeInformers) InformerFor(obj runtime.Object, make kubeinternal.NewInformerFunc) cache.SharedIndexInformer {
	informer := k.caches.kubeFactory(k.namespace).InformerFor(obj, make)
	k.needs.add(kubescheme.Scheme, obj, k.namespace, informer)
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
	k.needs.add(kruisescheme.Scheme, obj, k.caches.namespace, informer)
	return informer
}

// Start does nothing, because only Caches starts informers.
func (*kruiseInformers) Start(<-chan struct{}) {}

// InformerName returns nil: informers have no metrics of their own.
func (*kruiseInformers) InformerName() *cache.InformerName { return nil }
