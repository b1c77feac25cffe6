package app

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	discoveryfake "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/features"
)

// newConfig creates the controllers that the gates enable. Their clients have no server.
func newConfig(t *testing.T, gates string) *Config {
	t.Helper()
	return newConfigWith(t, nil, gates)
}

func newConfigWith(t *testing.T, environment map[string]string, gates string) *Config {
	t.Helper()
	o, err := parse(t, environment)
	require.NoError(t, err)
	f := controllertest.New(t, gates)
	_, err = features.Cascade(f.Deps.Features.(featuregate.MutableFeatureGate))
	require.NoError(t, err)
	c := &Config{options: o, caches: f.Caches, deps: f.Deps}
	require.NoError(t, c.makeControllers())
	return c
}

func kindsOf(c *running) (found []string) {
	for _, need := range c.needs {
		found = append(found, need.Kind.GroupKind().String())
	}
	return found
}

func named(t *testing.T, c *Config, name string) *running {
	t.Helper()
	for _, made := range c.controllers {
		if made.Name() == name {
			return made
		}
	}
	require.Fail(t, "no such controller", name)
	return nil
}

// A controller must wait for every cache that it reads. An empty cache at the start would make it miss a budget, or
// spread Pods over no nodes.
func TestCloneSetWaitsForItsCaches(t *testing.T) {
	c := named(t, newConfig(t, "PreDownloadImageForInPlaceUpdate=true,PodUnavailableBudgetUpdateGate=true"), "cloneset-controller")
	assert.ElementsMatch(t, []string{
		"CloneSet.apps.kruise.io", "Pod", "PersistentVolumeClaim", "ControllerRevision.apps", "Node",
		"PodUnavailableBudget.policy.kruise.io", "ImagePullJob.apps.kruise.io",
	}, kindsOf(c))
}

// Case workloadspread 18.
func TestControllerOfADisabledGateIsNotCreated(t *testing.T) {
	for gates, missing := range map[string][]string{
		"KruiseDaemon=false": {
			"containerrecreaterequest-controller", "nodeimage-controller", "imagepulljob-controller", "imagelistpulljob-controller",
			"podprobemarker-controller", "nodepodprobe-controller",
		},
		"WorkloadSpread=false":     {"workloadspread-controller"},
		"PodProbeMarkerGate=false": {"podprobemarker-controller", "nodepodprobe-controller"},
		"PodUnavailableBudgetDeleteGate=false,PodUnavailableBudgetUpdateGate=false": {"podunavailablebudget-controller"},
		"PodUnavailableBudgetDeleteGate=false,PodUnavailableBudgetUpdateGate=true":  nil,
	} {
		t.Run(gates, func(t *testing.T) {
			all := sets.New[string]()
			for _, c := range newConfig(t, "").controllers {
				all.Insert(c.Name())
			}
			for _, c := range newConfig(t, gates).controllers {
				all.Delete(c.Name())
			}
			assert.ElementsMatch(t, missing, all.UnsortedList())
		})
	}
}

// serve makes discovery return every kind that the controllers need, except the given ones.
func serve(c *Config, without ...string) *discoveryfake.FakeDiscovery {
	fake := &discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{}}
	versions := map[schema.GroupVersion]*metav1.APIResourceList{}
	missing := sets.New(without...)
	for _, made := range c.controllers {
		for _, need := range made.needs {
			if missing.Has(need.Kind.Kind) || missing.Has(need.Kind.Group) {
				continue
			}
			gv := need.Kind.GroupVersion()
			if versions[gv] == nil {
				versions[gv] = &metav1.APIResourceList{GroupVersion: gv.String()}
				fake.Resources = append(fake.Resources, versions[gv])
			}
			versions[gv].APIResources = append(versions[gv].APIResources, metav1.APIResource{Kind: need.Kind.Kind, Verbs: []string{"list", "watch"}})
		}
	}
	return fake
}

// changingAPIs is discovery whose answers change while it is used.
type changingAPIs struct {
	discovery.ServerResourcesInterface
	now atomic.Pointer[discoveryfake.FakeDiscovery]
}

func (c *changingAPIs) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	return c.now.Load().ServerResourcesForGroupVersion(version)
}

// An older API server lacks a kind. The controllers that do not need it start immediately. The others start when the kind is served.
func TestMissingAPIDelaysOnlyItsControllers(t *testing.T) {
	for missing, waiting := range map[string][]string{
		"ImageListPullJob": {"imagelistpulljob-controller", "advancedcronjob-controller"},
		"Deployment":       {"podunavailablebudget-controller", "uniteddeployment-controller", "workloadspread-controller"},
		"policy.kruise.io": {"podunavailablebudget-controller", "cloneset-controller", "statefulset-controller", "daemonset-controller"},
		"none":             nil,
	} {
		t.Run(missing, func(t *testing.T) {
			gates := "PodUnavailableBudgetUpdateGate=true"
			c, complete := newConfig(t, gates), newConfig(t, gates)
			synctest.Test(t, func(t *testing.T) {
				served := &changingAPIs{}
				served.now.Store(serve(c, missing))
				started := 0
				w := &waiter{discovery: served, left: c.controllers, start: func([]controller.Need) { started++ }}
				all := len(c.controllers)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan struct{})
				go func() { defer close(done); w.run(ctx) }()
				<-time.After(time.Minute)
				synctest.Wait()
				var left []string
				for _, c := range w.left {
					left = append(left, c.Name())
				}
				assert.ElementsMatch(t, waiting, left)
				assert.Equal(t, all-len(waiting), started)
				served.now.Store(serve(complete))
				<-time.After(apiPeriod)
				<-done
				assert.Equal(t, all, started)
			})
		})
	}
}
