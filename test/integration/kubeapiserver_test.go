//go:build integration

package integration

import (
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// startKubeAPIServer starts one more kube-apiserver on the etcd of the cluster, with other flags for service accounts. It returns its
// address when it serves Kruise objects.
func startKubeAPIServer(t *testing.T, flags ...string) string {
	t.Helper()
	port, err := freePort(t.Context())
	require.NoError(t, err)
	network, err := env.cluster.Network()
	require.NoError(t, err)
	cert, key, ca := env.cluster.Credentials("apiserver")
	etcdCert, etcdKey, _ := env.cluster.Credentials("etcd-client")
	proxyCert, proxyKey, _ := env.cluster.Credentials("front-proxy")
	command := exec.CommandContext(t.Context(), env.cluster.Binary("kube-apiserver"), append([]string{
		"--etcd-servers=" + network.EtcdEndpoint(), "--etcd-cafile=" + ca, "--etcd-certfile=" + etcdCert, "--etcd-keyfile=" + etcdKey,
		"--secure-port=" + strconv.Itoa(port), "--advertise-address=" + env.hostIP, "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + cert, "--tls-private-key-file=" + key, "--client-ca-file=" + ca,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--requestheader-client-ca-file=" + filepath.Join(filepath.Dir(ca), "front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User", "--proxy-client-cert-file=" + proxyCert, "--proxy-client-key-file=" + proxyKey,
		"--authorization-mode=Node,RBAC", "--service-cluster-ip-range=" + network.ServiceCIDR(), "--enable-aggregator-routing=true",
	}, flags...)...)
	var log strings.Builder
	command.Stderr = &log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("%s", tail([]byte(log.String()), 3000))
		}
	})
	config := rest.CopyConfig(env.config)
	config.Host = (&url.URL{Scheme: "https", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}).String()
	client, kube := clientFor(t, config, "default"), clientAt(t, config.Host)
	eventually(t, func() bool { // It has all roles, and reaches the apiserver.
		if _, err := kube.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context()); err != nil {
			return false
		}
		_, err := client.List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	return config.Host
}

// clientAt returns a client of the kube-apiserver with an address.
func clientAt(t *testing.T, host string) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(env.config)
	config.Host = host
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

// signingKey returns the file of the key with which the kube-apiserver of the cluster signs the tokens of service accounts.
func signingKey() string {
	_, _, ca := env.cluster.Credentials("apiserver")
	return filepath.Join(filepath.Dir(ca), "service-account.key")
}
