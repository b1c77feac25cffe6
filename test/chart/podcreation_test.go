package chart

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
)

const mutating = "/kruise-mutating-webhook-configuration"

// askedAbout returns the webhooks that match Pods of a namespace with these labels. pods says which of them: "owned" or "any".
func askedAbout(t *testing.T, all objects, set labels.Set) (names []string, policy admissionv1.FailurePolicyType, pods string) {
	t.Helper()
	if all["MutatingWebhookConfiguration"][mutating] == nil {
		return nil, "", ""
	}
	for _, webhook := range read[admissionv1.MutatingWebhookConfiguration](t, all, "MutatingWebhookConfiguration", mutating).Webhooks {
		selector, err := metav1.LabelSelectorAsSelector(webhook.NamespaceSelector)
		require.NoError(t, err)
		if selector.Matches(set) {
			names, policy, pods = append(names, webhook.Name), *webhook.FailurePolicy, "any"
			if len(webhook.MatchConditions) > 0 {
				pods = "owned"
			}
		}
	}
	return names, policy, pods
}

// Each Pod is reviewed by at most one webhook, which depends on the labels of its namespace.
// Cases pod-admission 14, 21c.
func TestNamespacesOfPodReviews(t *testing.T) {
	const none = ""
	off := []string{"--set-string", "featureGates=PodWebhook=false"}
	noBudgets := []string{"--set-string", "featureGates=PodUnavailableBudgetDeleteGate=false"}
	updates := []string{"--set-string", `featureGates=PodUnavailableBudgetDeleteGate=false\,PodUnavailableBudgetUpdateGate=true`}
	gates := []string{"--set-string", "featureGates=KruisePodReadinessGate=true"}
	unselected := labels.Set{"kubernetes.io/metadata.name": "shop", "apps.kruise.io/pod-creation": "ignored"}
	sidecars := labels.Set{"kubernetes.io/metadata.name": "shop"}
	plain, budgets := unselected, labels.Merge(unselected, labels.Set{"policy.kruise.io/pod-unavailable-budgets": "true"})
	required := labels.Merge(unselected, labels.Set{"admission.kruise.io/pod-failure-policy": "Fail"})
	tests := map[string]struct {
		args   []string
		set    labels.Set
		name   string
		policy admissionv1.FailurePolicyType
		pods   string
	}{
		"no budget":                      {nil, plain, "owned.mpod.kb.io", admissionv1.Ignore, "owned"},
		"no budget, required":            {nil, required, "required.mpod.kb.io", admissionv1.Fail, "any"},
		"sidecars":                       {nil, sidecars, "mpod.kb.io", admissionv1.Ignore, "any"},
		"sidecars and budgets":           {nil, labels.Merge(budgets, labels.Set{"apps.kruise.io/pod-creation": "other"}), "mpod.kb.io", admissionv1.Ignore, "any"},
		"sidecars, no gate of budgets":   {noBudgets, sidecars, "mpod.kb.io", admissionv1.Ignore, "any"},
		"sidecars, required":             {nil, labels.Set{"admission.kruise.io/pod-failure-policy": "Fail"}, "required.mpod.kb.io", admissionv1.Fail, "any"},
		"budgets":                        {nil, budgets, "budgets.mpod.kb.io", admissionv1.Ignore, "any"},
		"budgets, required":              {nil, labels.Merge(budgets, required), "required.mpod.kb.io", admissionv1.Fail, "any"},
		"another word than Fail":         {nil, labels.Merge(unselected, labels.Set{"admission.kruise.io/pod-failure-policy": "fail"}), "owned.mpod.kb.io", admissionv1.Ignore, "owned"},
		"ours":                           {nil, labels.Merge(budgets, labels.Set{"kubernetes.io/metadata.name": "kruise-system"}), none, "", ""},
		"ours, by another name":          {[]string{"--set", "installation.namespace=mine"}, labels.Set{"kubernetes.io/metadata.name": "mine"}, none, "", ""},
		"kube-system, even if required":  {nil, labels.Merge(required, labels.Set{"kubernetes.io/metadata.name": "kube-system"}), none, "", ""},
		"of a control plane":             {nil, labels.Merge(budgets, labels.Set{"control-plane": "x"}), none, "", ""},
		"nothing concerns Pods":          {off, labels.Merge(budgets, required), none, "", ""},
		"without budgets":                {noBudgets, budgets, "owned.mpod.kb.io", admissionv1.Ignore, "owned"},
		"without budgets, required":      {noBudgets, required, "required.mpod.kb.io", admissionv1.Fail, "any"},
		"budgets of updates alone":       {updates, budgets, "budgets.mpod.kb.io", admissionv1.Ignore, "any"},
		"a gate for all":                 {gates, plain, "mpod.kb.io", admissionv1.Ignore, "any"},
		"a gate for all, with a budget":  {gates, budgets, "mpod.kb.io", admissionv1.Ignore, "any"},
		"a gate for all, and it must be": {gates, required, "required.mpod.kb.io", admissionv1.Fail, "any"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			names, policy, pods := askedAbout(t, render(t, test.args...), test.set)
			if test.name == none {
				assert.Empty(t, names)
				return
			}
			assert.Equal(t, []string{test.name}, names)
			assert.Equal(t, test.policy, policy)
			assert.Equal(t, test.pods, pods)
		})
	}
}

