//go:build bench

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	certutil "k8s.io/client-go/util/cert"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// addWebhooks adds a mutating and a validating webhook for the custom resource in a namespace, and waits until both are called.
func (c *custom) addWebhooks(ctx context.Context, namespace string) error {
	if err := c.serve(ctx); err != nil {
		return fmt.Errorf("serve the webhooks: %w", err)
	}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{customGroup}, APIVersions: []string{"*"}, Resources: []string{customPlural}},
	}}
	client := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{URL: new(c.url + path), CABundle: c.bundle}
	}
	inside := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	none, meta := new(admissionregistrationv1.SideEffectClassNone), metav1.ObjectMeta{Name: customName}
	api := c.core.AdmissionregistrationV1()
	_, err := api.MutatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate." + customGroup, ClientConfig: client("/mutate"), Rules: rules, NamespaceSelector: inside,
			SideEffects: none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = api.ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate." + customGroup, ClientConfig: client("/validate"), Rules: rules, NamespaceSelector: inside,
			SideEffects: none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	object, err := customSet("probe")
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		c.calls.Store(0)
		_, err := c.objects.Namespace(namespace).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return c.calls.Load() == 2, err
	})
	c.calls.Store(0)
	return err
}

// serve starts the webhooks' server on the address from which this machine reaches kube-apiserver, so that kube-apiserver can
// reach it.
func (c *custom) serve(ctx context.Context) error {
	host, err := url.Parse(c.core.CoreV1().RESTClient().Get().URL().String())
	if err != nil {
		return err
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", host.Host)
	if err != nil {
		return err
	}
	ip, _, err := net.SplitHostPort(connection.LocalAddr().String())
	if err := errors.Join(err, connection.Close()); err != nil {
		return err
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(ip, []net.IP{net.ParseIP(ip)}, nil)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mutate", c.review(mutated))
	mux.HandleFunc("/validate", c.review(func(*v1beta1.CloneSet) ([]byte, error) { return nil, nil }))
	c.url, c.bundle = "https://"+listener.Addr().String(), cert
	c.webhooks = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = c.webhooks.ServeTLS(listener, "", "") }()
	return nil
}

// review answers with the patch that decide returns, if any. It decodes the object, as real webhooks do.
func (c *custom) review(decide func(*v1beta1.CloneSet) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		c.calls.Add(1)
		var review admissionv1.AdmissionReview
		err := json.NewDecoder(req.Body).Decode(&review)
		if err != nil || review.Request == nil {
			http.Error(w, fmt.Sprintf("no review: %v", err), http.StatusBadRequest)
			return
		}
		set := &v1beta1.CloneSet{}
		if err := json.Unmarshal(review.Request.Object.Raw, set); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		patch, err := decide(set)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Patch: patch}
		if patch != nil {
			review.Response.PatchType = new(admissionv1.PatchTypeJSONPatch)
		}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&review)
	}
}

// mutated returns the patch that sets a CloneSet's defaults, or nil if no default is missing.
func mutated(set *v1beta1.CloneSet) ([]byte, error) {
	filled := set.DeepCopy()
	v1beta1.SetObjectDefaults_CloneSet(filled)
	if apiequality.Semantic.DeepEqual(filled.Spec, set.Spec) {
		return nil, nil
	}
	return json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": filled.Spec}})
}
