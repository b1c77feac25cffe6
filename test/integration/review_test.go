//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	protectionLabel = "policy.kruise.io/delete-protection"
	reviewPath      = "/apis/admission.kruise.io/v1/namespacereviews"
	// reviewTimeout is how long a new Pod waits for its review. The default of the chart is too short for a busy machine: a Pod that is
	// created without its review never gets what the review adds.
	reviewTimeout = 15 * time.Second
)

// rendered returns the policies and webhooks of the chart.
func rendered() (string, error) {
	return output(env.cluster.Binary("helm"), "template", "kruise", "../../artifacts/helm/kruise", "--kube-version=1.36.3",
		fmt.Sprintf("--set=podCreation.timeoutSeconds=%d", int(reviewTimeout.Seconds())), "--set=installation.roleListGroups={example.com}", "--set=featureGates=PodUnavailableBudgetUpdateGate=true",
		"--show-only=templates/apiserver/webhooks.yaml", "--show-only=templates/apiserver/protection.yaml",
		"--show-only=templates/apiserver/podcreation.yaml")
}

// protection says whether the policies and webhooks of the chart are active. A return from a take-over deletes them.
var protection struct {
	sync.Mutex
	active bool
}

// protected installs the policies and webhooks of the chart, unless another test did, and returns a new namespace.
func protected(t *testing.T) string {
	t.Helper()
	protection.Lock()
	defer protection.Unlock()
	if !protection.active {
		activateProtection(t)
		protection.active = true
	}
	return newNamespace(t)
}

// activateProtection installs the policies and webhooks of the chart, and waits until they are active.
func activateProtection(t *testing.T) {
	t.Helper()
	text, err := rendered()
	require.NoError(t, err)
	out, err := kubectl(t, text, "apply", "-f", "-")
	require.NoError(t, err, out)
	for value, want := range map[string]string{"Always": "kruise-deletion-protection", "Cascading": "vnamespace.kb.io"} {
		probe := newNamespace(t)
		pendingPod(t, probe)
		label(t, "namespace", probe, value)
		eventually(t, func() bool {
			out, err := kubectl(t, "", "delete", "namespace", probe, "--dry-run=server")
			return err != nil && strings.Contains(out, want)
		})
		label(t, "namespace", probe, "")
	}
}

// label sets the protection of an object. "" removes it, as does the end of the test.
func label(t *testing.T, resource, name, value string, flags ...string) {
	t.Helper()
	args := append([]string{"label", resource, name, "--overwrite"}, flags...)
	if value == "" {
		mustKubectl(t, append(args, protectionLabel+"-")...)
		return
	}
	mustKubectl(t, append(args, protectionLabel+"="+value)...)
	t.Cleanup(func() { _, _ = kubectl(t, "", append(args, protectionLabel+"-")...) })
}

// pendingPod creates a Pod that cannot be scheduled.
func pendingPod(t *testing.T, namespace string) *corev1.Pod {
	t.Helper()
	pod, err := env.kube.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pending-"},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"no": "such-node"}, Containers: []corev1.Container{{Name: "web", Image: "kruise.local/demo:v1"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return pod
}

// TestOnlyKubeAPIServerCreatesReviews checks that the server answers reviews of kube-apiserver and refuses all others: those of an
// administrator, with and without the aggregation layer, and those of a client that only impersonates the name of kube-apiserver.
func TestOnlyKubeAPIServerCreatesReviews(t *testing.T) {
	t.Parallel()
	namespace := protected(t)
	label(t, "namespace", namespace, "Cascading")
	pendingPod(t, namespace)
	err := env.kube.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, `admission webhook "vnamespace.kb.io" denied the request: namespaces "`+namespace+`" is forbidden`)

	named := rest.CopyConfig(env.config)
	named.Impersonate = rest.ImpersonationConfig{UserName: "system:apiserver"}
	for name, config := range map[string]*rest.Config{
		"administrator": env.config, "past the aggregation layer": direct(env.server, env.config), "another's name": named,
		"our own program": as(t, "kruise-apiserver"), "anonymous": direct(env.server, &rest.Config{}),
	} {
		client, err := rest.UnversionedRESTClientFor(unversioned(rest.CopyConfig(config)))
		require.NoError(t, err)
		err = client.Post().AbsPath(reviewPath).SetHeader("Content-Type", "application/json").Body([]byte(`{}`)).Do(t.Context()).Error()
		assert.True(t, apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err), "%s: %v", name, err)
	}
	out, err := kubectl(t, "", "get", "namespacereviews.admission.kruise.io")
	require.Error(t, err)
	assert.Contains(t, out, "only kube-apiserver can ask for reviews")
}

// TestWebhooksForEverythingDoNotSeeReviews registers a webhook for every resource in the cluster. It sees the deletion, but not the
// review of the deletion.
// Not parallel: every write in the cluster would wait for its webhooks.
func TestWebhooksForEverythingDoNotSeeReviews(t *testing.T) {
	namespace := protected(t)
	var mutex sync.Mutex
	seen := map[string]int{}
	url, bundle := serveTLS(t, func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mutex.Lock()
		seen[review.Request.Resource.Group+"/"+review.Request.Resource.Resource]++
		mutex.Unlock()
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		_ = json.NewEncoder(w).Encode(&review)
	})
	name := "everything-" + namespace
	everything := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
	}
	client := admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle}
	// Failures are ignored, because this webhook applies to the whole cluster.
	_, err := env.kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "everything.example.com", ClientConfig: client, Rules: []admissionregistrationv1.RuleWithOperations{everything},
			FailurePolicy: new(admissionregistrationv1.Ignore), AdmissionReviewVersions: []string{"v1"},
			SideEffects: new(admissionregistrationv1.SideEffectClassNone),
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = env.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "everything.example.com", ClientConfig: client, Rules: []admissionregistrationv1.RuleWithOperations{everything},
			FailurePolicy: new(admissionregistrationv1.Ignore), AdmissionReviewVersions: []string{"v1"},
			SideEffects: new(admissionregistrationv1.SideEffectClassNone),
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, _ = kubectl(t, "", "delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", name)
	})
	// Both servers have seen the webhook.
	eventually(t, func() bool {
		_, err := env.kruise.AppsV1beta1().CloneSets(namespace).Create(t.Context(), newCloneSet("probe"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		require.NoError(t, err)
		mustKubectl(t, "annotate", "namespace", namespace, "seen=yes", "--overwrite", "--dry-run=server")
		mutex.Lock()
		defer mutex.Unlock()
		return seen["apps.kruise.io/clonesets"] >= 2 && seen["/namespaces"] >= 2
	})
	label(t, "namespace", namespace, "Cascading")
	pendingPod(t, namespace)
	out, err := kubectl(t, "", "delete", "namespace", namespace)
	require.Error(t, err)
	assert.Contains(t, out, "active pods 1>0")
	mutex.Lock()
	defer mutex.Unlock()
	for resource := range seen {
		assert.False(t, strings.HasPrefix(resource, "admission.kruise.io/"), resource)
	}
}

// The schema must not contain the review kind, because clients would cache a kind that nobody writes.
func TestReviewsAreNotInTheSchema(t *testing.T) {
	t.Parallel()
	client, err := rest.UnversionedRESTClientFor(direct(env.server, env.config))
	require.NoError(t, err)
	data, err := client.Get().AbsPath("/openapi/v2").DoRaw(t.Context())
	require.NoError(t, err)
	assert.NotContains(t, string(data), "namespacereviews")
	assert.Contains(t, string(data), "clonesets")
	require.NoError(t, env.server.logsNoBug())
}
