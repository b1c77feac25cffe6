package chart

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"kruise.io/kruise/pkg/apis/pub"
)

// labelsOfNamespaces is the webhook for changes of namespaces.
const labelsOfNamespaces = "mnamespace.kb.io"

// mutatingWebhooks returns the webhooks for new Pods, and the one for namespaces, or nil.
func mutatingWebhooks(t *testing.T, all objects) (pods []admissionv1.MutatingWebhook, namespaces *admissionv1.MutatingWebhook) {
	t.Helper()
	for _, webhook := range read[admissionv1.MutatingWebhookConfiguration](t, all, "MutatingWebhookConfiguration", mutating).Webhooks {
		if webhook.Name == labelsOfNamespaces {
			namespaces = &webhook
		} else {
			pods = append(pods, webhook)
		}
	}
	return pods, namespaces
}

// A change of the other labels of a namespace removes the label by which its Pods are not reviewed. Other changes are not reviewed.
// Case sidecarset 38.
func TestChangesOfNamespacesThatAreReviewed(t *testing.T) {
	_, webhook := mutatingWebhooks(t, render(t))
	require.NotNil(t, webhook)
	assert.Equal(t, admissionv1.Ignore, *webhook.FailurePolicy)
	assert.Equal(t, "/apis/admission.kruise.io/v1/namespacelabelreviews", *webhook.ClientConfig.Service.Path)
	selector, err := metav1.LabelSelectorAsSelector(webhook.ObjectSelector)
	require.NoError(t, err)
	conditions := conditionsOf(webhook.Name, webhook.MatchConditions, webhook.FailurePolicy)
	plain, relabelled := map[string]string{"a": "b"}, map[string]string{"a": "b", "env": "prod"}
	ignored := func(set map[string]string) map[string]string {
		with := maps.Clone(set)
		with[pub.PodCreationKey] = pub.PodCreationIgnored
		return with
	}
	const manager = "system:serviceaccount:kruise-system:kruise-manager"
	for name, test := range map[string]struct {
		user          string
		before, after map[string]string
		want          bool
	}{
		"a label is added":              {"alice", ignored(plain), ignored(relabelled), true},
		"a label is removed":            {"alice", ignored(relabelled), ignored(plain), true},
		"a copy is created":             {"alice", nil, ignored(plain), true},
		"a namespace is created":        {"alice", nil, plain, false},
		"nothing changes":               {"alice", ignored(plain), ignored(plain), false},
		"labels without the label":      {"alice", plain, relabelled, false},
		"the controller adds it":        {manager, plain, ignored(plain), false},
		"the controller removes it":     {manager, ignored(plain), plain, false},
		"another label of a controller": {manager, ignored(plain), ignored(relabelled), false},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := func(set map[string]string) *corev1.Namespace {
				return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: set}}
			}
			kind, operation := corev1.SchemeGroupVersion.WithKind("Namespace"), admission.Update
			var before runtime.Object = namespace(test.before)
			if test.before == nil {
				before, operation = nil, admission.Create
			}
			request := &admission.VersionedAttributes{
				Attributes: admission.NewAttributesRecord(namespace(test.after), before, kind, "", "shop", corev1.SchemeGroupVersion.WithResource("namespaces"),
					"", operation, &metav1.UpdateOptions{}, false, &user.DefaultInfo{Name: test.user}),
				VersionedOldObject: before, VersionedObject: namespace(test.after), VersionedKind: kind,
			}
			result := conditions.Match(t.Context(), request, nil, nil)
			require.NoError(t, result.Error)
			selected := selector.Matches(labels.Set(test.before)) || selector.Matches(labels.Set(test.after))
			assert.Equal(t, test.want, selected && result.Matches)
		})
	}
	_, webhook = mutatingWebhooks(t, render(t, "--set-string", "featureGates=KruisePodReadinessGate=true"))
	assert.Nil(t, webhook, "all Pods are reviewed, whatever the label says")
}
