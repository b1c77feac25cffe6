package localcluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The front proxy has an authority of its own, because kube-apiserver trusts the user names in requests with its certificates.
const (
	clusterCA = "ca"
	frontCA   = "front-proxy-ca"
	// tenYears is longer than the life of any local cluster, so nothing is rotated.
	tenYears = 10 * 365 * 24 * time.Hour
)

// identity describes a certificate: its user as a client, and its names as a server. file is the name of its files
// without their endings, and ca the authority that signs it.
type identity struct {
	file   string
	ca     string
	cn     string
	groups []string
	names  []string
	// kubeconfig also writes a kubeconfig with the certificate.
	kubeconfig bool
}

// identities lists all certificates of a cluster, with the user names that the default RBAC of Kubernetes expects.
func identities(n Network, nodes int) []identity {
	local := []string{"localhost", "127.0.0.1", n.ControlPlaneIP(), n.gatewayIP()}
	api := append([]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		n.APIServiceIP()}, local...)
	list := []identity{
		{file: "apiserver", ca: clusterCA, cn: "kube-apiserver", names: api},
		{file: "etcd", ca: clusterCA, cn: "etcd", names: local},
		{file: "etcd-client", ca: clusterCA, cn: "etcd-client"},
		{file: "kubelet-client", ca: clusterCA, cn: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}},
		{file: "front-proxy", ca: frontCA, cn: "front-proxy-client"},
		{file: "admin", ca: clusterCA, cn: "admin", groups: []string{"system:masters"}, kubeconfig: true},
		{file: "controller-manager", ca: clusterCA, cn: "system:kube-controller-manager", names: local, kubeconfig: true},
		{file: "scheduler", ca: clusterCA, cn: "system:kube-scheduler", names: local, kubeconfig: true},
		{file: "proxy", ca: clusterCA, cn: "system:kube-proxy", kubeconfig: true},
		{file: "metrics-server", ca: clusterCA, cn: "system:metrics-server", kubeconfig: true,
			names: append([]string{"metrics-server.kube-system.svc"}, local...)},
		{file: "provisioner", ca: clusterCA, cn: "system:local-provisioner", kubeconfig: true},
		{file: "kwok", ca: clusterCA, cn: "kwok", groups: []string{"system:masters"}, kubeconfig: true},
	}
	for i := 1; i <= nodes; i++ {
		name := nodeName(i)
		list = append(list, identity{file: name, ca: clusterCA, cn: "system:node:" + name, groups: []string{"system:nodes"},
			names: []string{name, n.NodeIP(i)}, kubeconfig: true})
	}
	return list
}

// pki issues the certificates that are missing in dir. It keeps existing ones, so a restarted cluster keeps its identity.
type pki struct {
	dir string
	api string
}

func (p pki) cert(name string) string       { return filepath.Join(p.dir, name+".crt") }
func (p pki) key(name string) string        { return filepath.Join(p.dir, name+".key") }
func (p pki) kubeconfig(name string) string { return filepath.Join(p.dir, name+".conf") }

// ensure creates what is missing: the authorities first, then the key of service accounts, then the certificates.
func (p pki) ensure(list []identity) error {
	for _, ca := range []string{clusterCA, frontCA} {
		if err := p.ensureCA(ca); err != nil {
			return fmt.Errorf("create authority %s: %w", ca, err)
		}
	}
	if err := p.ensureServiceAccountKey(); err != nil {
		return fmt.Errorf("create the service account key: %w", err)
	}
	for _, id := range list {
		if err := p.ensureIdentity(id); err != nil {
			return fmt.Errorf("issue certificate %s: %w", id.file, err)
		}
	}
	return nil
}

// ensureCA creates an authority unless it exists.
func (p pki) ensureCA(name string) error {
	if exists(p.cert(name)) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := certificate(name, nil)
	if err != nil {
		return err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	return p.write(name, der, key)
}

// ensureIdentity issues a certificate unless it exists, and writes its kubeconfig.
func (p pki) ensureIdentity(id identity) error {
	if !exists(p.cert(id.file)) {
		if err := p.issue(id); err != nil {
			return err
		}
	}
	if !id.kubeconfig || exists(p.kubeconfig(id.file)) {
		return nil
	}
	config, err := p.renderKubeconfig(id.file)
	if err != nil {
		return err
	}
	return writeFile(p.kubeconfig(id.file), config, 0o600)
}

// issue signs a certificate that serves both as a client and as a server.
func (p pki) issue(id identity) error {
	issuer, issuerKey, err := p.load(id.ca)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := certificate(id.cn, id.groups)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	// Components use one certificate for both roles.
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	for _, name := range id.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), issuerKey)
	if err != nil {
		return err
	}
	return p.write(id.file, der, key)
}

// certificate returns the fields that all certificates have. It is valid from an hour ago, for clocks of the machine
// that are set back.
func certificate(cn string, groups []string) (*x509.Certificate, error) {
	const serialBits = 127
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: cn, Organization: groups},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(tenYears),
	}, nil
}

// load reads an authority with its key.
func (p pki) load(ca string) (*x509.Certificate, crypto.Signer, error) {
	certPEM, err := os.ReadFile(p.cert(ca))
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err := os.ReadFile(p.key(ca))
	if err != nil {
		return nil, nil, err
	}
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, nil, fmt.Errorf("authority %s in %s is damaged: remove the folder", ca, p.dir)
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	return cert, key, err
}

// write stores the key before the certificate. So if a certificate exists, it is complete.
func (p pki) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	if err := p.writeKey(name, key); err != nil {
		return err
	}
	return writeFile(p.cert(name), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

// writeKey stores a private key, readable by its owner only.
func (p pki) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writeFile(p.key(name), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// ensureServiceAccountKey creates the key that signs tokens. It has no certificate.
func (p pki) ensureServiceAccountKey() error {
	if exists(p.key("service-account")) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return p.writeKey("service-account", key)
}

// renderKubeconfig embeds the credentials, so that the file can be copied.
func (p pki) renderKubeconfig(name string) ([]byte, error) {
	var data [3][]byte
	for i, path := range []string{p.cert(clusterCA), p.cert(name), p.key(name)} {
		var err error
		if data[i], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["local"] = &clientcmdapi.Cluster{Server: p.api, CertificateAuthorityData: data[0]}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: data[1], ClientKeyData: data[2]}
	config.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: name}
	config.CurrentContext = "local"
	return clientcmd.Write(*config)
}

// exists returns true if there is a file or folder at the path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
