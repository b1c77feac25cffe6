package app

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/admission/pod"
	"kruise.io/kruise/pkg/admission/review"
)

// asked reads the webhooks of the chart. It returns the rules and the kind of webhook configuration for each review.
func asked(t *testing.T) (rules map[string][]admissionregistrationv1.RuleWithOperations, kinds map[string]string) {
	t.Helper()
	var data []byte
	for _, name := range []string{"store.yaml", "install.yaml"} {
		file, err := os.ReadFile("../../../artifacts/" + name)
		require.NoError(t, err)
		data = append(append(data, file...), "\n---\n"...)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	rules, kinds = map[string][]admissionregistrationv1.RuleWithOperations{}, map[string]string{}
	for {
		var configuration struct {
			Kind     string
			Webhooks []admissionregistrationv1.ValidatingWebhook
		}
		err := decoder.Decode(&configuration)
		if errors.Is(err, io.EOF) {
			return rules, kinds
		}
		require.NoError(t, err)
		for _, webhook := range configuration.Webhooks {
			name, found := strings.CutPrefix(*webhook.ClientConfig.Service.Path, "/apis/"+review.GroupVersion.String()+"/")
			require.True(t, found, webhook.Name)
			rules[name] = append(rules[name], webhook.Rules...)
			kinds[name] = configuration.Kind
		}
	}
}

// TestReviewsAreThoseThatWebhooksAskFor compares the table with the webhooks of the chart. If the chart names a
// review that the table does not have, every request that matches the webhook fails.
func TestReviewsAreThoseThatWebhooksAskFor(t *testing.T) {
	options, err := NewOptions()
	require.NoError(t, err)
	rules, kinds := asked(t)
	for _, route := range reviews {
		assert.NotEmpty(t, rules[route.Name], "no webhook asks for %s", route.Name)
		assert.Equal(t, map[bool]string{true: "MutatingWebhookConfiguration", false: "ValidatingWebhookConfiguration"}[route.Mutates], kinds[route.Name])
		for _, plugin := range route.Plugins {
			assert.Contains(t, options.Admission.RecommendedPluginOrder, plugin)
		}
	}
	for name, list := range rules {
		i := slices.IndexFunc(reviews, func(route review.Route) bool { return route.Name == name })
		require.NotEqual(t, -1, i, "no answer to %s", name)
		for _, rule := range list {
			for _, operation := range rule.Operations {
				assert.Contains(t, reviews[i].Operations, admission.Operation(operation), name)
			}
			// A rule for all groups must be one for all resources, which the route has to allow.
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					if resource == "*" {
						assert.True(t, reviews[i].AnyResource, name)
						continue
					}
					assert.Contains(t, reviews[i].Resources, schema.GroupResource{Group: group, Resource: resource}, name)
				}
			}
		}
	}
}

// Other decorators of the admission chain wrap plugins, and a wrapper does not patch. A route would then answer without a patch.
func TestReviewsCallThePluginsThemselves(t *testing.T) {
	options, err := NewOptions()
	require.NoError(t, err)
	options.Admission.Decorators.Decorate(pod.New(clock.RealClock{}), pod.PluginName)
	for _, route := range reviews {
		for _, name := range route.Plugins {
			if plugin, found := options.Reviewers[name]; found {
				_, patches := plugin.(review.Patcher)
				assert.Equal(t, route.Mutates, patches, "%s of %s", name, route.Name)
			}
		}
	}
	assert.Contains(t, options.Reviewers, pod.PluginName)
}
