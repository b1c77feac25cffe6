package certificates

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Keys of the Secret's data, besides those of the type kubernetes.io/tls.
const (
	caKey        = "ca.crt"
	caPrivateKey = "ca.key"
)

// backdate is how long before its creation a certificate becomes valid, to allow for clock differences.
const backdate = time.Hour

// material is the content of the Secret, PEM-encoded. It is passed by value and never changed in place.
type material struct {
	// bundle holds the certificate of the current authority first, then those of replaced authorities.
	bundle []byte
	// authorityKey is the private key of the current authority.
	authorityKey []byte
	// cert and key are the serving certificate and its private key.
	cert, key []byte
}

// materialOf reads a Secret. Missing keys are empty, which parseAuthority and parsePair report as errors.
func materialOf(secret *corev1.Secret) material {
	return material{
		bundle: secret.Data[caKey], authorityKey: secret.Data[caPrivateKey],
		cert: secret.Data[corev1.TLSCertKey], key: secret.Data[corev1.TLSPrivateKeyKey],
	}
}

// data returns the content in the form of a Secret.
func (m material) data() map[string][]byte {
	return map[string][]byte{
		caKey: m.bundle, caPrivateKey: m.authorityKey,
		corev1.TLSCertKey: m.cert, corev1.TLSPrivateKeyKey: m.key,
	}
}

func (m material) equal(other material) bool {
	return bytes.Equal(m.bundle, other.bundle) && bytes.Equal(m.authorityKey, other.authorityKey) &&
		bytes.Equal(m.cert, other.cert) && bytes.Equal(m.key, other.key)
}

// authority is a certificate authority with its private key.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// issuedAt returns when the certificate was created. The Secret does not record it, so it follows from NotBefore.
func issuedAt(cert *x509.Certificate) time.Time { return cert.NotBefore.Add(backdate) }

// parseAuthority returns the current authority and all trusted certificates. The certificate of the current authority comes first.
func (m material) parseAuthority() (*authority, []*x509.Certificate, error) {
	trusted, err := certutil.ParseCertsPEM(m.bundle)
	if err != nil {
		return nil, nil, fmt.Errorf("parse %s: %w", caKey, err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(m.authorityKey)
	if err != nil {
		return nil, nil, fmt.Errorf("parse %s: %w", caPrivateKey, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(trusted[0].PublicKey) {
		return nil, nil, fmt.Errorf("%s is not the key of the first certificate in %s", caPrivateKey, caKey)
	}
	return &authority{cert: trusted[0], key: key}, trusted, nil
}

// parsePair returns the serving certificate. It fails if the private key does not match.
func (m material) parsePair() (*x509.Certificate, error) {
	pair, err := tls.X509KeyPair(m.cert, m.key)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", corev1.TLSCertKey, err)
	}
	if pair.Leaf == nil {
		return nil, errors.New("no certificate")
	}
	return pair.Leaf, nil
}

// encodeCerts returns the certificates as PEM, in the given order. The first one in a bundle is the current
// authority.
func encodeCerts(certs []*x509.Certificate) []byte {
	var out []byte
	for _, cert := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: cert.Raw})...)
	}
	return out
}

// newAuthority creates a self-signed authority. Its name has the time, so old and new authorities in one bundle have
// different subjects and a verifier finds the right one.
func newAuthority(now time.Time, validity time.Duration) (*authority, []byte, error) {
	return issue(nil, &x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("kruise-apiserver-ca@%d", now.UnixNano())},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	})
}

// newPair creates a serving certificate for the names. The first one is also the common name.
func newPair(signer *authority, names []string, now time.Time, validity time.Duration) (cert, key []byte, err error) {
	issued, key, err := issue(signer, &x509.Certificate{
		Subject:               pkix.Name{CommonName: names[0]},
		DNSNames:              names,
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	})
	if err != nil {
		return nil, nil, err
	}
	return encodeCerts([]*x509.Certificate{issued.cert}), key, nil
}

// issue creates a certificate with a new key from the template. Without a signer, the certificate is self-signed.
// Each certificate gets its own key, so a renewal also replaces the key. The serial number is random, because several
// replicas issue without a common counter.
func issue(signer *authority, template *x509.Certificate) (*authority, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate key: %w", err)
	}
	if signer == nil {
		signer = &authority{cert: template, key: key}
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, nil, fmt.Errorf("generate serial number: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("parse signed certificate: %w", err)
	}
	pemKey, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode key: %w", err)
	}
	return &authority{cert: cert, key: key}, pemKey, nil
}
