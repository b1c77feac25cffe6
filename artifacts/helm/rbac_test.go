package helm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRulesAreExplicit(t *testing.T) {
	entries, err := rbacFiles.ReadDir("kruise/files/rbac")
	require.NoError(t, err)
	require.Len(t, entries, 5)
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
