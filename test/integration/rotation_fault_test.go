//go:build integration && fault

package integration

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"kruise.io/kruise/pkg/apiserver"
)

// settle is how long the load goes on after each step of a rotation.
const settle = 10 * time.Second

// authority is a certificate authority of a test.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	cert, key := (*authority)(nil).issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	return &authority{cert, key}
}

// issue signs a certificate for an hour, unless the template says otherwise. Without an authority, it signs itself.
func (a *authority) issue(t *testing.T, template *x509.Certificate) (*x509.Certificate, crypto.Signer) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	if a == nil {
		a = &authority{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return cert, key
}

// client signs a certificate of a user.
func (a *authority) client(t *testing.T, name string, groups ...string) (cert, key []byte) {
	t.Helper()
	issued, signer := a.issue(t, &x509.Certificate{
		Subject:  pkix.Name{CommonName: name, Organization: groups},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return pemCert(issued), pemKey(t, signer)
}

func pemCert(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

func pemKey(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	data, err := keyutil.MarshalPrivateKeyToPEM(key)
	require.NoError(t, err)
	return data
}

// replace writes a file and restores its content at the end of the test.
func replace(t *testing.T, path string, data []byte) {
	t.Helper()
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.WriteFile(path, before, 0o600) })
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// published waits until kube-apiserver has published that many authorities of one kind.
func published(t *testing.T, key string, count int) {
	t.Helper()
	eventually(t, func() bool {
		object, err := env.kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
		require.NoError(t, err)
		return strings.Count(object.Data[key], "BEGIN CERTIFICATE") == count
	})
}

// withdrawAuthorities leaves only these authorities of one kind. kube-apiserver never removes one that it has published before.
func withdrawAuthorities(t *testing.T, key string, left []byte) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"data": map[string]string{key: string(left)}})
	require.NoError(t, err)
	_, err = env.kube.CoreV1().ConfigMaps("kube-system").Patch(context.WithoutCancel(t.Context()), "extension-apiserver-authentication",
		types.MergePatchType, data, metav1.PatchOptions{})
	require.NoError(t, err)
}

// accepts says whether a server takes a client certificate.
func (s *server) accepts(t *testing.T, cert, key []byte, headers ...string) bool {
	t.Helper()
	config := &rest.Config{Host: s.url(), TLSClientConfig: rest.TLSClientConfig{Insecure: true, CertData: cert, KeyData: key}}
	for i := 0; i+1 < len(headers); i += 2 {
		config.Wrap(withHeader(headers[i], headers[i+1]))
	}
	client, err := rest.UnversionedRESTClientFor(unversioned(config))
	require.NoError(t, err)
	return client.Get().RequestURI("/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets").Do(t.Context()).Error() == nil
}

// TestFrontProxyAuthorityIsRotatedUnderLoad replaces the authority and the certificate with which kube-apiserver calls the apiserver:
// both authorities, the new certificate, the new authority alone.
func TestFrontProxyAuthorityIsRotatedUnderLoad(t *testing.T) {
	certFile, keyFile, clusterCA := env.cluster.Credentials("front-proxy")
	caFile := filepath.Join(filepath.Dir(clusterCA), "front-proxy-ca.crt")
	oldCA, oldCert, oldKey := read(t, caFile), read(t, certFile), read(t, keyFile)
	t.Cleanup(func() { // The last cleanup. kube-apiserver takes a moment to read its files again.
		<-time.After(settle)
		withdrawAuthorities(t, "requestheader-client-ca-file", oldCA)
	})
	fresh := newAuthority(t, "front-proxy-ca-2")
	cert, key := fresh.client(t, "front-proxy-client")
	asAdmin := []string{"X-Remote-User", "admin", "X-Remote-Group", "system:masters"}
	l := startLoad(t, env.kruise.AppsV1beta1().CloneSets(newNamespace(t)), 4)

	replace(t, caFile, append(pemCert(fresh.cert), oldCA...))
	published(t, "requestheader-client-ca-file", 2)
	eventually(t, func() bool { return env.server.accepts(t, cert, key, asAdmin...) })
	<-time.After(settle)
	replace(t, keyFile, key)
	replace(t, certFile, cert)
	<-time.After(settle)
	require.NoError(t, os.WriteFile(caFile, pemCert(fresh.cert), 0o600))
	<-time.After(settle) // kube-apiserver adds what its file has to the ConfigMap.
	withdrawAuthorities(t, "requestheader-client-ca-file", pemCert(fresh.cert))
	eventually(t, func() bool { return !env.server.accepts(t, oldCert, oldKey, asAdmin...) })
	<-time.After(settle)
	l.finish(t)
	assert.Empty(t, l.failures)

	// Back, with overlap too, for the tests that follow.
	require.NoError(t, os.WriteFile(caFile, append(pemCert(fresh.cert), oldCA...), 0o600))
	eventually(t, func() bool { return env.server.accepts(t, oldCert, oldKey, asAdmin...) })
}

