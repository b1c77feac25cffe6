//go:build integration

package integration

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"

	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

var writesOfCloneSets = admissionregistrationv1.RuleWithOperations{
	Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
	Rule: admissionregistrationv1.Rule{
		APIGroups: []string{"apps.kruise.io"}, APIVersions: []string{"v1beta1"}, Resources: []string{"clonesets"},
	},
}

func in(namespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
}

// refused waits until a creation is refused, and checks that nothing is stored.
func refused(t *testing.T, client typed.CloneSetInterface) error {
	t.Helper()
	var err error
	eventually(t, func() bool {
		_, err = client.Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil
	})
	_, err = client.Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	require.Error(t, err)
	_, getErr := client.Get(t.Context(), "demo", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(getErr), "%v", getErr)
	return err
}

func TestPoliciesOfUsersAreHonoured(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	api := env.kube.AdmissionregistrationV1()
	name := "few-replicas-" + namespace
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: writesOfCloneSets}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.spec.replicas < 2", Message: "at most one replica here",
			}},
		},
	}
	_, err := api.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{})
	require.NoError(t, err)
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: in(namespace)},
		},
	}
	_, err = api.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = api.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = api.ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{})
	})

	client := env.kruise.AppsV1beta1().CloneSets(namespace)
	err = refused(t, client)
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "at most one replica here")
	one := newCloneSet("demo")
	one.Spec.Replicas = ptr.To[int32](1)
	create(t, client, one)
}

// Case pod-admission 15.
func TestWebhooksOfUsersAreHonoured(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	var calls atomic.Int32
	url, bundle := serveTLS(t, func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		calls.Add(1)
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: review.Request.Name == "welcome", Result: &metav1.Status{Message: "not in my namespace"},
		}
		_ = json.NewEncoder(w).Encode(&review)
	})
	webhooks := env.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "refuse-" + namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:              "refuse.example.com",
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle},
			Rules:             []admissionregistrationv1.RuleWithOperations{writesOfCloneSets},
			NamespaceSelector: in(namespace), SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	_, err := webhooks.Create(t.Context(), configuration, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = webhooks.Delete(context.WithoutCancel(t.Context()), configuration.Name, metav1.DeleteOptions{})
	})

	client := env.kruise.AppsV1beta1().CloneSets(namespace)
	assert.ErrorContains(t, refused(t, client), `admission webhook "refuse.example.com" denied the request: not in my namespace`)
	before := calls.Load()
	create(t, client, newCloneSet("welcome"))
	assert.Equal(t, before+1, calls.Load(), "one call for one write")
}

// serveTLS serves on the address from which the cluster reaches this machine.
func serveTLS(t *testing.T, handler http.HandlerFunc) (url string, bundle []byte) {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey(env.hostIP, []net.IP{net.ParseIP(env.hostIP)}, nil)
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(env.hostIP, "0"))
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	server.Listener = listener
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, cert
}
