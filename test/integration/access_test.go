//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

var reviewed = regexp.MustCompile(`(?m)^apiserver_delegated_authz_request_total\{code="201"\} (\d+)$`)

// reviews returns how many SubjectAccessReviews the server has sent.
func reviews(t *testing.T) int {
	t.Helper()
	data, err := env.server.get(t.Context(), "/metrics")
	require.NoError(t, err)
	match := reviewed.FindSubmatch(data)
	if match == nil {
		return 0
	}
	count, err := strconv.Atoi(string(match[1]))
	require.NoError(t, err)
	return count
}

// as returns the client configuration of one of our service accounts.
func as(t *testing.T, account string) *rest.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, writeKubeconfig(t.Context(), path, account))
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	return config
}

func clientFor(t *testing.T, config *rest.Config, namespace string) typed.CloneSetInterface {
	t.Helper()
	client, err := versioned.NewForConfig(config)
	require.NoError(t, err)
	return client.AppsV1beta1().CloneSets(namespace)
}

// through returns the configuration of a client with a token that sends its requests through kube-apiserver.
func through(token string) *rest.Config {
	config := rest.AnonymousClientConfig(env.config)
	config.BearerToken = token
	return config
}

// Not parallel: it counts the reviews that the shared server asks for.
func TestProxiedRequestsNeedNoReview(t *testing.T) {
	namespace := newNamespace(t)
	const count = 40 // A slow machine gives kube-apiserver more time to ask for documents of its own.
	for i := range count {
		create(t, env.kruise.AppsV1beta1().CloneSets(namespace), newCloneSet(fmt.Sprintf("demo-%d", i)))
	}
	manager := as(t, "kruise-manager")
	manager.QPS = -1
	for name, client := range map[string]typed.CloneSetInterface{
		"controllers":    clientFor(t, manager, namespace),
		"ordinary users": clientFor(t, through(editorToken(t, namespace, "editor", "get", "list", "patch", "update")), namespace),
	} {
		eventually(t, func() bool { // The role comes a moment later.
			_, err := client.List(t.Context(), metav1.ListOptions{})
			return err == nil
		})
		before := reviews(t)
		for i := range count { // A review would be asked for each name.
			body := []byte(`{"metadata":{"labels":{"a":"` + strings.Fields(name)[0] + `"}}}`)
			_, err := client.Patch(t.Context(), fmt.Sprintf("demo-%d", i), types.MergePatchType, body, metav1.PatchOptions{})
			require.NoError(t, err, name)
		}
		assert.Less(t, reviews(t)-before, count/2, "%s: kube-apiserver itself asks for a few documents meanwhile", name)
		err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
		assert.True(t, apierrors.IsForbidden(err), "what the rules do not grant to %s: %v", name, err)
	}
}

// A proxied request allows only itself. A user who may patch, and not create, cannot create an object by server-side apply, and nobody
// gets the rights of another user by the headers of the front proxy or of impersonation.
func TestProxiedRequestAllowsNothingElse(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	create(t, env.kruise.AppsV1beta1().CloneSets(namespace), newCloneSet("demo"))
	config := through(editorToken(t, namespace, "patcher", "get", "patch"))
	client := clientFor(t, config, namespace)
	const label = `{"metadata":{"labels":{"a":"b"}}}`
	eventually(t, func() bool { // The role comes a moment later.
		_, err := client.Patch(t.Context(), "demo", types.MergePatchType, []byte(label), metav1.PatchOptions{})
		return err == nil
	})
	applied := newCloneSet("new")
	applied.TypeMeta = metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "CloneSet"}
	body, err := json.Marshal(applied)
	require.NoError(t, err)
	_, err = client.Patch(t.Context(), "new", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "test"})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)

	for header, value := range map[string]string{
		"X-Remote-User": "kubernetes-admin", "X-Remote-Group": "system:masters", "Impersonate-User": "kubernetes-admin",
	} {
		forged := rest.CopyConfig(config)
		forged.Wrap(withHeader(header, value))
		err := clientFor(t, forged, namespace).Delete(t.Context(), "demo", metav1.DeleteOptions{})
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", header, err)
	}
}

// Not parallel: it counts the reviews that the shared server asks for.
func TestOtherUsersNeedAReview(t *testing.T) {
	namespace := newNamespace(t)
	create(t, env.kruise.AppsV1beta1().CloneSets(namespace), newCloneSet("demo"))
	manager := as(t, "kruise-manager")

	before := reviews(t)
	past := rest.CopyConfig(manager)
	past.Host, past.CAFile, past.CAData, past.Insecure = env.server.url(), "", nil, true
	_, err := clientFor(t, past, namespace).Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Greater(t, reviews(t), before, "past the aggregation layer")

	err = clientFor(t, past, namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)

	nobody := rest.CopyConfig(past)
	nobody.BearerToken = ""
	_, err = clientFor(t, nobody, namespace).Get(t.Context(), "demo", metav1.GetOptions{})
	assert.True(t, apierrors.IsForbidden(err), "anonymous: %v", err)

	forged := rest.CopyConfig(nobody)
	forged.Wrap(withHeader("X-Remote-User", "system:serviceaccount:kruise-system:kruise-manager"))
	_, err = clientFor(t, forged, namespace).Get(t.Context(), "demo", metav1.GetOptions{})
	assert.True(t, apierrors.IsForbidden(err), "a header is no proof: %v", err)
}