// TestClusterAuthorityIsRotatedUnderLoad replaces the authority of the cluster's users. Clients change to certificates of the new one
// while both are trusted.
func TestClusterAuthorityIsRotatedUnderLoad(t *testing.T) {
	_, _, caFile := env.cluster.Credentials("admin")
	oldCA := read(t, caFile)
	fresh := newAuthority(t, "ca-2")
	cert, key := fresh.client(t, "admin", "system:masters")
	namespace := newNamespace(t)
	before := startLoad(t, env.server.client(t, namespace), 2)
	proxied := startLoad(t, env.kruise.AppsV1beta1().CloneSets(newNamespace(t)), 2)

	replace(t, caFile, append(pemCert(fresh.cert), oldCA...))
	published(t, "client-ca-file", 2)
	eventually(t, func() bool { return env.server.accepts(t, cert, key) })
	config := rest.CopyConfig(env.config)
	config.Host, config.TLSClientConfig = env.server.url(), rest.TLSClientConfig{Insecure: true, CertData: cert, KeyData: key}
	after := startLoad(t, clientFor(t, config, newNamespace(t)), 2)
	<-time.After(settle)
	for _, l := range []*load{before, proxied, after} {
		l.finish(t)
		assert.Empty(t, l.failures)
	}
	require.NoError(t, os.WriteFile(caFile, oldCA, 0o600))
	<-time.After(settle) // kube-apiserver adds what its file has to the ConfigMap.
	withdrawAuthorities(t, "client-ca-file", oldCA)
	eventually(t, func() bool { return !env.server.accepts(t, cert, key) })
}

// TestServingCertificateIsRotatedUnderLoad gives the server an authority that expires soon. It creates a new one, publishes both,
// and changes to a certificate of the new one when every kube-apiserver must have noticed.
func TestServingCertificateIsRotatedUnderLoad(t *testing.T) {
	secrets := env.kube.CoreV1().Secrets(ownNamespace)
	secret, err := secrets.Get(t.Context(), certificateSecret, metav1.GetOptions{})
	require.NoError(t, err)
	current, err := certutil.ParseCertsPEM(secret.Data[corev1.TLSCertKey])
	require.NoError(t, err)
	// Less than a third of its lifetime is left.
	old := func(template *x509.Certificate) *x509.Certificate {
		template.NotBefore, template.NotAfter = time.Now().Add(-100*time.Hour), time.Now().Add(time.Hour)
		return template
	}
	agedCA, agedKey := (*authority)(nil).issue(t, old(&x509.Certificate{
		Subject: pkix.Name{CommonName: "kruise-apiserver-ca@aged"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}))
	pair, pairKey := (&authority{agedCA, agedKey}).issue(t, old(&x509.Certificate{
		Subject: pkix.Name{CommonName: "kruise-apiserver"}, DNSNames: current[0].DNSNames,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}))
	secret.Data = map[string][]byte{
		"ca.crt": pemCert(agedCA), "ca.key": pemKey(t, agedKey), corev1.TLSCertKey: pemCert(pair), corev1.TLSPrivateKeyKey: pemKey(t, pairKey),
	}
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool { return served(t, env.server) == string(pair.Raw) })
	for _, name := range apiserver.APIServices(env.gate) {
		require.NoError(t, waitAvailable(t.Context(), name))
	}
	<-time.After(settle) // The change to the aged certificate had no overlap.

	l := startLoad(t, env.kruise.AppsV1beta1().CloneSets(newNamespace(t)), 4)
	began := time.Now()
	for served(t, env.server) == string(pair.Raw) {
		require.Less(t, time.Since(began), 4*time.Minute)
		<-time.After(time.Second)
	}
	t.Logf("the certificate changed after %s", time.Since(began).Round(time.Second))
	service, err := env.aggregator.ApiregistrationV1().APIServices().Get(t.Context(), "v1beta1.apps.kruise.io", metav1.GetOptions{})
	require.NoError(t, err)
	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM(service.Spec.CABundle))
	now, err := x509.ParseCertificate([]byte(served(t, env.server)))
	require.NoError(t, err)
	for _, cert := range []*x509.Certificate{pair, now} {
		_, err = cert.Verify(x509.VerifyOptions{Roots: trusted, DNSName: "kruise-apiserver." + ownNamespace + ".svc"})
		assert.NoError(t, err, "both are trusted, so that replicas need not change at once")
	}
	<-time.After(settle)
	l.finish(t)
	assert.Empty(t, l.failures)
	assert.True(t, env.server.runs())
}

