package takeover

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// installed returns an object of a chart. owner is its label part-of.
func installed(kind schema.GroupVersionKind, namespace, name, owner string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetLabels(map[string]string{partOf: owner})
	return object
}

// TestReturnRestoresWhatTheOldManagerNeeds takes over, lets our chart replace what has the same names, and returns. The old manager then has
// its permissions and its webhooks, and nothing of ours limits it. Helm does not delete any of it.
func TestReturnRestoresWhatTheOldManagerNeeds(t *testing.T) {
	t.Parallel()
	admission := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	const system = "kruise-system"
	shared := func(owner string) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{
			installed(apps.WithKind("Deployment"), system, managerName, owner),
			installed(apps.WithKind("DaemonSet"), system, agentName, owner),
			installed(schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, system, "kruise-manager", owner),
			installed(schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, system, "kruise-daemon", owner),
			installed(rbac.WithKind("ClusterRole"), "", "kruise-manager-role", owner),
			installed(rbac.WithKind("ClusterRoleBinding"), "", "kruise-manager-rolebinding", owner),
			installed(rbac.WithKind("Role"), system, "kruise-leader-election-role", owner),
			installed(admission.WithKind("ValidatingWebhookConfiguration"), "", oldWebhooksNames["validatingwebhookconfigurations"], owner),
		}
	}
	command, _ := newTakeover(t, installed(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", agentsNamespace, "kruise"))
	create := func(objects ...*unstructured.Unstructured) {
		for _, object := range objects {
			_, err := command.of(named{resourceOf(object), object.GetNamespace(), ""}).Create(t.Context(), object, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	olds := shared("")
	olds[len(olds)-1].Object["webhooks"] = []any{map[string]any{"clientConfig": map[string]any{"service": map[string]any{"name": oldWebhooksTo}}}}
	create(olds...)
	state := &record{}
	require.NoError(t, command.stopOld(t.Context(), state))
	require.NoError(t, command.removeWebhooks(t.Context(), state))

	replaced := shared("kruise")
	for _, object := range replaced {
		client := command.of(named{resourceOf(object), object.GetNamespace(), ""})
		if err := client.Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
			require.True(t, apierrors.IsNotFound(err), "%v", err)
		}
	}
	create(replaced...)
	garbage := installed(admission.WithKind("ValidatingWebhookConfiguration"), "", garbageWebhook, "kruise")
	create(garbage, installed(admission.WithKind("MutatingWebhookConfiguration"), "", oldWebhooksNames["mutatingwebhookconfigurations"], "kruise"))
	foreign := installed(admission.WithKind("ValidatingAdmissionPolicyBinding"), "", "foreign", "other")
	create(installed(admission.WithKind("ValidatingAdmissionPolicyBinding"), "", "kruise-manager-workloads", "kruise"), foreign)

	for range 2 { // Each step can be repeated.
		require.NoError(t, command.restoreWebhooks(t.Context(), state))
		require.NoError(t, command.startOld(t.Context(), state))
	}
	for _, old := range olds {
		now, err := command.of(named{resourceOf(old), old.GetNamespace(), ""}).Get(t.Context(), old.GetName(), metav1.GetOptions{})
		require.NoError(t, err, old.GetName())
		assert.Empty(t, now.GetLabels()[partOf], old.GetName())
		assert.Equal(t, "keep", now.GetAnnotations()[helmPolicy], old.GetName())
	}
	for _, resource := range webhookResources {
		list, err := command.Dynamic.Resource(resource).List(t.Context(), metav1.ListOptions{LabelSelector: partOf + "=kruise"})
		require.NoError(t, err)
		assert.Empty(t, list.Items)
	}
	bindings, err := command.Dynamic.Resource(policyBindingResource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, bindings.Items, 1)
	assert.Equal(t, "foreign", bindings.Items[0].GetName())
	secrets, err := command.Dynamic.Resource(namespaceResource).Get(t.Context(), agentsNamespace, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "keep", secrets.GetAnnotations()[helmPolicy])
}
