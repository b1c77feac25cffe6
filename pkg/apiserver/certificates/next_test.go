package certificates

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	certutil "k8s.io/client-go/util/cert"
)

var (
	names  = []string{"kruise-apiserver.kruise-system.svc", "kruise-apiserver.kruise-system"}
	policy = Policy{AuthorityValidity: 900 * time.Hour, ServingValidity: 90 * time.Hour, PublishDelay: time.Hour, Overlap: 24 * time.Hour}
	start  = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
)

func step(t *testing.T, have material, at time.Time) material {
	t.Helper()
	want, err := policy.next(have, names, at)
	require.NoError(t, err)
	requireTrusted(t, want, at)
	return want
}

// requireTrusted checks that a client with the bundle accepts the server.
func requireTrusted(t *testing.T, m material, at time.Time) {
	t.Helper()
	cert, err := m.parsePair()
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(m.bundle))
	for _, name := range names {
		_, err = cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: at})
		require.NoError(t, err)
	}
}

func authorities(t *testing.T, m material) []*x509.Certificate {
	t.Helper()
	certs, err := certutil.ParseCertsPEM(m.bundle)
	require.NoError(t, err)
	return certs
}

func TestBeginning(t *testing.T) {
	first := step(t, material{}, start)
	assert.Len(t, authorities(t, first), 1)
	assert.True(t, first.equal(step(t, first, start.Add(time.Hour))), "nothing is due")
}

func TestServingPairIsRenewedInTime(t *testing.T) {
	first := step(t, material{}, start)
	assert.True(t, first.equal(step(t, first, start.Add(59*time.Hour))))
	renewed := step(t, first, start.Add(61*time.Hour))
	assert.NotEqual(t, first.cert, renewed.cert)
	assert.Equal(t, first.bundle, renewed.bundle, "the authority stays")
}

func TestAuthorityIsReplacedWithoutAGap(t *testing.T) {
	m := step(t, material{}, start)
	for hours := time.Duration(1); hours < 600; hours += 20 {
		m = step(t, m, start.Add(hours*time.Hour))
	}
	old := authorities(t, m)[0]
	require.NotZero(t, old)

	due := start.Add(602 * time.Hour)
	both := step(t, m, due)
	assert.Len(t, authorities(t, both), 2)
	assert.True(t, old.Equal(authorities(t, both)[1]))
	assert.Equal(t, m.cert, both.cert, "the new authority is published before it signs what is served")

	soon := step(t, both, due.Add(policy.PublishDelay/2))
	assert.True(t, both.equal(soon))

	switched := step(t, both, due.Add(policy.PublishDelay+time.Minute))
	assert.NotEqual(t, both.cert, switched.cert)
	assert.Equal(t, both.bundle, switched.bundle, "the old authority stays for replicas that are behind")
	pair, err := switched.parsePair()
	require.NoError(t, err)
	require.NoError(t, pair.CheckSignatureFrom(authorities(t, switched)[0]))

	alone := step(t, switched, due.Add(policy.Overlap+time.Minute))
	assert.Len(t, authorities(t, alone), 1)
	assert.Equal(t, switched.cert, alone.cert)
}

// The time covers two rotations of the authority.
func TestEveryHourIsServed(t *testing.T) {
	m := material{}
	for hour := range 2000 {
		m = step(t, m, start.Add(time.Duration(hour)*time.Hour))
	}
}

func TestUnreadableCertificatesAreReplaced(t *testing.T) {
	good := step(t, material{}, start)
	other := step(t, material{}, start)
	tests := map[string]func(*material){
		"no bundle":                    func(m *material) { m.bundle = nil },
		"broken bundle":                func(m *material) { m.bundle = []byte("x") },
		"no key of the authority":      func(m *material) { m.authorityKey = nil },
		"another authority's key":      func(m *material) { m.authorityKey = other.authorityKey },
		"no pair":                      func(m *material) { m.cert, m.key = nil, nil },
		"another pair's key":           func(m *material) { m.key = other.key },
		"pair of an unknown authority": func(m *material) { m.cert, m.key = other.cert, other.key },
	}
	for name, breakIt := range tests {
		t.Run(name, func(t *testing.T) {
			broken := good
			breakIt(&broken)
			repaired := step(t, broken, start)
			assert.True(t, repaired.equal(step(t, repaired, start)))
		})
	}
}

