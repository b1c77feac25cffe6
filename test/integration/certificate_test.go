//go:build integration

package integration

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"

	"kruise.io/kruise/pkg/apiserver"
)

const certificateSecret = "kruise-apiserver-certs"

// served returns the certificate that a server presents to a new connection, or "".
func served(t *testing.T, s *server) string {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // What it shows is looked at.
	connection, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	if err != nil {
		return ""
	}
	defer func() { _ = connection.Close() }()
	return string(connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw)
}

func first(t *testing.T, certs []byte) string {
	t.Helper()
	block, _ := pem.Decode(certs)
	require.NotNil(t, block)
	return string(block.Bytes)
}

// runs reports whether the process still runs.
func (s *server) runs() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

func TestCertificateFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write := func() string {
		cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(keyFile, key, 0o600))
		require.NoError(t, os.WriteFile(certFile, cert, 0o600))
		return first(t, cert)
	}
	before := write()
	s := alone(t, "files", "--tls-cert-file="+certFile, "--tls-private-key-file="+keyFile)
	require.Equal(t, before, served(t, s))
	after := write()
	eventually(t, func() bool { return served(t, s) == after })
	assert.True(t, s.runs())
}

// After the loss of its Secret, the server issues new certificates without a restart.
// Not parallel: the certificates are those of all servers.
func TestLostCertificatesAreReplaced(t *testing.T) {
	services := env.aggregator.ApiregistrationV1().APIServices()
	before := served(t, env.server)
	require.NoError(t, env.kube.CoreV1().Secrets(ownNamespace).Delete(t.Context(), certificateSecret, metav1.DeleteOptions{}))
	eventually(t, func() bool {
		now := served(t, env.server)
		return now != "" && now != before
	})
	assert.True(t, env.server.runs())
	secret, err := env.kube.CoreV1().Secrets(ownNamespace).Get(t.Context(), certificateSecret, metav1.GetOptions{})
	require.NoError(t, err)
	for _, name := range apiserver.APIServices(env.gate) {
		require.NoError(t, waitAvailable(t.Context(), name))
		service, err := services.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, string(secret.Data["ca.crt"]), string(service.Spec.CABundle))
	}
	namespace := newNamespace(t)
	eventually(t, func() bool {
		_, err := env.kruise.AppsV1beta1().CloneSets(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
}

// Replicas that start together without a Secret agree on one, and serve the same objects.
// Not parallel: the certificates are those of all servers.
// Case install 8.
func TestReplicasShareCertificateAndStore(t *testing.T) {
	require.NoError(t, env.kube.CoreV1().Secrets(ownNamespace).Delete(t.Context(), certificateSecret, metav1.DeleteOptions{}))
	cert, key, ca := env.cluster.Credentials("etcd-client")
	network, err := env.cluster.Network()
	require.NoError(t, err)
	replicas, errs := make([]*server, 2), make([]error, 2)
	var group sync.WaitGroup
	for i := range replicas {
		group.Go(func() {
			replicas[i], errs[i] = startServer(t.Context(), "replica-"+strconv.Itoa(i), "--etcd-servers="+network.EtcdEndpoint(),
				"--etcd-prefix=/replicas-"+strconv.Itoa(os.Getpid()), "--etcd-cafile="+ca, "--etcd-certfile="+cert, "--etcd-keyfile="+key)
		})
	}
	group.Wait()
	for i, replica := range replicas {
		if errs[i] == nil { // A replica that did not become ready is killed already.
			t.Cleanup(replica.kill)
		}
	}
	require.NoError(t, errors.Join(errs...))
	eventually(t, func() bool {
		secret, err := env.kube.CoreV1().Secrets(ownNamespace).Get(t.Context(), certificateSecret, metav1.GetOptions{})
		if err != nil {
			return false
		}
		want := first(t, secret.Data["tls.crt"])
		return served(t, replicas[0]) == want && served(t, replicas[1]) == want && served(t, env.server) == want
	})

	namespace := newNamespace(t)
	a, b := replicas[0].client(t, namespace), replicas[1].client(t, namespace)
	written := create(t, a, newCloneSet("demo"))
	read, err := b.Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, written.UID, read.UID)
	read.Spec.MinReadySeconds = 3
	_, err = b.Update(t.Context(), read, metav1.UpdateOptions{})
	require.NoError(t, err)
	list, err := a.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	assert.Equal(t, int32(3), list.Items[0].Spec.MinReadySeconds)

	replicas[0].stop()
	_, err = b.Get(t.Context(), "demo", metav1.GetOptions{})
	assert.NoError(t, err, "the other one goes on")
}
