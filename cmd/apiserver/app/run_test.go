package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/apiserver/guard"
)

// TestHangingRequestsDoNotHoldAClosedStore checks that the process ends although requests hang. Its caches belong to
// a store that is no longer served.
func TestHangingRequestsDoNotHoldAClosedStore(t *testing.T) {
	for name, test := range map[string]struct {
		cause error
		want  time.Duration
	}{
		"the store is closed": {fmt.Errorf("%w: wiped", guard.ErrClosed), closedPatience},
		"the server ends":     {nil, time.Minute},
		"the store stopped":   {errors.New("the embedded etcd stopped"), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				start := time.Now()
				cancel(test.cause)
				assert.NoError(t, serve(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					<-time.After(time.Minute) // This stands for a request that hangs.
					return nil
				}))
				assert.Equal(t, test.want, time.Since(start))
				<-time.After(time.Minute)
			})
		})
	}
}

// TestCertificatesHaveTheTimeOfKubeAPIServer checks the first certificate of a machine whose clock is two years behind.
func TestCertificatesHaveTheTimeOfKubeAPIServer(t *testing.T) {
	now := time.Now().Add(2 * 365 * 24 * time.Hour)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		if request.Method != http.MethodPost {
			http.NotFound(w, request)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"Secret"}`)
	}))
	defer server.Close()
	options, err := NewOptions()
	require.NoError(t, err)
	options.Certificates.Namespace = "kruise-system"
	scheme, err := apiserver.NewScheme()
	require.NoError(t, err)
	config := apiserver.NewConfig(scheme, serializer.NewCodecFactory(scheme), options.Gates.Kruise)
	config.Generic.ClientConfig = &rest.Config{Host: server.URL}
	config.Generic.ClientConfig.Wrap(options.Clock.Wrap)
	config.Generic.SecureServing = &genericapiserver.SecureServingInfo{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, manageCertificates(ctx, options, config))
	pair, _ := config.Generic.SecureServing.Cert.CurrentCertKeyContent()
	certs, err := certutil.ParseCertsPEM(pair)
	require.NoError(t, err)
	assert.WithinRange(t, now, certs[0].NotBefore, certs[0].NotAfter)
}
