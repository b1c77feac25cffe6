package app

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/registry/policy"
)

// openStores gives admission what is stored in this server. The server is ready when the caches that plugins asked for are
// filled: a budget that is not known yet protects nothing. They are filled once the store is open; until then each plugin answers
// by its rule for an outage.
func openStores(config *apiserver.Config, kruise versioned.Interface) (*initializer.Stores, error) {
	budgets := policy.NewBudgets()
	config.Opened = budgets.Opened
	informers := externalversions.NewSharedInformerFactory(kruise, 0)
	var synced atomic.Bool
	err := config.Generic.AddPostStartHook("start-kruise-informers", func(context genericapiserver.PostStartHookContext) error {
		// The hook is part of /livez, and the store may be closed for long.
		go func() {
			select {
			case <-config.Guard.Opened():
			case <-context.Done():
				return
			}
			informers.Start(context.Done())
			for _, filled := range informers.WaitForCacheSync(context.Done()) {
				if !filled {
					return // the server ends
				}
			}
			synced.Store(true)
		}()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("have the caches of our own kinds filled: %w", err)
	}
	config.Generic.AddReadyzChecks(healthz.NamedCheck("kruise-informers", func(*http.Request) error {
		if !synced.Load() {
			return errors.New("the caches of admission are not filled")
		}
		return nil
	}))
	return &initializer.Stores{Informers: informers, Budgets: budgets, Check: config.Guard.Check}, nil
}
