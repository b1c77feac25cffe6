package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/features"
)

const (
	webhooks = "/kruise-validating-webhook-configuration"
	deletion = "/kruise-deletion-protection"
	reader   = "/kruise-apiserver-custom-resource-reader"
	label    = "policy.kruise.io/delete-protection"
)

// This is as far as templates go.
// Case deletion-protection 14.
func TestWithTheGateOffNothingIsProtected(t *testing.T) {
	tests := map[string]struct {
		gates           string
		protects, reads bool
	}{
		"defaults":                      {"", true, true},
		"off":                           {"ResourcesDeletionProtection=false", false, false},
		"off, and the other on":         {`ResourcesDeletionProtection=false\,DeletionProtectionForCRDCascadingGate=true`, false, false},
		"definitions off":               {"DeletionProtectionForCRDCascadingGate=false", true, false},
		"all of its stage off":          {"AllAlpha=false", false, false},
		"all off but this":              {`AllAlpha=false\,ResourcesDeletionProtection=true`, true, false},
		"but this, in the other order":  {`ResourcesDeletionProtection=true\,AllAlpha=false`, true, false},
		"all of the other stage is off": {"AllBeta=false", true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := render(t, "--set-string", "featureGates="+test.gates)
			assert.Equal(t, test.protects, asks(t, all, "vnamespace.kb.io"))
			assert.Equal(t, test.protects, asks(t, all, "vcustomresourcedefinition.kb.io"))
			for _, name := range []string{deletion, deletion + "-labels"} {
				assert.Equal(t, test.protects, all["ValidatingAdmissionPolicy"][name] != nil)
				assert.Equal(t, test.protects, all["ValidatingAdmissionPolicyBinding"][name] != nil)
			}
			assert.Equal(t, test.reads, all["ClusterRole"][reader] != nil)
			assert.Equal(t, test.reads, all["ClusterRoleBinding"][reader] != nil)
		})
	}
}

// asks says whether there is a webhook of that name.
func asks(t *testing.T, all objects, name string) bool {
	t.Helper()
	if all["ValidatingWebhookConfiguration"][webhooks] == nil {
		return false
	}
	configuration := read[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration", webhooks)
	return slices.ContainsFunc(configuration.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return w.Name == name })
}

// TestGatesOfTheChart compares what the chart believes of gates with what the programs do.
func TestGatesOfTheChart(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	assert.True(t, gate.Enabled(features.KruiseDaemon))
	assert.True(t, gate.Enabled(features.ResourcesDeletionProtection))
	assert.True(t, gate.Enabled(features.DeletionProtectionForCRDCascadingGate))
	require.NoError(t, gate.Set("AllAlpha=false"))
	assert.True(t, gate.Enabled(features.KruiseDaemon))
	assert.False(t, gate.Enabled(features.ResourcesDeletionProtection))
	assert.False(t, gate.Enabled(features.DeletionProtectionForCRDCascadingGate))
}

// TestWebhooksAreReachedThroughKubeAPIServer and stop as little as they can.
func TestWebhooksAreReachedThroughKubeAPIServer(t *testing.T) {
	all := render(t, "--set", "installation.namespace=mine")
	configuration := read[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration", webhooks)
	reviewed := map[string]string{}
	for _, webhook := range configuration.Webhooks {
		service := webhook.ClientConfig.Service
		require.NotNil(t, service, webhook.Name)
		assert.Nil(t, webhook.ClientConfig.CABundle, "kube-apiserver trusts itself")
		assert.Equal(t, "default/kubernetes", service.Namespace+"/"+service.Name)
		assert.EqualValues(t, 443, *service.Port)
		effects := admissionv1.SideEffectClassNone
		if *service.Path == "/apis/admission.kruise.io/v1/podreviews" {
			effects = admissionv1.SideEffectClassNoneOnDryRun // It spends what a budget allows.
		}
		assert.Equal(t, effects, *webhook.SideEffects)
		assert.LessOrEqual(t, *webhook.TimeoutSeconds, int32(10))
		path, found := strings.CutPrefix(*service.Path, "/apis/admission.kruise.io/v1/")
		require.True(t, found)
		reviewed[webhook.Name] = path
	}
	assert.Equal(t, "namespacereviews", reviewed["vnamespace.kb.io"])
	assert.Equal(t, "customresourcedefinitionreviews", reviewed["vcustomresourcedefinition.kb.io"])

	for _, webhook := range configuration.Webhooks[:2] {
		assert.Equal(t, admissionv1.Fail, *webhook.FailurePolicy)
		assert.Equal(t, []metav1.LabelSelectorRequirement{{Key: label, Operator: "In", Values: []string{"Cascading"}}}, webhook.ObjectSelector.MatchExpressions)
		assert.Equal(t, []admissionv1.OperationType{admissionv1.Delete}, webhook.Rules[0].Operations)
		assert.Len(t, webhook.MatchConditions, 1)
	}
	assert.Nil(t, configuration.Webhooks[0].NamespaceSelector, "the namespaces of the installation can be protected too")
}

// TestGroupsThatMayBeListed are none, unless the operator names some.
func TestGroupsThatMayBeListed(t *testing.T) {
	const label = "kruise.io/aggregate-to-custom-resource-reader"
	role := read[rbacv1.ClusterRole](t, render(t), "ClusterRole", reader)
	require.Len(t, role.AggregationRule.ClusterRoleSelectors, 1)
	assert.Equal(t, map[string]string{label: "true"}, role.AggregationRule.ClusterRoleSelectors[0].MatchLabels)

	named := read[rbacv1.ClusterRole](t, render(t, "--set", "installation.roleListGroups={example.com,example.org}"), "ClusterRole", "/kruise-custom-resource-groups")
	assert.Equal(t, "true", named.Labels[label])
	assert.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{"example.com", "example.org"}, Resources: []string{"*"}, Verbs: []string{"list"}}}, named.Rules)
}

// TestParametersOfPolicies may be read where an operator allows it, and nowhere else.
func TestParametersOfPolicies(t *testing.T) {
	all := render(t)
	role := read[rbacv1.ClusterRole](t, all, "ClusterRole", "/kruise-apiserver-policy-parameters")
	assert.Empty(t, role.Rules)
	require.Len(t, role.AggregationRule.ClusterRoleSelectors, 1)
	assert.Equal(t, map[string]string{"kruise.io/aggregate-to-policy-parameters": "true"}, role.AggregationRule.ClusterRoleSelectors[0].MatchLabels)
	binding := read[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding", "/kruise-apiserver-policy-parameters")
	assert.Equal(t, role.Name, binding.RoleRef.Name)
	assert.Equal(t, "kruise-apiserver", binding.Subjects[0].Name)
}

func TestProtectionAgainstTheNamespaceIsAValue(t *testing.T) {
	for value, want := range map[string]bool{"false": false, "true": true} {
		all := render(t, "--set", "deletionProtection.inTerminatingNamespaces="+value)
		args := pods(t, all)["kruise-apiserver"].Containers[0].Args
		assert.Equal(t, want, slices.Contains(args, "--protect-in-terminating-namespaces"))
		variables := read[admissionv1.ValidatingAdmissionPolicy](t, all, "ValidatingAdmissionPolicy", deletion).Spec.Variables
		i := slices.IndexFunc(variables, func(v admissionv1.Variable) bool { return v.Name == "leaves" })
		require.NotEqual(t, -1, i)
		assert.Equal(t, want, variables[i].Expression == "false")
	}
}
