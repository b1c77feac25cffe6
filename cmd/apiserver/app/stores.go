package app

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/apiserver/effects"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/registry/apps"
	"kruise.io/kruise/pkg/registry/policy"
)

// openStores gives admission plugins access to the store of this server. The server becomes ready when the caches
// that the plugins requested have synced, because a budget that is not in the cache protects nothing. The caches sync
// after the store is open. Until then each plugin follows its own rule for an outage.
func openStores(config *apiserver.Config, kruise versioned.Interface, host kubernetes.Interface, namespace string) (
	_ *initializer.Stores, err error) {
	budgets := policy.NewBudgets()
	config.Backends.Budgets = budgets
	spreads := apps.NewSpreads()
	config.Backends.Spreads = spreads
	// There is no resync, because admission only reads the caches.
	ours := externalversions.NewSharedInformerFactory(kruise, 0)
	revisions := informers.NewSharedInformerFactoryWithOptions(host, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = pub.SidecarSetNameKey }))
	stored := revisions.Apps().V1().ControllerRevisions().Informer()
	config.Effects, err = effects.New(ours, config.Generic.SharedInformerFactory.Core().V1().Namespaces().Informer(),
		[]string{metav1.NamespaceSystem, namespace}, config.Gate)
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
	return &initializer.Stores{Informers: ours, Budgets: budgets, Spreads: spreads, Check: config.Guard.Check, SidecarRevisions: stored}, nil
}
