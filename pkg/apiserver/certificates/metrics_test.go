package certificates

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/cert"
	"k8s.io/component-base/metrics/testutil"
)

// An alert needs the end of the certificate that is served, not of the one in the Secret.
func TestExpiryOfTheServedCertificateIsAMetric(t *testing.T) {
	pem, key, err := cert.GenerateSelfSignedCertKey("kruise-apiserver", nil, nil)
	require.NoError(t, err)
	chain, err := cert.ParseCertsPEM(pem)
	require.NoError(t, err)
	New(Config{}).serve(t.Context(), material{cert: pem, key: key})
	value, err := testutil.GetGaugeMetricValue(expiry)
	require.NoError(t, err)
	assert.InDelta(t, float64(chain[0].NotAfter.Unix()), value, 0)
}
