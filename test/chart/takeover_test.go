package chart

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTakeoverInstallsOnlyTheApiserver renders the chart for a cluster with OpenKruise, whose other objects have the same names.
func TestTakeoverInstallsOnlyTheApiserver(t *testing.T) {
	all := render(t, "--set", "takeover=true")
	assert.Len(t, all["APIService"], 1)
	assert.Contains(t, all["APIService"], "/v1.admission.kruise.io", "the others belong to the CustomResourceDefinitions")
	for kind, objects := range all {
		for name := range objects {
			if kind != "APIService" {
				assert.True(t, strings.HasPrefix(name[strings.Index(name, "/")+1:], "kruise-apiserver"), "%s %s", kind, name)
			}
		}
	}
	assert.Contains(t, all["ValidatingAdmissionPolicyBinding"], "/kruise-apiserver-namespaces", "its token can patch namespaces")
	assert.Contains(t, pods(t, all)["kruise-apiserver"].Containers[0].Args, "--await-takeover")
	assert.NotContains(t, pods(t, render(t))["kruise-apiserver"].Containers[0].Args, "--await-takeover")
}
