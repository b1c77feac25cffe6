package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/client-go/rest"
)

func TestEachRateFlagHasItsOwnDefault(t *testing.T) {
	type limits struct {
		qps   float32
		burst int
	}
	for name, test := range map[string]struct {
		flags, kube, apps limits
	}{
		"none":  {limits{}, limits{}, limits{50, 100}},
		"burst": {limits{burst: 300}, limits{burst: 300}, limits{50, 300}},
		"qps":   {limits{qps: 5}, limits{qps: 5}, limits{5, 100}},
		"both":  {limits{5, 10}, limits{5, 10}, limits{5, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			options := &Options{QPS: test.flags.qps, Burst: test.flags.burst}
			kube, apps := options.limit(&rest.Config{Host: "h"})
			assert.Equal(t, test.kube, limits{kube.QPS, kube.Burst})
			assert.Equal(t, test.apps, limits{apps.QPS, apps.Burst})
			assert.Equal(t, "h", apps.Host)
		})
	}
}
