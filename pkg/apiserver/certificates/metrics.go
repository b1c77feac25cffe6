package certificates

import (
	"sync"

	"k8s.io/client-go/util/cert"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var expiry = metrics.NewGauge(&metrics.GaugeOpts{
	Name:           "kruise_serving_certificate_expiration_timestamp_seconds",
	Help:           "Unix time at which the served certificate expires. It is 0 if the server does not issue its certificate itself.",
	StabilityLevel: metrics.ALPHA,
})

// registerMetrics is called by New. A server with certificates from files shows the gauge only if it has a Manager.
var registerMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(expiry) })

// showExpiry publishes when a certificate in PEM form expires.
func showExpiry(pem []byte) {
	if chain, err := cert.ParseCertsPEM(pem); err == nil {
		expiry.Set(float64(chain[0].NotAfter.Unix()))
	}
}
