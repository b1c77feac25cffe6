package apiserver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestNamesAreTheContracts checks the names that clients and scripts use. These names must never change.
func TestNamesAreTheContracts(t *testing.T) {
	const apps, policy = "apps.kruise.io", "policy.kruise.io"
	both, alpha := "v1beta1 v1alpha1", "v1alpha1"
	contract := map[string]struct {
		group, plural, short string
		cluster              bool
		versions             string
		scales               bool
	}{
		"AdvancedCronJob":          {apps, "advancedcronjobs", "acj", false, both, false},
		"BroadcastJob":             {apps, "broadcastjobs", "bcj", false, both, false},
		"CloneSet":                 {apps, "clonesets", "clone", false, both, true},
		"ContainerRecreateRequest": {apps, "containerrecreaterequests", "crr", false, both, false},
		"DaemonSet":                {apps, "daemonsets", "daemon ads", false, both, false},
		"EphemeralJob":             {apps, "ephemeraljobs", "ejob", false, alpha, false},
		"ImageListPullJob":         {apps, "imagelistpulljobs", "", false, both, false},
		"ImagePullJob":             {apps, "imagepulljobs", "", false, both, false},
		"NodeImage":                {apps, "nodeimages", "", true, both, false},
		"NodePodProbe":             {apps, "nodepodprobes", "", true, alpha, false},
		"PersistentPodState":       {apps, "persistentpodstates", "", false, both, false},
		"PodProbeMarker":           {apps, "podprobemarkers", "", false, alpha, false},
		"PodUnavailableBudget":     {policy, "podunavailablebudgets", "pub", false, both, false},
		"ResourceDistribution":     {apps, "resourcedistributions", "distributor", true, both, false},
		"SidecarSet":               {apps, "sidecarsets", "", true, both, false},
		"StatefulSet":              {apps, "statefulsets", "sts asts", false, both, true},
		"UnitedDeployment":         {apps, "uniteddeployments", "ud", false, both, true},
		"WorkloadSpread":           {apps, "workloadspreads", "ws", false, both, false},
	}
	for _, kind := range newWorld(t).kinds {
		want, ok := contract[kind.hub.Kind]
		if !assert.True(t, ok, "%s is not in the contract", kind.hub.Kind) {
			continue
		}
		about := kind.Describe()
		assert.Equal(t, want.group, kind.Resource().Group, kind.hub.Kind)
		assert.Equal(t, want.plural, kind.Resource().Resource, kind.hub.Kind)
		assert.Equal(t, strings.ToLower(kind.hub.Kind), about.Singular)
		assert.Equal(t, want.short, strings.Join(about.Short, " "), kind.hub.Kind)
		assert.Equal(t, want.cluster, about.ClusterScoped, kind.hub.Kind)
		assert.Equal(t, want.scales, about.Scales, kind.hub.Kind)
		assert.Empty(t, about.Categories, kind.hub.Kind)
		var versions []string
		for _, version := range kind.ServedVersions() {
			assert.Equal(t, want.group, version.Group)
			versions = append(versions, version.Version)
		}
		assert.Equal(t, want.versions, strings.Join(versions, " "), kind.hub.Kind)
		assert.Equal(t, versions[0], kind.StoredVersion().Version, "%s is stored in its newest version", kind.hub.Kind)
	}
}
