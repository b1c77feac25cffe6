package certificates

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorfake "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

const (
	apiService = "v1beta1.apps.kruise.io"
	// localService is an APIService of CustomResourceDefinitions.
	localService = "v1alpha1.apps.kruise.io"
)

// cluster is the host cluster of a test.
type cluster struct {
	kube       *fake.Clientset
	aggregator *aggregatorfake.Clientset
}

func newCluster() *cluster {
	service := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: apiService},
		Spec:       apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{Namespace: "ns", Name: "kruise-apiserver"}},
	}
	local := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: localService}}
	return &cluster{kube: fake.NewClientset(), aggregator: aggregatorfake.NewSimpleClientset(service, local)}
}

func (c *cluster) manager(clock clock.PassiveClock) *Manager {
	return New(Config{
		Kube: c.kube, Aggregator: c.aggregator, Namespace: "ns", SecretName: "certs",
		APIServices: []string{apiService, localService, "v1.not.there"},
		DNSNames:    names, Policy: policy, Clock: clock,
	})
}

func (c *cluster) secret(t *testing.T) material {
	t.Helper()
	secret, err := c.kube.CoreV1().Secrets("ns").Get(t.Context(), "certs", metav1.GetOptions{})
	require.NoError(t, err)
	return materialOf(secret)
}

func (c *cluster) bundle(t *testing.T) string {
	t.Helper()
	service, err := c.aggregator.ApiregistrationV1().APIServices().Get(t.Context(), apiService, metav1.GetOptions{})
	require.NoError(t, err)
	return string(service.Spec.CABundle)
}

func served(m *Manager) string {
	cert, _ := m.CurrentCertKeyContent()
	return string(cert)
}

func TestReplicasShareOneSecret(t *testing.T) {
	c := newCluster()
	clock := clocktesting.NewFakeClock(start)
	replicas := []*Manager{c.manager(clock), c.manager(clock), c.manager(clock)}
	var group sync.WaitGroup
	for _, replica := range replicas {
		group.Go(func() { assert.NoError(t, replica.Sync(t.Context())) })
	}
	group.Wait()
	want := c.secret(t)
	assert.Equal(t, string(want.bundle), c.bundle(t))
	for _, replica := range replicas {
		assert.Equal(t, string(want.cert), served(replica))
	}
}

func TestLoserOfARaceUsesTheWinnersCertificate(t *testing.T) {
	c := newCluster()
	clock := clocktesting.NewFakeClock(start)
	winner := step(t, material{}, start)
	raced := false
	c.kube.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if raced {
			return false, nil, nil
		}
		raced = true
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "certs"}, Data: winner.data()}
		if err := c.kube.Tracker().Add(secret); err != nil {
			return true, nil, err
		}
		return true, nil, apierrors.NewAlreadyExists(corev1.Resource("secrets"), "certs")
	})
	m := c.manager(clock)
	require.NoError(t, m.Sync(t.Context()))
	assert.Equal(t, string(winner.cert), served(m))
}

// The served certificate changes only after its authority is published. If publishing fails, the old certificate stays.
func TestPublishingComesBeforeServing(t *testing.T) {
	c := newCluster()
	clock := clocktesting.NewFakeClock(start)
	m := c.manager(clock)
	refuse := errors.New("no answer")
	c.aggregator.PrependReactor("patch", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refuse != nil, nil, refuse
	})
	require.ErrorContains(t, m.Sync(t.Context()), "no answer")
	assert.Empty(t, served(m))
	refuse = nil
	require.NoError(t, m.Sync(t.Context()))
	first := served(m)
	require.NotEmpty(t, first)

	refuse = errors.New("no answer")
	require.NoError(t, c.kube.CoreV1().Secrets("ns").Delete(t.Context(), "certs", metav1.DeleteOptions{}))
	require.Error(t, m.Sync(t.Context()))
	assert.Equal(t, first, served(m))
	refuse = nil
	require.NoError(t, m.Sync(t.Context()))
	assert.NotEqual(t, first, served(m))
}

type listener struct{ calls int }

func (l *listener) Enqueue() { l.calls++ }

// Case configuration 11.
func TestRotationWithoutRestart(t *testing.T) {
	c := newCluster()
	clock := clocktesting.NewFakeClock(start)
	m := c.manager(clock)
	told := &listener{}
	m.AddListener(told)
	certs := map[string]bool{}
	for clock.Since(start) < 2000*time.Hour {
		require.NoError(t, m.Sync(t.Context()))
		requireTrusted(t, material{bundle: []byte(c.bundle(t)), cert: m.cert, key: m.key}, clock.Now())
		certs[served(m)] = true
		clock.Step(time.Hour)
	}
	assert.Greater(t, len(certs), 20)
	assert.Equal(t, len(certs), told.calls)
}

func TestChangesAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newCluster()
		m := c.manager(clock.RealClock{})
		go m.Run(ctx)
		synctest.Wait()
		want := c.bundle(t)
		require.NotEmpty(t, want)

		services := c.aggregator.ApiregistrationV1().APIServices()
		_, err := services.Patch(ctx, apiService, types.MergePatchType, []byte(`{"spec":{"caBundle":null}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, want, c.bundle(t), "at once, not at the next check")
		cancel()
		synctest.Wait()
	})
}

// TestAPIServicesOfKubeAPIServerStayAsTheyAre syncs while a CustomResourceDefinition serves a version. kube-apiserver refuses a bundle
// without a Service.
func TestAPIServicesOfKubeAPIServerStayAsTheyAre(t *testing.T) {
	c := newCluster()
	require.NoError(t, c.manager(clocktesting.NewFakeClock(start)).Sync(t.Context()))
	service, err := c.aggregator.ApiregistrationV1().APIServices().Get(t.Context(), localService, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, service.Spec.CABundle)
	assert.NotEmpty(t, c.bundle(t))
}
