package helm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRulesAreExplicit(t *testing.T) {
	entries, err := rbacFiles.ReadDir("kruise/files/rbac")
	require.NoError(t, err)
	require.Len(t, entries, 9)
	for _, entry := range entries {
		name := entry.Name()[:len(entry.Name())-len(".yaml")]
		t.Run(name, func(t *testing.T) {
			rules, err := Rules(name)
			require.NoError(t, err)
			require.NotEmpty(t, rules)
			for _, rule := range rules {
				assert.NotEmpty(t, rule.Verbs)
				assert.NotEmpty(t, rule.Resources)
				assert.NotEmpty(t, rule.APIGroups)
				assert.NotContains(t, rule.Verbs, "*")
				assert.NotContains(t, rule.Resources, "*")
				assert.NotContains(t, rule.APIGroups, "*")
			}
		})
	}
}

func TestRulesOfUnknownListFail(t *testing.T) {
	_, err := Rules("nobody")
	assert.ErrorContains(t, err, "nobody.yaml")
}

// TestRulesGrantExactlyTheUsedVerbs names all that the programs ask of the cluster, as verb resource.
func TestRulesGrantExactlyTheUsedVerbs(t *testing.T) {
	tests := map[string][]string{
		ManagerRules: {
			"get list watch create patch delete clonesets", "update clonesets/status", "update clonesets/finalizers",
			"get list watch create patch delete statefulsets", "update statefulsets/status", "update statefulsets/finalizers",
			"get list watch daemonsets", "update daemonsets/status", "update daemonsets/finalizers",
			"get list watch create patch delete broadcastjobs", "update broadcastjobs/status", "update broadcastjobs/finalizers",
			"get list watch advancedcronjobs", "update advancedcronjobs/status", "update advancedcronjobs/finalizers",
			"get list watch create delete jobs",
			"get list watch create patch delete containerrecreaterequests", "update containerrecreaterequests/status",
			"get list watch update delete ephemeraljobs", "update ephemeraljobs/status",
			"get list watch patch podprobemarkers", "update podprobemarkers/status", "list watch create patch delete nodepodprobes",
			"get list watch sidecarsets", "update sidecarsets/status", "update sidecarsets/finalizers",
			"get list watch create patch delete persistentpodstates", "update persistentpodstates/status",
			"get list watch workloadspreads", "update workloadspreads/status",
			"get list watch resourcedistributions", "update resourcedistributions/status", "update resourcedistributions/finalizers",
			"get list watch create patch delete pods", "update pods/finalizers", "get create patch delete configmaps", "patch pods/status", "patch pods/resize", "patch pods/ephemeralcontainers",
			"get list watch create patch delete persistentvolumeclaims", "list watch storageclasses", "list watch nodes",
			"get list watch create update patch delete controllerrevisions", "create patch events",
			"get list watch podunavailablebudgets", "update podunavailablebudgets/status",
			"get list watch uniteddeployments", "update uniteddeployments/status", "update uniteddeployments/finalizers",
			"get uniteddeployments/scale", "get list watch create patch delete deployments", "get list watch replicasets",
			"get list watch create patch delete statefulsets", "get daemonsets", "get replicationcontrollers", "get replicationcontrollers/scale",
			"list watch patch namespaces",
			"get list watch create update delete nodeimages", "get list watch create update delete imagepulljobs",
			"get list watch create patch delete imagelistpulljobs", "update nodeimages/status", "update imagepulljobs/status",
			"update imagelistpulljobs/status", "update imagelistpulljobs/finalizers",
		},
		"manager-secrets":    {"get secrets"},
		"manager-copies":     {"get list watch create update delete secrets", "get list watch create update delete configmaps"},
		"manager-namespaced": {"create leases", "get update leases"},
		DaemonRules: {
			"create patch events", "get list watch pods", "patch pods/status", "get nodes",
			"get list watch nodeimages", "get nodeimages/pullsecrets", "get list watch nodepodprobes", "list watch containerrecreaterequests",
			"update patch nodeimages/status", "update patch nodepodprobes/status", "update patch containerrecreaterequests/status",
		},
		APIServerRules: {
			"get list watch namespaces", "get list pods", "list persistentvolumeclaims", "get nodes", "list controllerrevisions", "list watch resourcequotas", "update resourcequotas/status",
			"get replicationcontrollers", "get daemonsets", "get deployments", "get replicasets", "get statefulsets", "get jobs", "get list storageclasses", "list watch flowschemas", "list watch prioritylevelconfigurations",
			"list watch mutatingadmissionpolicies", "list watch mutatingadmissionpolicybindings", "list watch mutatingwebhookconfigurations",
			"list watch validatingadmissionpolicies", "list watch validatingadmissionpolicybindings", "list watch validatingwebhookconfigurations",
			"get list watch patch apiservices", "create patch events", "patch namespaces", "list watch services", "list watch endpointslices",
		},
		"apiserver-pullsecrets": {"get secrets"},
		"manager-pullsecrets":   {"get list watch create update delete secrets"},
		"apiserver-namespaced": {
			"create secrets", "get list watch update secrets", "get configmaps", "create configmaps", "get update configmaps",
			"get list watch controllerrevisions",
		},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			rules, err := Rules(name)
			require.NoError(t, err)
			var got []string
			for _, rule := range rules {
				for _, resource := range rule.Resources {
					got = append(got, strings.Join(rule.Verbs, " ")+" "+resource)
				}
			}
			assert.ElementsMatch(t, want, got)
		})
	}
}
