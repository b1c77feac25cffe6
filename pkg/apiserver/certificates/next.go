package certificates

import (
	"crypto/x509"
	"slices"
	"time"
)

// Policy sets the lifetimes of certificates.
type Policy struct {
	// AuthorityValidity and ServingValidity are the lifetimes of the certificates. Each certificate is renewed when less than
	// a third of its lifetime is left. So an authority must live more than three times as long as a serving certificate.
	AuthorityValidity, ServingValidity time.Duration
	// PublishDelay is how long a new authority is in the bundle before it signs the served certificate. Every
	// kube-apiserver must notice the bundle within this time.
	PublishDelay time.Duration
	// Overlap is how long a replaced authority stays in the bundle. Every replica must serve the new certificate within this time.
	Overlap time.Duration
}

// DefaultPolicy is the policy for production. The authority lives much longer than a serving certificate, because its
// renewal changes the bundle of every APIService.
var DefaultPolicy = Policy{
	AuthorityValidity: 3 * 365 * 24 * time.Hour,
	ServingValidity:   90 * 24 * time.Hour,
	PublishDelay:      2 * time.Minute,
	Overlap:           24 * time.Hour,
}

// next returns the content that the Secret should have now. It replaces unreadable content. It changes at most one
// thing about the authority at each call: start a first one, add a new one, or drop old ones. The result equals have
// if nothing is due.
func (p Policy) next(have material, names []string, now time.Time) (material, error) {
	want := have
	signer, trusted, err := have.parseAuthority()
	switch {
	// There is no usable authority. The old ones are not kept: they are unreadable or have expired.
	case err != nil || !now.Before(signer.cert.NotAfter):
		signer, trusted, err = p.start(&want, nil, now)
	// The new authority signs later, see pairIsDue. Until then the old certificate is served, and the bundle has
	// both. An authority that is not valid yet was made by a clock that was ahead. It stays in the bundle too, because a kube-apiserver
	// whose clock is ahead still trusts it.
	case now.Before(signer.cert.NotBefore) || due(signer.cert, now):
		signer, trusted, err = p.start(&want, trusted, now)
	// The old authorities are dropped only after all replicas have had time to serve a certificate of the new one.
	case len(trusted) > 1 && now.After(issuedAt(signer.cert).Add(p.Overlap)) && signedBy(have, signer):
		want.bundle = encodeCerts(trusted[:1])
	}
	if err != nil {
		return have, err
	}
	if !p.pairIsDue(want, signer, trusted, names, now) {
		return want, nil
	}
	if want.cert, want.key, err = newPair(signer, names, now, p.ServingValidity); err != nil {
		return have, err
	}
	return want, nil
}

// start creates a new authority and puts it first in the bundle. It keeps the other unexpired authorities behind it.
func (p Policy) start(want *material, others []*x509.Certificate, now time.Time) (*authority, []*x509.Certificate, error) {
	signer, key, err := newAuthority(now, p.AuthorityValidity)
	if err != nil {
		return nil, nil, err
	}
	trusted := []*x509.Certificate{signer.cert}
	for _, other := range others {
		if now.Before(other.NotAfter) {
			trusted = append(trusted, other)
		}
	}
	want.bundle, want.authorityKey = encodeCerts(trusted), key
	return signer, trusted, nil
}

// pairIsDue returns true if the signer should issue a serving certificate now. An unusable certificate is replaced at
// once: it is missing, not valid now, for other names, or not signed by an authority of the bundle that is valid now. A usable one is
// replaced when it is due or when a new authority has been published long enough.
//
// A certificate that is not valid yet for one replica is valid for replicas whose clocks are further ahead, and its replacement is valid
// for all of them. So replicas whose clocks differ do not replace each other's certificates in turn.
func (p Policy) pairIsDue(m material, signer *authority, trusted []*x509.Certificate, names []string, now time.Time) bool {
	cert, err := m.parsePair()
	usable := err == nil && valid(cert, now) && slices.Equal(cert.DNSNames, names) &&
		slices.ContainsFunc(trusted, func(by *x509.Certificate) bool { return valid(by, now) && cert.CheckSignatureFrom(by) == nil })
	if !usable {
		return true // The server cannot serve without a certificate.
	}
	published := now.After(issuedAt(signer.cert).Add(p.PublishDelay))
	return published && (due(cert, now) || cert.CheckSignatureFrom(signer.cert) != nil)
}

// valid returns true if the certificate is valid at the time. NotBefore is earlier than its creation by backdate, so a clock that is
// slow by less makes no difference.
func valid(cert *x509.Certificate, now time.Time) bool {
	return !now.Before(cert.NotBefore) && now.Before(cert.NotAfter)
}

// due returns true if less than a third of the certificate's lifetime is left.
func due(cert *x509.Certificate, now time.Time) bool {
	return cert.NotAfter.Sub(now) < cert.NotAfter.Sub(issuedAt(cert))/3
}

// signedBy returns true if the authority signed the serving certificate in m.
func signedBy(m material, signer *authority) bool {
	cert, err := m.parsePair()
	return err == nil && cert.CheckSignatureFrom(signer.cert) == nil
}