func TestAfterALongSleepEverythingIsNew(t *testing.T) {
	first := step(t, material{}, start)
	awake := step(t, first, start.Add(2000*time.Hour))
	assert.Len(t, authorities(t, awake), 1, "an expired authority is not trusted")
	assert.NotEqual(t, first.bundle, awake.bundle)
}

// Another machine issued everything while its clock was ahead.
func TestCertificatesThatAreNotValidYetAreReplaced(t *testing.T) {
	ahead := step(t, material{}, start.Add(5000*time.Hour))
	repaired := step(t, ahead, start)
	require.Len(t, authorities(t, repaired), 2, "clients whose clock is ahead too still trust the replica that has not noticed yet")
	assert.True(t, authorities(t, ahead)[0].Equal(authorities(t, repaired)[1]))
	assert.True(t, repaired.equal(step(t, repaired, start.Add(time.Minute))))
	assert.Len(t, authorities(t, step(t, repaired, start.Add(policy.Overlap+time.Minute))), 1)
}

func TestPairThatIsNotValidYetIsReplaced(t *testing.T) {
	first := step(t, material{}, start)
	ahead := step(t, first, start.Add(80*time.Hour))
	require.NotEqual(t, first.cert, ahead.cert)
	repaired := step(t, ahead, start.Add(10*time.Hour))
	assert.NotEqual(t, ahead.cert, repaired.cert)
	assert.Equal(t, first.bundle, repaired.bundle, "the authority stays")
}

// The served certificate is fine, so it is served until the repaired authority has been published.
func TestAuthorityThatIsNotValidYetIsReplacedWithoutAGap(t *testing.T) {
	first := step(t, material{}, start)
	future, key, err := newAuthority(start.Add(602*time.Hour), policy.AuthorityValidity)
	require.NoError(t, err)
	broken := first
	broken.bundle, broken.authorityKey = encodeCerts(append([]*x509.Certificate{future.cert}, authorities(t, first)...)), key
	repaired := step(t, broken, start.Add(10*time.Hour))
	assert.Equal(t, first.cert, repaired.cert)
	assert.Len(t, authorities(t, repaired), 3)
	switched := step(t, repaired, start.Add(11*time.Hour+time.Minute))
	assert.NotEqual(t, first.cert, switched.cert)
	assert.Len(t, authorities(t, step(t, switched, start.Add(35*time.Hour))), 1)
}

// Each replica has what it needs from the same Secret, so they must not write it in turn.
func TestReplicasWithDifferentClocksAgree(t *testing.T) {
	for _, difference := range []time.Duration{5 * time.Second, 59 * time.Minute, 61 * time.Minute, 5 * time.Hour} {
		t.Run(difference.String(), func(t *testing.T) {
			fast := step(t, material{}, start.Add(difference))
			both := step(t, fast, start)
			assert.Equal(t, difference < time.Hour, fast.equal(both), "a certificate is valid an hour before it was issued")
			for minutes := range time.Duration(10) {
				now := start.Add(minutes * time.Minute)
				assert.True(t, both.equal(step(t, both, now.Add(difference))))
				assert.True(t, both.equal(step(t, both, now)))
			}
		})
	}
}

func TestOtherNamesNeedAnotherPair(t *testing.T) {
	first := step(t, material{}, start)
	renamed, err := policy.next(first, []string{"other.svc"}, start)
	require.NoError(t, err)
	cert, err := renamed.parsePair()
	require.NoError(t, err)
	assert.Equal(t, []string{"other.svc"}, cert.DNSNames)
	assert.Equal(t, first.bundle, renamed.bundle)
}
