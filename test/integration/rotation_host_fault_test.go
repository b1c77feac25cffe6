//go:build integration && fault

package integration

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/utils/ptr"
)

// caReload is how long client-go uses the authority that it has read before it reads the file again.
var caReload = flag.Duration("ca-reload", 5*time.Minute, "how long client-go uses an authority; shorter only with a changed client-go")

const (
	// reviewCache is how long the apiserver remembers an answer about a token or a permission. The load needs kube-apiserver after it.
	reviewCache = 10 * time.Second
	// tokenReload is how long client-go uses the token that it has read.
	tokenReload = time.Minute
)

// TestKubeAPIServerAuthorityIsRotatedUnderLoad replaces the authority of the certificate that kube-apiserver serves with. The apiserver
// has it in a file, as a Pod has kube-root-ca.crt: both authorities, the new certificate, the new authority alone.
func TestKubeAPIServerAuthorityIsRotatedUnderLoad(t *testing.T) {
	first, second := newAuthority(t, "serving-ca-1"), newAuthority(t, "serving-ca-2")
	door := openFrontDoor(t, first)
	host := door.lead(t, env.config.Host)
	s, files := door.programAt(t, "rotated-host", pemCert(first.cert), saToken(t, env.kube, ownNamespace, "kruise-apiserver"))
	writer := newWriter(t)
	writeFile(t, files("user"), []byte(saToken(t, env.kube, writer, "writer")))
	l := startLoad(t, clientFor(t, s.as(files("user")), writer), 2)

	writeFile(t, files("ca.crt"), append(pemCert(second.cert), pemCert(first.cert)...))
	<-time.After(*caReload + reviewCache)
	door.use(t, second)
	door.restart()
	<-time.After(reviewCache)
	before := host.requests.Load()
	<-time.After(2 * reviewCache)
	assert.Greater(t, host.requests.Load(), before, "the apiserver asks kube-apiserver behind its new certificate")

	writeFile(t, files("ca.crt"), pemCert(second.cert))
	<-time.After(settle)
	l.finish(t)
	assert.Empty(t, l.failures)
	assert.True(t, s.runs())
}

// TestServiceAccountKeysAreRotatedUnderLoad replaces the key with which kube-apiserver signs the tokens of service accounts: both keys,
// new tokens, the new key alone. The apiserver and its client have their tokens in files, as Pods have.
func TestServiceAccountKeysAreRotatedUnderLoad(t *testing.T) {
	oldKey, newKey := signingKey(), filepath.Join(t.TempDir(), "service-account.key")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	data, err := keyutil.MarshalPrivateKeyToPEM(key)
	require.NoError(t, err)
	writeFile(t, newKey, data)
	serving := newAuthority(t, "serving-ca")
	door := openFrontDoor(t, serving)
	door.lead(t, env.config.Host)
	writer := newWriter(t)
	oldToken := saToken(t, env.kube, writer, "writer")
	s, files := door.programAt(t, "rotated-tokens", pemCert(serving.cert), saToken(t, env.kube, ownNamespace, "kruise-apiserver"))
	writeFile(t, files("user"), []byte(oldToken))
	user := s.as(files("user"))
	l := startLoad(t, clientFor(t, user, writer), 2)

	both := startKubeAPIServer(t, "--service-account-key-file="+oldKey, "--service-account-key-file="+newKey, "--service-account-signing-key-file="+newKey)
	door.lead(t, both)
	door.restart()
	<-time.After(reviewCache)
	issuer := clientAt(t, both)
	writeFile(t, files("token"), []byte(saToken(t, issuer, ownNamespace, "kruise-apiserver")))
	writeFile(t, files("user"), []byte(saToken(t, issuer, writer, "writer")))
	<-time.After(tokenReload + reviewCache)
	alone := startKubeAPIServer(t, "--service-account-key-file="+newKey, "--service-account-signing-key-file="+newKey)
	door.lead(t, alone)
	door.restart()
	config := rest.CopyConfig(user)
	config.BearerToken, config.BearerTokenFile = oldToken, ""
	old := clientFor(t, config, "default")
	eventually(t, func() bool {
		_, err := old.List(t.Context(), metav1.ListOptions{})
		return err != nil
	})
	<-time.After(2 * reviewCache)
	l.finish(t)
	assert.Empty(t, l.failures)
	assert.True(t, s.runs())
}

// newWriter creates a namespace with the service account "writer", which may do everything. kube-apiserver checks its tokens and its
// permissions for the apiserver.
func newWriter(t *testing.T) (namespace string) {
	t.Helper()
	namespace = newNamespace(t)
	_, err := env.kube.CoreV1().ServiceAccounts(namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "writer"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	bindings := env.kube.RbacV1().ClusterRoleBindings()
	_, err = bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "writer"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = bindings.Delete(context.WithoutCancel(t.Context()), namespace, metav1.DeleteOptions{}) })
	mayCreateCloneSets(t, "system:serviceaccount:"+namespace+":writer")
	return namespace
}

// as returns a client of the server, without the aggregation layer, that has its token in a file.
func (s *server) as(tokenFile string) *rest.Config {
	return &rest.Config{Host: s.url(), BearerTokenFile: tokenFile, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// saToken returns a token of a service account, which the kube-apiserver behind the client signs.
func saToken(t *testing.T, client kubernetes.Interface, namespace, account string) string {
	t.Helper()
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return token.Status.Token
}

// writeFile replaces a file in one step, as the kubelet does.
func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", bytes.Clone(data), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}
