package authorization

import (
	"bytes"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/utils/clock"
)

const (
	// verifiedFor is how long a verified certificate is trusted before its chain is verified again. An intermediate or root certificate
	// that expires is noticed with this delay.
	verifiedFor = time.Minute
	// mostVerified limits the certificates that are remembered. Each kube-apiserver has one.
	mostVerified = 64
)

// frontProxy authenticates the users in the headers of requests with a certificate of the front proxy. It verifies a certificate once a
// minute and after each change of the trusted authorities or names, because verification is the most expensive part of a short
// request. TLS has proven for each connection that the client has the key.
type frontProxy struct {
	// verifier verifies the certificate of a request, and calls remember.
	verifier  authenticator.Request
	headers   authenticator.Request
	authority dynamiccertificates.CAContentProvider
	names     headerrequest.StringSliceProvider
	clock     clock.PassiveClock

	lock sync.RWMutex
	// trusted are the authorities and names with which the certificates were verified.
	trusted trust
	// until is when a certificate must be verified again, by its DER encoding.
	until map[string]time.Time
}

// trust is a bundle of authorities, and the names that a certificate may have.
type trust struct {
	bundle []byte
	names  []string
}

// equal compares the content, because the file or ConfigMap behind it can be reloaded without a change.
func (t *trust) equal(other *trust) bool {
	return bytes.Equal(t.bundle, other.bundle) && slices.Equal(t.names, other.names)
}

// newFrontProxy returns an authenticator with the same rules as the one of the generic server.
func newFrontProxy(config *authenticatorfactory.RequestHeaderConfig, now clock.PassiveClock) *frontProxy {
	p := &frontProxy{
		headers: headerrequest.NewDynamic(
			config.UsernameHeaders, config.UIDHeaders, config.GroupHeaders, config.ExtraHeaderPrefixes),
		authority: config.CAContentProvider, names: config.AllowedClientNames, clock: now,
	}
	// The verifier must not use the headers itself: they are removed from the request when they are read.
	verified := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) { return nil, true, nil })
	p.verifier = x509request.NewDynamicCAVerifier(p.authority.VerifyOptions, verified, p.names)
	return p
}

// AuthenticateRequest implements authenticator.Request. It returns false, without an error, for a request without a
// client certificate. The caller then tries the other ways to authenticate.
func (p *frontProxy) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	// They are read before verification: if they change meanwhile, the result is kept for the old ones and is not used.
	current := &trust{bundle: p.authority.CurrentCABundleContent(), names: p.names.Value()}
	certificate, now := req.TLS.PeerCertificates[0], p.clock.Now()
	if !p.knows(certificate.Raw, current, now) {
		if _, ok, err := p.verifier.AuthenticateRequest(req); err != nil || !ok {
			return nil, false, err
		}
		// A result never outlives the certificate itself.
		until := now.Add(verifiedFor)
		if certificate.NotAfter.Before(until) {
			until = certificate.NotAfter
		}
		p.remember(certificate.Raw, current, until)
	}
	return p.headers.AuthenticateRequest(req)
}

// knows reports whether the certificate was verified with the current authorities and names, and may still be
// trusted. A nil map knows nothing.
func (p *frontProxy) knows(certificate []byte, current *trust, now time.Time) bool {
	p.lock.RLock()
	defer p.lock.RUnlock()
	return now.Before(p.until[string(certificate)]) && p.trusted.equal(current)
}

// remember keeps a result. If the authorities or names have changed, or if too many certificates are remembered, it
// starts again with an empty map: each certificate is then verified once more.
func (p *frontProxy) remember(certificate []byte, current *trust, until time.Time) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.until == nil || len(p.until) >= mostVerified || !p.trusted.equal(current) {
		p.until = map[string]time.Time{}
		p.trusted = trust{bundle: bytes.Clone(current.bundle), names: slices.Clone(current.names)}
	}
	p.until[string(certificate)] = until
}
