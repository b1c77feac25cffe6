package app

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

const (
	apiPeriod = 2 * time.Second
	// apiLogEvery is how many tries pass between two lines of the log.
	apiLogEvery = 15
)

// waitForAPI waits until the resource is served, and says so while it is not. It returns false when the context ended first.
func (c *Config) waitForAPI(ctx context.Context, resource schema.GroupVersionResource) bool {
	logger := klog.FromContext(ctx)
	tries := 0
	err := wait.PollUntilContextCancel(ctx, apiPeriod, true, func(context.Context) (bool, error) {
		list, err := c.kruise.Discovery().ServerResourcesForGroupVersion(resource.GroupVersion().String())
		if err == nil {
			for i := range list.APIResources {
				if list.APIResources[i].Name == resource.Resource {
					return true, nil
				}
			}
		}
		if tries%apiLogEvery == 0 {
			logger.Info("Waiting for the API: is kruise-apiserver running, and its APIService available?", "resource", resource, "err", err)
		}
		tries++
		return false, nil
	})
	if err == nil && tries > 0 {
		logger.Info("The API is served", "resource", resource)
	}
	return err == nil
}