// TestEtcdClientCertificateIsRotatedUnderLoad replaces the files of the client certificate. The server uses them for its next
// connection, without a restart.
func TestEtcdClientCertificateIsRotatedUnderLoad(t *testing.T) {
	dir := filepath.Join(env.dir, "rotated-etcd")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data ...[]byte) {
		var all []byte
		for _, each := range data {
			all = append(all, each...)
		}
		require.NoError(t, os.WriteFile(path(name), all, 0o600))
	}
	first, second := newAuthority(t, "etcd-ca-1"), newAuthority(t, "etcd-ca-2")
	serving, servingKey := first.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "etcd"}, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	write("server.crt", pemCert(serving))
	write("server.key", pemKey(t, servingKey))
	write("ca.crt", pemCert(first.cert))
	cert, key := first.client(t, "kruise")
	write("client.crt", cert)
	write("client.key", key)
	_, endpoint := etcdAt(t, "rotated-etcd-data")
	endpoint = strings.Replace(endpoint, "http:", "https:", 1)
	start := func(trusted ...*authority) (stop func()) {
		var bundle []byte
		for _, each := range trusted {
			bundle = append(bundle, pemCert(each.cert)...)
		}
		write("trusted.crt", bundle)
		command := exec.CommandContext(t.Context(), env.cluster.Binary("etcd"), "--data-dir="+path("data"), "--listen-client-urls="+endpoint,
			"--advertise-client-urls="+endpoint, "--listen-peer-urls=http://127.0.0.1:0", "--log-level=error", "--unsafe-no-fsync",
			"--client-cert-auth", "--trusted-ca-file="+path("trusted.crt"), "--cert-file="+path("server.crt"), "--key-file="+path("server.key"))
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		require.NoError(t, command.Start())
		return func() { _ = command.Process.Kill(); _ = command.Wait() }
	}
	stop := start(first, second)
	s := alone(t, "rotated-etcd-server", "--etcd-servers="+endpoint, "--etcd-cafile="+path("ca.crt"), "--etcd-certfile="+path("client.crt"),
		"--etcd-keyfile="+path("client.key"))
	namespace := newNamespace(t)
	l := startLoad(t, s.client(t, namespace), 4)
	<-time.After(settle / 2)
	cert, key = second.client(t, "kruise")
	write("client.key", key)
	write("client.crt", cert)
	<-time.After(settle / 2)
	l.finish(t)
	assert.Empty(t, l.failures)

	stop()
	t.Cleanup(start(second))
	eventually(t, func() bool {
		_, err := s.get(t.Context(), "/readyz")
		return err == nil
	})
	s.reads(t, namespace)
	l = startLoad(t, s.client(t, newNamespace(t)), 4)
	<-time.After(settle / 2)
	l.finish(t)
	assert.Empty(t, l.failures)
	assert.True(t, s.runs())
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}
