package authorization

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	testingclock "k8s.io/utils/clock/testing"
)

// authority is a certificate authority.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, time.Hour)
	return a
}

// issue signs a certificate, or creates the certificate of the authority itself.
func (a *authority) issue(template *x509.Certificate, valid time.Duration) (*x509.Certificate, crypto.Signer) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template.SerialNumber, template.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Minute)
	template.NotAfter = time.Now().Add(valid)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(raw)
	require.NoError(a.t, err)
	return cert, key
}

// client returns a client's certificate that is valid for an hour.
func (a *authority) client(name string) *x509.Certificate {
	return a.clientFor(name, time.Hour)
}

func (a *authority) clientFor(name string, valid time.Duration) *x509.Certificate {
	cert, _ := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, valid)
	return cert
}

func (a *authority) bundle() dynamiccertificates.CAContentProvider {
	a.t.Helper()
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	provider, err := dynamiccertificates.NewStaticCAContent("authority", content)
	require.NoError(a.t, err)
	return provider
}

// counted counts the verifications, and lets tests replace the authority.
type counted struct {
	dynamiccertificates.CAContentProvider
	verified int
}

func (c *counted) VerifyOptions() (x509.VerifyOptions, bool) {
	c.verified++
	return c.CAContentProvider.VerifyOptions()
}

// proxyWorld is a front proxy authenticator with a clock.
type proxyWorld struct {
	t     *testing.T
	proxy *frontProxy
	ca    *counted
	names []string
	clock *testingclock.FakePassiveClock
}

func newProxyWorld(t *testing.T, trusted *authority) *proxyWorld {
	t.Helper()
	w := &proxyWorld{t: t, ca: &counted{CAContentProvider: trusted.bundle()}, names: []string{"proxy"}}
	w.clock = testingclock.NewFakePassiveClock(time.Now())
	w.proxy = newFrontProxy(&authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   w.ca,
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(func() []string { return w.names }),
		UsernameHeaders:     headerrequest.StaticStringSlice{"X-Remote-User"},
		UIDHeaders:          headerrequest.StaticStringSlice{"X-Remote-Uid"},
		GroupHeaders:        headerrequest.StaticStringSlice{"X-Remote-Group"},
		ExtraHeaderPrefixes: headerrequest.StaticStringSlice{"X-Remote-Extra-"},
	}, w.clock)
	return w
}

// user sends a request for jane with the certificates, and returns the authenticated user.
func (w *proxyWorld) user(certificates ...*x509.Certificate) string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "/", http.NoBody)
	require.NoError(w.t, err)
	req.Header.Set("X-Remote-User", "jane")
	if certificates != nil {
		req.TLS = &tls.ConnectionState{PeerCertificates: certificates}
	}
	response, ok, err := w.proxy.AuthenticateRequest(req)
	if err != nil || !ok {
		return ""
	}
	assert.Empty(w.t, req.Header.Get("X-Remote-User"), "no handler sees the headers")
	return response.User.GetName()
}

func TestCertificateOfTheFrontProxyIsVerifiedOnceAMinute(t *testing.T) {
	ca := newAuthority(t)
	w := newProxyWorld(t, ca)
	cert := ca.client("proxy")
	for range 3 {
		assert.Equal(t, "jane", w.user(cert))
	}
	assert.Equal(t, 1, w.ca.verified)
	w.clock.SetTime(w.clock.Now().Add(verifiedFor))
	assert.Equal(t, "jane", w.user(cert))
	assert.Equal(t, 2, w.ca.verified)
}

func TestWhatIsNotTheFrontProxyIsNeverTrusted(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	for name, change := range map[string]func(w *proxyWorld) []*x509.Certificate{
		"no TLS":            func(*proxyWorld) []*x509.Certificate { return nil },
		"no certificate":    func(*proxyWorld) []*x509.Certificate { return []*x509.Certificate{} },
		"another authority": func(*proxyWorld) []*x509.Certificate { return []*x509.Certificate{other.client("proxy")} },
		"another name":      func(*proxyWorld) []*x509.Certificate { return []*x509.Certificate{ca.client("jane")} },
		"a chain after another's leaf": func(*proxyWorld) []*x509.Certificate {
			return []*x509.Certificate{other.client("proxy"), ca.client("proxy")}
		},
		"an expired certificate":       func(*proxyWorld) []*x509.Certificate { return []*x509.Certificate{ca.clientFor("proxy", -time.Second)} },
		"the certificate for a server": func(*proxyWorld) []*x509.Certificate { return []*x509.Certificate{ca.cert} },
		"a name that is allowed no more": func(w *proxyWorld) []*x509.Certificate {
			w.names = []string{"another"}
			return nil
		},
		"an authority that is trusted no more": func(w *proxyWorld) []*x509.Certificate {
			w.ca.CAContentProvider = other.bundle()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newProxyWorld(t, ca)
			cert := ca.client("proxy")
			require.Equal(t, "jane", w.user(cert))
			certificates := change(w)
			if certificates == nil && name != "no TLS" {
				certificates = []*x509.Certificate{cert}
			}
			for range 2 {
				assert.Empty(t, w.user(certificates...))
			}
		})
	}
}

// A verified certificate is trusted no longer than it is valid.
func TestCertificateThatExpiresIsVerifiedAgain(t *testing.T) {
	ca := newAuthority(t)
	w := newProxyWorld(t, ca)
	cert := ca.clientFor("proxy", 10*time.Second)
	require.Equal(t, "jane", w.user(cert))
	w.clock.SetTime(cert.NotAfter.Add(-time.Second))
	require.Equal(t, "jane", w.user(cert))
	assert.Equal(t, 1, w.ca.verified)
	w.clock.SetTime(cert.NotAfter)
	w.user(cert)
	assert.Equal(t, 2, w.ca.verified)
}

func TestVerifiedCertificatesAreBounded(t *testing.T) {
	ca := newAuthority(t)
	w := newProxyWorld(t, ca)
	for range mostVerified + 1 {
		require.Equal(t, "jane", w.user(ca.client("proxy")))
	}
	assert.LessOrEqual(t, len(w.proxy.until), mostVerified)
}

func BenchmarkFrontProxy(b *testing.B) {
	t := &testing.T{}
	ca := newAuthority(t)
	w := newProxyWorld(t, ca)
	req := &http.Request{Header: http.Header{"X-Remote-User": {"jane"}}, TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{ca.client("proxy")}}}
	for b.Loop() {
		req.Header.Set("X-Remote-User", "jane")
		if _, ok, err := w.proxy.AuthenticateRequest(req); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
