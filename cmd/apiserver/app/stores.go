package app

import (
	"errors"
	"fmt"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/registry/policy"
)

// openStores gives admission what is stored in this server. The server is ready when the caches that plugins asked for are
// filled: a budget that is not known yet protects nothing.
func openStores(config *apiserver.Config, kruise versioned.Interface) (*initializer.Stores, error) {
	budgets := policy.NewBudgets()
	config.Opened = budgets.Opened
	informers := externalversions.NewSharedInformerFactory(kruise, 0)
	err := config.Generic.AddPostStartHook("start-kruise-informers", func(context genericapiserver.PostStartHookContext) error {
		informers.Start(context.Done())
		for _, synced := range informers.WaitForCacheSync(context.Done()) {
			if !synced {
				return errors.New("the server ended before its caches were filled")
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("have the caches of our own kinds filled: %w", err)
	}
	return &initializer.Stores{Informers: informers, Budgets: budgets}, nil
}
