package openkruise

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Service and secret are those that the chart installs. SeenAnnotation is what the stand-in writes into each Pod that it is asked about.
const (
	Service        = "kruise-webhook-service"
	secret         = "kruise-webhook-certs"
	SeenAnnotation = "openkruise.test/seen"
)

// Manager answers the webhooks and the conversions.
type Manager struct {
	Client dynamic.Interface
	// Namespace is that of the installation. Listener is where it answers.
	Namespace string
	Listener  net.Listener

	ready atomic.Bool
}

// Ready returns true after the CA is in all webhooks and conversions.
func (m *Manager) Ready() bool { return m.ready.Load() }

// Run answers until ctx ends. It writes the CA into the webhooks and the conversions after its start, and again every second.
func (m *Manager) Run(ctx context.Context) error {
	certificate, authority, err := m.certificate(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: m.handler(), ReadHeaderTimeout: time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(m.Listener, "", "") }()
	defer func() { _ = server.Close() }()
	for {
		// The configurations may not exist yet.
		m.ready.Store(m.writeAuthority(ctx, authority) == nil)
		select {
		case <-ctx.Done():
			return nil
		case err := <-served:
			return err
		case <-time.After(time.Second):
		}
	}
}

func (m *Manager) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !m.Ready() {
			http.Error(w, "the CA is not written yet", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("POST /mutate-pod", answer(func(request map[string]any) map[string]any {
		object, _ := request["object"].(map[string]any)
		annotations, _, _ := unstructured.NestedMap(object, "metadata", "annotations")
		if annotations == nil {
			annotations = map[string]any{}
		}
		annotations[SeenAnnotation] = "true"
		patch, _ := json.Marshal([]map[string]any{{"op": "add", "path": "/metadata/annotations", "value": annotations}})
		return map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": patch}
	}))
	mux.HandleFunc("POST /validate-pod", answer(func(map[string]any) map[string]any { return map[string]any{"allowed": true} }))
	mux.HandleFunc("POST /convert", answer(func(request map[string]any) map[string]any {
		objects, _ := request["objects"].([]any)
		for _, object := range objects {
			if object, ok := object.(map[string]any); ok {
				object["apiVersion"] = request["desiredAPIVersion"]
			}
		}
		return map[string]any{"result": map[string]any{"status": "Success"}, "convertedObjects": objects}
	}))
	return mux
}

// answer answers a review, of an admission or of a conversion.
func answer(respond func(request map[string]any) map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		review := map[string]any{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		request, _ := review["request"].(map[string]any)
		response := respond(request)
		response["uid"] = request["uid"]
		delete(review, "request")
		review["response"] = response
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}
}

// certificate returns the certificate in the Secret, with its CA. The first manager creates it.
func (m *Manager) certificate(ctx context.Context) (tls.Certificate, []byte, error) {
	secrets := m.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(m.Namespace)
	for {
		object, err := secrets.Get(ctx, secret, metav1.GetOptions{})
		if err != nil {
			return tls.Certificate{}, nil, fmt.Errorf("read the certificate: %w", err)
		}
		data, _, _ := unstructured.NestedStringMap(object.Object, "data")
		if data["tls.crt"] != "" {
			decoded := map[string][]byte{}
			for name, value := range data {
				if decoded[name], err = base64.StdEncoding.DecodeString(value); err != nil {
					return tls.Certificate{}, nil, err
				}
			}
			certificate, err := tls.X509KeyPair(decoded["tls.crt"], decoded["tls.key"])
			return certificate, decoded["ca.crt"], err
		}
		made, err := newCertificate(Service + "." + m.Namespace + ".svc")
		if err != nil {
			return tls.Certificate{}, nil, err
		}
		content := map[string]any{}
		for name, value := range made {
			content[name] = base64.StdEncoding.EncodeToString(value)
		}
		object.Object["data"] = content
		if _, err := secrets.Update(ctx, object, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
			return tls.Certificate{}, nil, fmt.Errorf("write the certificate: %w", err)
		}
	}
}

// writeAuthority writes the CA into what calls the Service. Both configurations must exist.
func (m *Manager) writeAuthority(ctx context.Context, authority []byte) error {
	encoded := base64.StdEncoding.EncodeToString(authority)
	group := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	for resource, name := range map[string]string{
		"mutatingwebhookconfigurations":   "kruise-mutating-webhook-configuration",
		"validatingwebhookconfigurations": "kruise-validating-webhook-configuration",
	} {
		client := m.Client.Resource(group.WithResource(resource))
		object, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
		changed := false
		for _, webhook := range webhooks {
			webhook, _ := webhook.(map[string]any)
			if set, err := setAuthority(webhook, encoded, "clientConfig"); err != nil {
				return err
			} else if set {
				changed = true
			}
		}
		if changed {
			object.Object["webhooks"] = webhooks
			if _, err := client.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
	}
	definitions := m.Client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	list, err := definitions.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var problems []error
	for i := range list.Items {
		service, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "conversion", "webhook", "clientConfig", "service", "name")
		if service != Service {
			continue
		}
		set, err := setAuthority(list.Items[i].Object, encoded, "spec", "conversion", "webhook", "clientConfig")
		if err == nil && set {
			_, err = definitions.Update(ctx, &list.Items[i], metav1.UpdateOptions{})
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// setAuthority sets a CA bundle, and returns true if it was another one.
func setAuthority(object map[string]any, encoded string, path ...string) (bool, error) {
	path = append(path, "caBundle")
	if now, _, _ := unstructured.NestedString(object, path...); now == encoded {
		return false, nil
	}
	return true, unstructured.SetNestedField(object, encoded, path...)
}
