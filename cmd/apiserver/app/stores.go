package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/apiserver/effects"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/registry/apps"
	"kruise.io/kruise/pkg/registry/policy"
)

// unlabelRate is how many namespaces can be written in a second. kube-apiserver limits the rate further if it has to.
const unlabelRate = 1000

// openStores gives admission plugins access to the store of this server. The server becomes ready when the caches
// that the plugins requested have synced, because a budget that is not in the cache protects nothing. The caches sync
// after the store is open. Until then each plugin follows its own rule for an outage.
func (o *Options) openStores(config *apiserver.Config, kruise versioned.Interface, host kubernetes.Interface) (*initializer.Stores, error) {
	namespace := o.Certificates.Namespace
	budgets := policy.NewBudgets()
	config.Backends.Budgets = budgets
	spreads := apps.NewSpreads()
	config.Backends.Spreads = spreads
	// There is no resync, because admission only reads the caches.
	ours := externalversions.NewSharedInformerFactory(kruise, 0)
	revisions := informers.NewSharedInformerFactoryWithOptions(host, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = pub.SidecarSetNameKey }))
	stored := revisions.Apps().V1().ControllerRevisions().Informer()
	// A client of its own, because the labels of thousands of namespaces may have to be removed while a request waits.
	quick := rest.CopyConfig(config.Generic.ClientConfig)
	quick.QPS, quick.Burst = unlabelRate, unlabelRate
	unlabelling, err := kubernetes.NewForConfig(quick)
	if err != nil {
		return nil, fmt.Errorf("create a client for the host cluster: %w", err)
	}
	written, err := effects.New(ours, config.Generic.SharedInformerFactory.Core().V1().Namespaces().Informer(),
		[]string{metav1.NamespaceSystem, namespace}, config.Gate, effects.Unlabel(unlabelling))
	if err != nil {
		return nil, err
	}
	config.Effects = written
	current, err := o.current(written)
	if err != nil {
		return nil, err
	}
	// synced is true when the caches of this server's kinds are filled. It never becomes false again.
	var synced atomic.Bool
	err = config.Generic.AddPostStartHook("start-kruise-informers", func(context genericapiserver.PostStartHookContext) error {
		// Only Pods that get a stored revision wait for these.
		revisions.Start(context.Done())
		// Do not block the hook, because the hook is part of /livez and the store may stay closed for a long time.
		go func() {
			select {
			case <-config.Guard.Opened():
			case <-context.Done():
				return
			}
			ours.Start(context.Done())
			for _, filled := range ours.WaitForCacheSync(context.Done()) {
				if !filled {
					return // The server stops.
				}
			}
			synced.Store(true)
		}()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("fill the caches of Kruise kinds: %w", err)
	}
	// Reviews work before this check succeeds, because their Service includes Pods that are not ready.
	config.Generic.AddReadyzChecks(healthz.NamedCheck("kruise-informers", func(*http.Request) error {
		if !synced.Load() {
			return errors.New("the caches of admission are not loaded")
		}
		return nil
	}))
	return &initializer.Stores{
		Informers: ours, Budgets: budgets, Spreads: spreads, Check: config.Guard.Check, SidecarRevisions: stored, CurrentSidecarSets: current,
	}, nil
}

// current returns the function that waits until the cache of SidecarSets is as new as the store. It is nil if no other server
// writes the store.
func (o *Options) current(written *effects.Effects) (func(context.Context) error, error) {
	if o.Store.Exclusive {
		return nil, nil //nolint:nilnil // as documented
	}
	client, err := o.Store.client(o.Store.Etcd.StorageConfig.Transport.ServerList...)
	if err != nil {
		return nil, err
	}
	return effects.NewCurrent(written, effects.ReadFrom(client, o.Store.Etcd.StorageConfig.Prefix), o.Clock).Await, nil
}
