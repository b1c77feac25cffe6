//go:build integration

package integration

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

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

func TestOwnAccountsNeedNoReview(t *testing.T) {
	namespace := newNamespace(t)
	cloneSet := create(t, env.kruise.AppsV1beta1().CloneSets(namespace), newCloneSet("demo"))
	manager := clientFor(t, as(t, "kruise-manager"), namespace)
	before := reviews(t)
	for i := range 5 {
		cloneSet.Status.Replicas = int32(i)
		updated, err := manager.UpdateStatus(t.Context(), cloneSet, metav1.UpdateOptions{})
		require.NoError(t, err)
		cloneSet = updated
	}
	_, err := manager.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, before, reviews(t))

	err = manager.Delete(t.Context(), "demo", metav1.DeleteOptions{})
	assert.True(t, apierrors.IsForbidden(err), "what the rules do not grant: %v", err)
}

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

	_, err = clientFor(t, past, namespace).Create(t.Context(), newCloneSet("other"), metav1.CreateOptions{})
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
