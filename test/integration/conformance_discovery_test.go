//go:build integration

package integration

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// checkDiscovery compares the discovery document of each version with the registry.
func checkDiscovery(t *testing.T, k *kind) {
	for _, version := range k.ServedVersions() {
		list, err := env.kube.Discovery().ServerResourcesForGroupVersion(version.String())
		require.NoError(t, err)
		byName := map[string]metav1.APIResource{}
		for _, resource := range list.APIResources {
			byName[resource.Name] = resource
		}
		plural := k.Resource().Resource
		main := byName[plural]
		assert.Equal(t, k.gvk.Kind, main.Kind)
		assert.Equal(t, k.about.Singular, main.SingularName)
		assert.Equal(t, k.about.Short, main.ShortNames)
		assert.Equal(t, k.about.Categories, main.Categories)
		assert.Equal(t, k.about.ClusterScoped, !main.Namespaced)
		assert.NotEmpty(t, main.StorageVersionHash)
		assert.ElementsMatch(t, []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}, main.Verbs)
		status := byName[plural+"/status"]
		assert.Equal(t, k.gvk.Kind, status.Kind)
		assert.ElementsMatch(t, []string{"get", "patch", "update"}, status.Verbs)
		scale, scales := byName[plural+"/scale"]
		assert.Equal(t, k.about.Scales, scales, "/scale")
		if scales {
			assert.Equal(t, "autoscaling/v1 Scale", scale.Group+"/"+scale.Version+" "+scale.Kind)
			assert.ElementsMatch(t, []string{"get", "patch", "update"}, scale.Verbs)
		}
	}
}

// checkExplain runs kubectl explain for the kind in each version.
func checkExplain(t *testing.T, k *kind) {
	for _, version := range k.ServedVersions() {
		explains(t, []string{k.Resource().Resource, "--api-version=" + version.String()},
			"KIND:       "+k.gvk.Kind+"\n", "VERSION:    "+version.Version+"\n", "GROUP:      "+version.Group+"\n", "\n  spec\t")
	}
}

// checkTable reads the table of the kind in each version.
func checkTable(t *testing.T, k *kind) {
	created := k.create(t, "table")
	for _, version := range k.versions() {
		data, err := env.kube.Discovery().RESTClient().Get().AbsPath(k.path(version)).Param("labelSelector", k.selector()).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
		require.NoError(t, err)
		var table metav1.Table
		require.NoError(t, json.Unmarshal(data, &table))
		assert.Equal(t, k.about.Columns, table.ColumnDefinitions)
		found := false
		for _, row := range table.Rows {
			require.Len(t, row.Cells, len(k.about.Columns))
			found = found || row.Cells[0] == created.GetName()
		}
		assert.True(t, found)
	}
}

// checkKubectlGet finds the kind by each of its short names, and prints its columns.
func checkKubectlGet(t *testing.T, k *kind) {
	created := k.create(t, "printed")
	var narrow, wide []string
	for _, column := range k.about.Columns {
		name := strings.ToUpper(column.Name)
		wide = append(wide, name)
		if column.Priority == 0 {
			narrow = append(narrow, name)
		}
	}
	names := k.about.Short
	if len(names) == 0 {
		names = []string{k.about.Singular}
	}
	for _, name := range names {
		args := []string{"get", name + "." + k.gvk.Group, created.GetName()}
		if !k.about.ClusterScoped {
			args = append(args, "-n", k.namespace)
		}
		assert.Equal(t, strings.Join(narrow, " "), header(mustKubectl(t, args...)))
		if len(wide) > len(narrow) {
			assert.Equal(t, strings.Join(wide, " "), header(mustKubectl(t, append(args, "-o", "wide")...)))
		}
	}
}

// header returns the first line of a table, with single spaces.
func header(table string) string {
	line, _, _ := strings.Cut(table, "\n")
	return strings.Join(strings.Fields(line), " ")
}
