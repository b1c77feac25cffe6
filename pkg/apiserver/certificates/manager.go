package certificates

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/utils/clock"
)

// attempts limits the retries after conflicts, when several replicas write the Secret at once. Each retry reads what
// the others wrote, and usually finds that nothing is left to do.
const attempts = 10

// Config configures a Manager.
type Config struct {
	Kube       kubernetes.Interface
	Aggregator clientset.Interface
	// Namespace is the namespace of the Secret, which is also that of the server.
	Namespace, SecretName string
	// APIServices lists the APIServices that get the bundle. A missing one gets it when it is created.
	APIServices []string
	// DNSNames are the names in the serving certificate.
	DNSNames []string
	// Policy sets the lifetimes.
	Policy Policy
	// Clock tells the time by which certificates are issued and judged. It should be that of kube-apiserver, which verifies them.
	Clock clock.PassiveClock
}

// Manager keeps the Secret, the APIServices and the served certificate up to date.
type Manager struct {
	Config

	// mu guards cert, key and listeners. Sync itself runs in one goroutine at a time.
	mu        sync.Mutex
	cert, key []byte
	listeners []dynamiccertificates.Listener
}

var _ dynamiccertificates.CertKeyContentProvider = &Manager{}

// New returns a manager. It serves no certificate until Sync has succeeded once.
func New(config Config) *Manager {
	registerMetrics()
	return &Manager{Config: config}
}

func (m *Manager) secrets() corev1client.SecretInterface { return m.Kube.CoreV1().Secrets(m.Namespace) }

func (m *Manager) apiServices() apiregistrationclient.APIServiceInterface {
	return m.Aggregator.ApiregistrationV1().APIServices()
}

// Name implements dynamiccertificates.CertKeyContentProvider. It appears in the logs of the server.
func (m *Manager) Name() string { return "self-managed::" + m.SecretName }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider. Both are nil before the first Sync.
func (m *Manager) CurrentCertKeyContent() (cert, key []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cert, m.key
}

// AddListener implements dynamiccertificates.Notifier. A listener is called after each change of the served
// certificate.
func (m *Manager) AddListener(listener dynamiccertificates.Listener) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners = append(m.listeners, listener)
}

// Sync updates the Secret, then publishes its bundle, and then serves its certificate. The order matters:
// kube-apiserver must know an authority before it sees a certificate of it. If a step fails, the later ones are not
// done, and the next Sync repeats all of them. Nothing is written if everything is up to date.
func (m *Manager) Sync(ctx context.Context) error {
	current, err := m.syncSecret(ctx)
	if err != nil {
		return err
	}
	for _, name := range m.APIServices {
		if err := m.publish(ctx, name, current.bundle); err != nil {
			return err
		}
	}
	m.serve(ctx, current)
	return nil
}

// syncSecret returns the content of the Secret after the changes that Policy requires. It repeats after a conflict
// with another replica.
func (m *Manager) syncSecret(ctx context.Context) (material, error) {
	for range attempts {
		current, err := m.trySecret(ctx)
		if err == nil {
			return current, nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return material{}, fmt.Errorf("write certificates to Secret %s: %w", m.SecretName, err)
		}
	}
	return material{}, fmt.Errorf("write certificates to Secret %s: gave up after %d conflicts with other "+
		"writers", m.SecretName, attempts)
}

// trySecret creates or updates the Secret if Policy requires a change. If another replica has written the Secret in
// the meantime, it returns a Conflict or AlreadyExists error.
func (m *Manager) trySecret(ctx context.Context) (material, error) {
	secret, err := m.secrets().Get(ctx, m.SecretName, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if missing {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: m.SecretName}, Type: corev1.SecretTypeTLS}
	} else if err != nil {
		return material{}, err
	}
	have := materialOf(secret)
	// The decision is made on what was read, and the write fails if the Secret has changed since. So two replicas
	// never both start a new authority.
	want, err := m.Policy.next(have, m.DNSNames, m.Clock.Now())
	if err != nil || want.equal(have) {
		return have, err
	}
	secret.Data = want.data()
	if missing {
		_, err = m.secrets().Create(ctx, secret, metav1.CreateOptions{})
	} else {
		_, err = m.secrets().Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err == nil {
		klog.FromContext(ctx).Info("Issued certificates", "secret", m.SecretName)
	}
	return want, err
}

// publish writes the bundle to one APIService. It ignores an APIService that does not exist, or that belongs to
// kube-apiserver. It patches two fields only, so it does not overwrite what an administrator or the chart changes.
// insecureSkipTLSVerify is removed, because the API does not allow it together with a bundle.
func (m *Manager) publish(ctx context.Context, name string, bundle []byte) error {
	service, err := m.apiServices().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("publish the CA bundle: %w", err)
	}
	if service.Spec.Service == nil { // kube-apiserver serves the version from CustomResourceDefinitions.
		return nil
	}
	if string(service.Spec.CABundle) == string(bundle) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": bundle, "insecureSkipTLSVerify": nil}})
	if err != nil {
		return fmt.Errorf("encode the CA bundle: %w", err)
	}
	if _, err := m.apiServices().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("publish the CA bundle: %w", err)
	}
	klog.FromContext(ctx).Info("Published the CA bundle", "apiService", name)
	return nil
}

// serve stores the certificate and notifies the server, which then reads it. Listeners are called without the lock,
// because they may read the certificate at once.
func (m *Manager) serve(ctx context.Context, current material) {
	m.mu.Lock()
	changed := string(m.cert) != string(current.cert)
	m.cert, m.key = current.cert, current.key
	listeners := m.listeners
	m.mu.Unlock()
	if !changed {
		return
	}
	showExpiry(current.cert)
	klog.FromContext(ctx).Info("Serving certificate changed", "secret", m.SecretName)
	for _, listener := range listeners {
		listener.Enqueue()
	}
}
