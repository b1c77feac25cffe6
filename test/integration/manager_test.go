//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
)

// installPolicy installs a policy of the chart and its binding, until the test ends.
func installPolicy(t *testing.T, name string) {
	t.Helper()
	manifests, err := os.Open("../../artifacts/install.yaml")
	require.NoError(t, err)
	defer func() { _ = manifests.Close() }()
	api, decoder := env.kube.AdmissionregistrationV1(), yaml.NewYAMLOrJSONDecoder(manifests, 4096)
	for found := 0; found < 2; {
		var raw struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
			Spec              json.RawMessage `json:"spec"`
		}
		err := decoder.Decode(&raw)
		require.False(t, errors.Is(err, io.EOF), "install.yaml has no policy %s", name)
		require.NoError(t, err)
		if raw.Name != name {
			continue
		}
		switch raw.Kind {
		case "ValidatingAdmissionPolicy":
			policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
			require.NoError(t, json.Unmarshal(raw.Spec, &policy.Spec))
			_, err = api.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{})
		case "ValidatingAdmissionPolicyBinding":
			binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
			require.NoError(t, json.Unmarshal(raw.Spec, &binding.Spec))
			_, err = api.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{})
		}
		require.NoError(t, err)
		found++
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = api.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = api.ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// The controllers may patch every namespace, and the chart's policy leaves them two labels of it.
func TestManagerChangesTwoLabelsOfNamespaces(t *testing.T) {
	installPolicy(t, "kruise-manager-namespaces")
	name := newNamespace(t)
	manager, err := kubernetes.NewForConfig(as(t, "kruise-manager"))
	require.NoError(t, err)
	patch := func(client kubernetes.Interface, body string, dryRun ...string) error {
		_, err := client.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{DryRun: dryRun})
		return err
	}
	require.NoError(t, patch(env.kube, `{"metadata":{"labels":{"mine":"a"},"annotations":{"mine":"a"}}}`), "the policy concerns nobody else")
	const enforce = `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`
	eventually(t, func() bool { return apierrors.IsForbidden(patch(manager, enforce, metav1.DryRunAll)) }) // the policy comes a moment later

	for body, allowed := range map[string]bool{
		`{"metadata":{"labels":{"policy.kruise.io/pod-unavailable-budgets":"true"}}}`:               true,
		`{"metadata":{"labels":{"policy.kruise.io/pod-unavailable-budgets":null}}}`:                 true,
		`{"metadata":{"labels":{"policy.kruise.io/pod-unavailable-budgets":"no"}}}`:                 false,
		`{"metadata":{"labels":{"policy.kruise.io/pod-unavailable-budgets":"true","b":"c"}}}`:       false,
		`{"metadata":{"labels":{"apps.kruise.io/sidecarsets":"none"}}}`:                             true,
		`{"metadata":{"labels":{"apps.kruise.io/sidecarsets":null}}}`:                               true,
		`{"metadata":{"labels":{"apps.kruise.io/sidecarsets":"true"}}}`:                             false,
		`{"metadata":{"labels":{"mine":null}}}`:                                                     false,
		`{"metadata":{"labels":{"mine":"b"}}}`:                                                      false,
		`{"metadata":{"annotations":{"mine":"b"}}}`:                                                 false,
		`{"metadata":{"finalizers":["example.com/mine"]}}`:                                          false,
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]}}`: false,
	} {
		err := patch(manager, body)
		assert.Equal(t, allowed, err == nil, "%s: %v", body, err)
		assert.Equal(t, !allowed, apierrors.IsForbidden(err), "%s: %v", body, err)
	}
}
