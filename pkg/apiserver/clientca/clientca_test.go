package clientca

import (
	"context"
	"crypto/x509"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes/fake"
)

// slow gets its content some time after it starts.
type slow struct {
	after     time.Duration
	ready     bool
	listeners []dynamiccertificates.Listener
}

func (*slow) Name() string                                 { return "slow" }
func (*slow) CurrentCABundleContent() []byte               { return nil }
func (*slow) RunOnce(context.Context) error                { return nil }
func (s *slow) VerifyOptions() (x509.VerifyOptions, bool)  { return x509.VerifyOptions{}, s.ready }
func (s *slow) AddListener(l dynamiccertificates.Listener) { s.listeners = append(s.listeners, l) }
func (s *slow) Run(ctx context.Context, _ int) {
	select {
	case <-ctx.Done():
	case <-time.After(s.after):
		s.ready = true
		for _, listener := range s.listeners {
			listener.Enqueue()
		}
	}
}

func TestServerWaitsForEveryPart(t *testing.T) {
	tests := map[string]struct {
		after, want time.Duration
	}{
		"it comes":         {after: 3 * time.Second, want: 3 * time.Second},
		"it does not come": {after: time.Hour, want: 10 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				part := &slow{after: test.after}
				runner, ok := WaitFor(part, 10*time.Second, part).(dynamiccertificates.ControllerRunner)
				require.True(t, ok)
				began := time.Now()
				require.NoError(t, runner.RunOnce(t.Context()))
				assert.Equal(t, test.want, time.Since(began))
			})
		})
	}
}

func TestFromCluster(t *testing.T) {
	configMaps := map[string]struct {
		data  map[string]string
		found bool
	}{
		"with a client CA":    {map[string]string{"client-ca-file": "pem"}, true},
		"without a client CA": {nil, false},
	}
	for name, test := range configMaps {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"}, Data: test.data,
			})
			provider, err := FromCluster(t.Context(), client)
			require.NoError(t, err)
			assert.Equal(t, test.found, provider != nil)
		})
	}
	provider, err := FromCluster(t.Context(), fake.NewClientset())
	require.NoError(t, err)
	assert.Nil(t, provider)
}
