package services

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

func service(kind corev1.ServiceType, ip, external string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "user", Name: "hook"},
		Spec: corev1.ServiceSpec{
			Type: kind, ClusterIP: ip, ExternalName: external, Ports: []corev1.ServicePort{{Name: "https", Port: 443}},
		},
	}
}

func slice(address string, port int32, ready bool) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "user", Name: "hook-1", Labels: map[string]string{discoveryv1.LabelServiceName: "hook"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: &port}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
}

func TestAddressOfAService(t *testing.T) {
	for name, test := range map[string]struct {
		toEndpoints bool
		objects     []runtime.Object
		want        string
	}{
		"cluster IP":          {false, []runtime.Object{service("ClusterIP", "10.0.0.7", "")}, "https://10.0.0.7:443"},
		"external name":       {false, []runtime.Object{service("ExternalName", "", "hooks.example.com")}, "https://hooks.example.com:443"},
		"no cluster IP":       {false, []runtime.Object{service("ClusterIP", "None", "")}, ""},
		"no Service":          {false, nil, ""},
		"endpoint":            {true, []runtime.Object{service("ClusterIP", "None", ""), slice("10.1.0.9", 8443, true)}, "https://10.1.0.9:8443"},
		"no ready endpoint":   {true, []runtime.Object{service("ClusterIP", "10.0.0.7", ""), slice("10.1.0.9", 8443, false)}, ""},
		"endpoints of a name": {true, []runtime.Object{service("ExternalName", "", "hooks.example.com")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := New(t.Context(), fake.NewClientset(test.objects...), test.toEndpoints)
			require.NoError(t, err)
			found, err := r.ResolveEndpoint("user", "hook", 443)
			if test.want == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, found.String())
			_, err = r.ResolveEndpoint("user", "hook", 444)
			assert.Equal(t, name == "external name", err == nil, "a port that the Service does not have")
		})
	}
}

// hook answers with its name. It has a certificate for example.com, as the test server of the library has.
func hook(t *testing.T, name string) (server *httptest.Server, address string, port int32) {
	t.Helper()
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, "%q", name) }))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	host, text, err := net.SplitHostPort(at.Host)
	require.NoError(t, err)
	number, err := strconv.ParseInt(text, 10, 32)
	require.NoError(t, err)
	return server, host, int32(number)
}

// trusting accepts the certificate of a test server.
type trusting struct{ certificate []byte }

func (a trusting) ClientConfigFor(string) (*rest.Config, error) {
	return a.ClientConfigForService("", "", 0)
}

func (a trusting) ClientConfigForService(string, string, int) (*rest.Config, error) {
	return &rest.Config{TLSClientConfig: rest.TLSClientConfig{ServerName: "example.com", CAData: a.certificate}}, nil
}

// webhooks is a plugin that calls webhooks.
type webhooks struct {
	*admission.Handler
	*webhook.ClientManager
}

// A webhook is called without the DNS of the cluster, also after its Pod was replaced by another one.
func TestWebhookIsCalledAtItsEndpoints(t *testing.T) {
	first, address, port := hook(t, "first")
	objects := fake.NewClientset(service("ClusterIP", "None", ""), slice(address, port, true))
	r, err := New(t.Context(), objects, true)
	require.NoError(t, err)
	clients, err := webhook.NewClientManager([]schema.GroupVersion{admissionv1.SchemeGroupVersion}, admissionv1.AddToScheme)
	require.NoError(t, err)
	clients.SetAuthenticationInfoResolver(trusting{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.Certificate().Raw})})
	clients.SetServiceResolver(webhook.NewDefaultServiceResolver())
	r.Initialize(&webhooks{admission.NewHandler(), &clients})
	r.Initialize(admission.NewHandler()) // Other plugins need no address.
	ask := func() (string, error) {
		client, err := clients.HookClient(webhook.ClientConfig{
			Name: "hook", Service: &webhook.ClientConfigService{Namespace: "user", Name: "hook", Port: 443},
		})
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		answer, err := client.Post().Do(ctx).Raw()
		return string(answer), err
	}
	answer, err := ask()
	require.NoError(t, err)
	assert.Equal(t, `"first"`, answer)

	_, address, port = hook(t, "second")
	_, err = objects.DiscoveryV1().EndpointSlices("user").Update(t.Context(), slice(address, port, true), metav1.UpdateOptions{})
	require.NoError(t, err)
	first.Close()
	require.Eventually(t, func() bool {
		answer, err := ask()
		return err == nil && answer == `"second"`
	}, 10*time.Second, 10*time.Millisecond)
}

// The server starts without the right to list Services, and says later what is missing.
func TestServicesThatCannotBeListed(t *testing.T) {
	client := fake.NewClientset()
	lists := 0
	client.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		lists++
		return true, nil, assert.AnError
	})
	r, err := New(t.Context(), client, false)
	require.NoError(t, err)
	assert.Zero(t, lists, "nobody has asked yet")
	r.patience = 10 * time.Millisecond
	_, err = r.ResolveEndpoint("user", "hook", 443)
	assert.ErrorContains(t, err, "check that this server may list and watch services")
}