// The chart has no webhook for Kruise kinds, because the apiserver admits them in process.
// Case pod-admission 20.
func TestNoKruiseKindHasAWebhook(t *testing.T) {
	for _, args := range [][]string{nil, everything(), {"--set-string", "featureGates=KruisePodReadinessGate=true"}} {
		all := render(t, args...)
		ofPods, _ := mutatingWebhooks(t, all)
		var rules []admissionv1.RuleWithOperations
		for _, webhook := range ofPods {
			assert.Equal(t, []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}, Scope: new(admissionv1.NamespacedScope),
				},
			}}, webhook.Rules, webhook.Name)
		}
		for _, webhook := range read[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration", webhooks).Webhooks {
			rules = append(rules, webhook.Rules...)
		}
		for _, rule := range rules {
			for _, group := range rule.APIGroups {
				assert.False(t, group == "*" || strings.HasSuffix(group, "kruise.io"), group)
			}
		}
	}
}

// The webhooks of Pods are reached through kube-apiserver, and their timeouts are short.
func TestPodWebhooksAreReachedThroughKubeAPIServer(t *testing.T) {
	all := render(t, "--set", "podCreation.timeoutSeconds=3")
	ofPods, _ := mutatingWebhooks(t, all)
	names := sets.New[string]()
	for _, webhook := range ofPods {
		names.Insert(webhook.Name)
		service := webhook.ClientConfig.Service
		require.NotNil(t, service, webhook.Name)
		assert.Equal(t, "default/kubernetes", service.Namespace+"/"+service.Name)
		assert.Equal(t, "/apis/admission.kruise.io/v1/podcreationreviews", *service.Path)
		assert.Equal(t, admissionv1.SideEffectClassNoneOnDryRun, *webhook.SideEffects)
		assert.Equal(t, admissionv1.NeverReinvocationPolicy, *webhook.ReinvocationPolicy)
		assert.EqualValues(t, 3, *webhook.TimeoutSeconds)
		assert.Equal(t, []string{"v1"}, webhook.AdmissionReviewVersions)
	}
	assert.Len(t, names, len(ofPods), "names are unique")
	byDefault := read[admissionv1.MutatingWebhookConfiguration](t, render(t), "MutatingWebhookConfiguration", mutating)
	assert.EqualValues(t, 5, *byDefault.Webhooks[0].TimeoutSeconds)

	gate, err := features.New("")
	require.NoError(t, err)
	assert.False(t, gate.Enabled(features.KruisePodReadinessGate), "as the chart believes")
	assert.True(t, gate.Enabled(features.PodWebhook))
}

// A Pod of a WorkloadSpread is reviewed once when it is deleted or evicted, and nothing waits for an answer that does not come.
func TestDeletionsOfSpreadPodsAreReviewed(t *testing.T) {
	const pods, evictions = "spread.vpod.kb.io", "spread.vpodeviction.kb.io"
	for name, tc := range map[string]struct {
		gates string
		want  bool
	}{
		"by default": {"", true}, "without budgets": {"PodUnavailableBudgetDeleteGate=false", true}, "gate off": {"WorkloadSpread=false", false},
		"no admission of Pods": {"PodWebhook=false", false},
	} {
		t.Run(name, func(t *testing.T) {
			all := render(t, "--set-string", "featureGates="+tc.gates)
			configuration := read[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration", webhooks)
			found := map[string]admissionv1.ValidatingWebhook{}
			for _, webhook := range configuration.Webhooks {
				found[webhook.Name] = webhook
			}
			for _, name := range []string{pods, evictions} {
				webhook, there := found[name]
				require.Equal(t, tc.want, there, name)
				if there {
					assert.Equal(t, admissionv1.Ignore, *webhook.FailurePolicy)
					assert.Equal(t, "/apis/admission.kruise.io/v1/podreviews", *webhook.ClientConfig.Service.Path)
					selector, err := metav1.LabelSelectorAsSelector(webhook.NamespaceSelector)
					require.NoError(t, err)
					namespace := labels.Set{"kubernetes.io/metadata.name": "shop"}
					assert.True(t, selector.Matches(namespace), name)
					namespace[pub.PodCreationKey] = pub.PodCreationIgnored
					assert.False(t, selector.Matches(namespace), name)
				}
			}
		})
	}
}

// TestPodsOfControlPlanesAreNotReviewed checks the deletions, updates and evictions of Pods. Their creations are in
// TestNamespacesOfPodReviews.
func TestPodsOfControlPlanesAreNotReviewed(t *testing.T) {
	all := render(t, "--set-string", "featureGates=PodUnavailableBudgetUpdateGate=true")
	configuration := read[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration", webhooks)
	budgets := labels.Set{"kubernetes.io/metadata.name": "shop", "policy.kruise.io/pod-unavailable-budgets": "true"}
	reviewed := map[bool][]string{}
	for _, webhook := range configuration.Webhooks {
		if *webhook.ClientConfig.Service.Path != "/apis/admission.kruise.io/v1/podreviews" {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(webhook.NamespaceSelector)
		require.NoError(t, err)
		for _, set := range []labels.Set{budgets, {"kubernetes.io/metadata.name": "shop"}} {
			if selector.Matches(set) {
				reviewed[false] = append(reviewed[false], webhook.Name)
			}
			if selector.Matches(labels.Merge(set, labels.Set{"control-plane": "x"})) {
				reviewed[true] = append(reviewed[true], webhook.Name)
			}
		}
	}
	assert.Equal(t, []string{"vpod.kb.io", "vpod.kb.io", "vpodeviction.kb.io", "spread.vpod.kb.io", "spread.vpod.kb.io", "spread.vpodeviction.kb.io"},
		reviewed[false])
	assert.Empty(t, reviewed[true])
}
