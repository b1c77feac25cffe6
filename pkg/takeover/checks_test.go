package takeover

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// TestManagersInOtherNamespacesAreRefused finds them by the webhooks and by the conversions that call them.
func TestManagersInOtherNamespacesAreRefused(t *testing.T) {
	t.Parallel()
	converted := sample("v1alpha1")
	require.NoError(t, unstructured.SetNestedMap(converted.Object, map[string]any{
		"namespace": "other", "name": webhookService, "path": "/convert", "port": int64(443),
	}, "spec", "conversion", "webhook", "clientConfig", "service"))
	for name, test := range map[string]struct {
		definition *unstructured.Unstructured
		webhooks   string
		want       string
	}{
		"webhooks":    {sample("v1alpha1"), "other", "is called by MutatingWebhookConfiguration kruise-mutating-webhook-configuration"},
		"conversions": {converted, "kruise-system", "is called by CustomResourceDefinition clonesets.apps.kruise.io"},
		"here":        {sample("v1alpha1"), "kruise-system", ""},
	} {
		command, _ := newTakeover(t, test.definition)
		create(t, command, openKruise(t, test.webhooks)[:2]...)
		err := command.Check(t.Context())
		if test.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, test.want, name)
		require.ErrorContains(t, err, "use --installation-namespace=other, and install the chart with installation.namespace=other", name)
	}
}

// TestGitOpsControllersAreRefused finds each mark on each object that a take-over changes.
func TestGitOpsControllersAreRefused(t *testing.T) {
	t.Parallel()
	const argo, flux = "app.kubernetes.io/instance", "kustomize.toolkit.fluxcd.io/name"
	for name, test := range map[string]struct {
		labels, annotations map[string]string
		want                string
	}{
		"Argo CD":           {nil, map[string]string{"argocd.argoproj.io/tracking-id": "x"}, "Argo CD (annotation argocd.argoproj.io/tracking-id)"},
		"Argo CD by labels": {map[string]string{argo: "app"}, nil, "Argo CD (label app.kubernetes.io/instance=app)"},
		"Helm":              {map[string]string{argo: "app"}, map[string]string{helmRelease: "app"}, ""},
		"Flux":              {map[string]string{flux: "infra"}, nil, "Flux (label kustomize.toolkit.fluxcd.io/name=infra)"},
		"Flux by Helm": {
			map[string]string{"helm.toolkit.fluxcd.io/name": "x"}, map[string]string{helmRelease: "x"}, "Flux (label helm.toolkit.fluxcd.io/name=x)",
		},
	} {
		for marked := range 5 {
			definition := sample("v1alpha1")
			objects := append(slices.Clone(openKruise(t, "kruise-system")[:4]), definition)
			objects[marked].SetLabels(test.labels)
			objects[marked].SetAnnotations(test.annotations)
			command, _ := newTakeover(t, definition)
			create(t, command, objects[:4]...)
			err := command.Check(t.Context())
			if test.want == "" {
				require.NoError(t, err, name)
				continue
			}
			require.ErrorContains(t, err, test.want, name)
			require.ErrorContains(t, err, "manages "+objects[marked].GetKind()+" "+objects[marked].GetName()+": suspend it there", name)
			command.GitOpsSuspended = true
			require.NoError(t, command.Check(t.Context()), name)
		}
	}
}

// What is left of OpenKruise is said at the end: what a return needs, what Helm knows, and who has rights by its accounts.
func TestRemainsOfOpenKruiseAreListed(t *testing.T) {
	t.Parallel()
	const system = "kruise-system"
	binding := func(namespace, name, account string) *unstructured.Unstructured {
		object := installed(rbacKind("RoleBinding"), namespace, name, "")
		object.Object["subjects"] = []any{map[string]any{"kind": "ServiceAccount", "namespace": system, "name": account}}
		return object
	}
	olds := openKruise(t, system)
	mine := installed(rbacKind("RoleBinding"), system, "mine", "kruise")
	mine.Object["subjects"] = binding("", "", "kruise-manager").Object["subjects"]
	command, _ := newTakeover(t)
	create(t, command, olds...)
	create(t, command, mine, binding("games", "theirs", "kruise-manager"), binding("games", "none", "other"))
	var said strings.Builder
	command.Out = &said
	state := &record{}
	require.NoError(t, command.retire(t.Context(), state))
	require.NoError(t, command.listRemains(t.Context(), state))
	assert.Equal(t, []string{
		"Service kruise-system/kruise-webhook-service stays for a return; finish deletes it",
		"Secret kruise-system/kruise-webhook-certs stays for a return; finish deletes it",
		"Helm knows release kruise in namespace kube-public (1 Secrets): do not upgrade, roll back or uninstall it; " +
			"to make Helm forget it: kubectl -n kube-public delete secret -l owner=helm,name=kruise",
		"RoleBinding games/theirs gives rights to ServiceAccount kruise-system/kruise-manager: it is not of a chart that this release knows; " +
			"check that you need it",
	}, strings.Split(strings.ReplaceAll(strings.TrimSpace(said.String()), "\n  ", "\n"), "\n"))

	require.NoError(t, command.removeRemains(t.Context(), state))
	said.Reset()
	require.NoError(t, command.listRemains(t.Context(), state))
	assert.NotContains(t, said.String(), "stays for a return")
}

// A GitOps controller writes the versions of a definition back. The objects can be read again, and the record of what was there stays.
func TestDefinitionsThatWereWrittenBackAreClosedAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*unstructured.Unstructured){
		"with the annotation":    func(*unstructured.Unstructured) {},
		"without the annotation": func(o *unstructured.Unstructured) { o.SetAnnotations(nil) },
	} {
		closed := parse(sample("v1beta1", "v1alpha1", "v1alpha0"))
		_, err := closed.close()
		require.NoError(t, err, name)
		annotations := closed.object.GetAnnotations()
		back := sample("v1beta1", "v1alpha1", "v1alpha0")
		back.SetAnnotations(annotations)
		change(back)
		lists := map[schema.GroupVersionResource]string{oldResource: "CloneSetList"}
		command, _ := newTakeoverWith(t, lists, []runtime.Object{back})
		command.settle, command.Clock = 0, clock.RealClock{}
		require.NoError(t, command.closeAgain(t.Context()), name)
		all, err := command.definitions(t.Context())
		require.NoError(t, err, name)
		assert.Equal(t, []string{Version}, all[0].served(), name)
		assert.JSONEq(t, annotations[originalAnnotation], all[0].object.GetAnnotations()[originalAnnotation], name)
		before := all[0].object.GetResourceVersion()
		require.NoError(t, command.closeAgain(t.Context()), name)
		again, err := command.Dynamic.Resource(crdResource).Get(t.Context(), all[0].name(), metav1.GetOptions{})
		require.NoError(t, err, name)
		assert.Equal(t, before, again.GetResourceVersion(), name)
	}
}
