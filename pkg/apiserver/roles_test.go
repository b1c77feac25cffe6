package apiserver

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"kruise.io/kruise/artifacts/helm"
	"kruise.io/kruise/pkg/features"
)

// hidden lists the kinds that the role view must not read, because their objects may contain Secrets.
var hidden = sets.New("resourcedistributions")

// nodeWide lists the namespaced kinds whose objects act on any node. A user with the role edit in one namespace must not have them
// unless the administrator says so.
var nodeWide = sets.New("imagepulljobs", "imagelistpulljobs")

// grants maps each resource to the verbs that a list of rules allows.
type grants map[schema.GroupResource]sets.Set[string]

// beyond returns the resources that are missing in want.
func (g grants) beyond(want grants) []schema.GroupResource {
	return sets.KeySet(g).Difference(sets.KeySet(want)).UnsortedList()
}

func aggregated(t *testing.T, role string) grants {
	t.Helper()
	data, err := os.ReadFile("../../artifacts/helm/kruise/files/aggregate/" + role + ".yaml")
	require.NoError(t, err)
	var rules []rbacv1.PolicyRule
	require.NoError(t, yaml.UnmarshalStrict(data, &rules))
	result := grants{}
	for _, rule := range rules {
		require.Empty(t, rule.ResourceNames)
		require.Empty(t, rule.NonResourceURLs)
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name := schema.GroupResource{Group: group, Resource: resource}
				require.NotContains(t, result, name, "it has one rule")
				require.NotContains(t, group+resource, "*")
				require.NotContains(t, rule.Verbs, "*")
				result[name] = sets.New(rule.Verbs...)
			}
		}
	}
	return result
}

// TestUsersRolesNameEveryKind fails if a kind is added without rules in the cluster roles view, edit and admin.
func TestUsersRolesNameEveryKind(t *testing.T) {
	read := sets.New("get", "list", "watch")
	write := sets.New("create", "update", "patch", "delete", "deletecollection")
	gate, err := features.New("")
	require.NoError(t, err)
	wantView, wantEdit, wantPulls := grants{}, grants{}, grants{}
	for _, registered := range Kinds(gate) {
		name := registered.Resource()
		sub := func(subresource string) schema.GroupResource {
			return schema.GroupResource{Group: name.Group, Resource: name.Resource + "/" + subresource}
		}
		if hidden.Has(name.Resource) {
			require.True(t, registered.Describe().ClusterScoped)
			continue
		}
		wantView[name], wantView[sub("status")] = read, read
		if registered.Describe().Scales {
			wantView[sub("scale")] = read
		}
		if registered.Describe().ClusterScoped {
			continue
		}
		if nodeWide.Has(name.Resource) {
			wantPulls[name] = write
			continue
		}
		wantEdit[name] = write
		if registered.Describe().Scales {
			wantEdit[sub("scale")] = sets.New("update", "patch")
		}
	}
	view, edit := aggregated(t, "view"), aggregated(t, "edit")
	for name, verbs := range wantView {
		assert.Equal(t, verbs, view[name], "view.yaml: %s", name)
	}
	for name, verbs := range wantEdit {
		assert.Equal(t, verbs, edit[name], "edit.yaml: %s", name)
	}
	assert.Equal(t, wantPulls, aggregated(t, "image-pulls"))
	assert.Empty(t, view.beyond(wantView), "view.yaml grants what no kind has")
	assert.Empty(t, edit.beyond(wantEdit), "edit.yaml grants what no kind has")
	for name := range edit {
		assert.NotContains(t, name.Resource, "/status", "users read statuses and do not write them")
		assert.Contains(t, view, name, "who writes also reads")
	}
}

// TestUsersRolesKeepTheClusterToAdministrators lists the kinds that reach beyond a namespace, registered or not. A user with the
// role edit in one namespace must not affect other namespaces through them.
func TestUsersRolesKeepTheClusterToAdministrators(t *testing.T) {
	edit := aggregated(t, "edit")
	for _, resource := range []string{
		"sidecarsets", "resourcedistributions", "nodeimages", "nodepodprobes", "imagepulljobs", "imagelistpulljobs",
	} {
		for _, path := range []string{"", "/status"} {
			assert.NotContains(t, edit, schema.GroupResource{Group: "apps.kruise.io", Resource: resource + path})
		}
	}
	for name := range aggregated(t, "view") {
		assert.NotContains(t, name.Resource, "resourcedistributions", "they may hold Secrets")
	}
}

// The apiserver updates the CA bundle of every APIService by name.
func TestAPIServerMayPublishItsBundle(t *testing.T) {
	rules, err := helm.Rules(helm.APIServerRules)
	require.NoError(t, err)
	gate, err := features.New("")
	require.NoError(t, err)
	for _, rule := range rules {
		if rule.Resources[0] == "apiservices" {
			assert.ElementsMatch(t, APIServices(gate), rule.ResourceNames)
			return
		}
	}
	t.Error("no rule for apiservices")
}
