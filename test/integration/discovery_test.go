//go:build integration

package integration

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kruise.io/kruise/pkg/apiserver"
)

// In each format of discovery, the first version of a group is the newest.
// Case install 2.
func TestGroupsAreDiscovered(t *testing.T) {
	t.Parallel()
	var list struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Versions []struct{ Version, Freshness string }
		}
	}
	data, err := env.kube.Discovery().RESTClient().Get().AbsPath("/apis").
		SetHeader("Accept", "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io").DoRaw(t.Context())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &list))
	first := map[string]string{}
	for _, item := range list.Items {
		first[item.Metadata.Name] = item.Versions[0].Version + " " + item.Versions[0].Freshness
	}
	groups, err := env.kube.Discovery().ServerGroups()
	require.NoError(t, err)
	preferred := map[string]string{}
	for _, group := range groups.Groups {
		preferred[group.Name] = group.PreferredVersion.Version
	}
	for group := range apiserver.GroupNames() {
		assert.Equal(t, "v1beta1", preferred[group], group)
		assert.Equal(t, "v1beta1 Current", first[group], group)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	explains(t, []string{"cloneset.spec.updateStrategy", "--recursive"},
		"VERSION:    v1beta1", "podUpdatePolicy", "enum: InPlaceIfPossible, InPlaceOnly, ReCreate")
	explains(t, []string{"cloneset.spec.template.spec.containers.image", "--api-version=apps.kruise.io/v1alpha1"}, "Container image name")
}

// explains waits until the output of kubectl explain contains all wanted texts. kube-apiserver fetches our schema shortly after the
// APIService is available.
func explains(t *testing.T, args []string, wanted ...string) {
	t.Helper()
	eventually(t, func() bool {
		out, err := kubectl(t, "", append([]string{"explain"}, args...)...)
		for _, want := range wanted {
			if !strings.Contains(out, want) {
				t.Logf("explain does not say %q yet: %v", want, err)
				return false
			}
		}
		return err == nil
	})
}

// kube-apiserver fetches the schema of each version shortly after its APIService is available, so the test waits for all of them.
func TestOpenAPIV2NamesTheKinds(t *testing.T) {
	t.Parallel()
	eventually(t, func() bool {
		data, err := env.kube.Discovery().RESTClient().Get().AbsPath("/openapi/v2").DoRaw(t.Context())
		require.NoError(t, err)
		for _, k := range kinds(t) {
			for _, version := range k.ServedVersions() {
				if !strings.Contains(string(data), `"group":"`+version.Group+`","kind":"`+k.gvk.Kind+`","version":"`+version.Version+`"`) {
					t.Logf("%s is not there yet", version.WithKind(k.gvk.Kind))
					return false
				}
			}
		}
		return true
	})
}

// Case metrics 6.
func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		data, err := env.server.get(t.Context(), path)
		require.NoError(t, err)
		assert.Equal(t, "ok", string(data))
	}
	data, err := env.server.get(t.Context(), "/readyz?verbose")
	require.NoError(t, err)
	assert.Contains(t, string(data), "[+]etcd-readiness ok")

	client, err := rest.UnversionedRESTClientFor(unversioned(&rest.Config{
		Host: env.server.url(), TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}))
	require.NoError(t, err)
	_, err = client.Get().AbsPath("/metrics").DoRaw(t.Context())
	assert.Error(t, err, "metrics are not for everyone")
}

func TestAPIServicesTrustTheServer(t *testing.T) {
	t.Parallel()
	for _, name := range apiserver.APIServices(env.gate) {
		service, err := env.aggregator.ApiregistrationV1().APIServices().Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Contains(t, string(service.Spec.CABundle), "BEGIN CERTIFICATE")
		assert.False(t, service.Spec.InsecureSkipTLSVerify)
	}
}

// The server restores the bundle after a change, and the APIService becomes available again.
// Not parallel: it changes an APIService.
func TestBundleIsRepaired(t *testing.T) {
	services := env.aggregator.ApiregistrationV1().APIServices()
	const name = "v1alpha1.apps.kruise.io"
	before, err := services.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	_, err = services.Patch(t.Context(), name, "application/merge-patch+json", []byte(`{"spec":{"caBundle":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)

	var after *apiregistrationv1.APIService
	eventually(t, func() bool {
		after, err = services.Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && len(after.Spec.CABundle) > 0
	})
	assert.Equal(t, string(before.Spec.CABundle), string(after.Spec.CABundle))
	require.NoError(t, waitAvailable(t.Context(), name))
}
