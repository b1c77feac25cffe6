//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/apiserver/guard"
)

// patience limits every wait. It allows for a busy machine.
const patience = 6 * time.Minute

// server is a process of kruise-apiserver.
type server struct {
	command *exec.Cmd
	done    chan struct{}
	// binary is the path of the program: env.binary, or that of another revision.
	binary string
	dir    string
	port   int
	args   []string
	// configMap is the name of the ConfigMap that identifies the store.
	configMap string
}

// startServer starts an apiserver with its own store. If the directory of the name already has a store, the server uses it.
// startServer returns when the server is ready.
func startServer(ctx context.Context, name string, args ...string) (*server, error) {
	s, err := newServer(ctx, name, args...)
	if err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

// newServer prepares a server and does not start it.
func newServer(ctx context.Context, name string, args ...string) (*server, error) {
	dir := filepath.Join(env.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(ctx, kubeconfig, "kruise-apiserver"); err != nil {
		return nil, err
	}
	configMap := "kruise-store-" + name
	flags := []string{
		"--kubeconfig=" + kubeconfig, "--secure-port=" + strconv.Itoa(port), "--namespace=" + ownNamespace,
		"--v=2", "--store-configmap=" + configMap,
	}
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--etcd-servers=") }) {
		flags = append(flags, "--data-dir="+filepath.Join(dir, "data"))
	}
	return &server{binary: env.binary, dir: dir, port: port, configMap: configMap, args: append(flags, args...)}, nil
}

// logsNoBug returns an error if the server has logged what its library logs for bugs of the server, such as kinds without a schema.
func (s *server) logsNoBug() error {
	log, err := os.ReadFile(s.logPath())
	if err != nil {
		return err
	}
	if at := bytes.Index(log, []byte("SHOULD NOT HAPPEN")); at >= 0 {
		return fmt.Errorf("the log of the shared server has a bug: %s", log[at:min(at+1000, len(log))])
	}
	return nil
}

func (s *server) logPath() string { return filepath.Join(s.dir, "log") }

// start starts the server and waits until it is ready. If the guard closes its empty store because the cluster has Pods of objects of
// other servers, start opens it.
func (s *server) start(ctx context.Context) error {
	if err := s.launch(); err != nil {
		return err
	}
	return s.waitReady(ctx)
}

// launch starts the server and does not wait.
func (s *server) launch() error {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.command = exec.Command(s.binary, s.args...)
	s.command.Stdout, s.command.Stderr = log, log
	s.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.command.Start(); err != nil {
		return err
	}
	s.done = make(chan struct{})
	go func() { _ = s.command.Wait(); close(s.done) }()
	return nil
}

func (s *server) waitReady(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		select {
		case <-s.done:
			return false, fmt.Errorf("it exited: %s", s.command.ProcessState)
		default:
		}
		_, last = s.get(ctx, "/readyz")
		if offer := s.offered(ctx); offer.token != "" {
			last = errors.Join(last, s.agree(ctx, offer))
		}
		return last == nil, nil
	})
	if err != nil {
		log, _ := os.ReadFile(s.logPath())
		s.kill()
		return fmt.Errorf("wait for the apiserver: %w (%w)\n%s", err, last, tail(log, 4000))
	}
	return nil
}

// offer is the token with which an operator can open the closed store, and the version of the ConfigMap that says so.
type offer struct{ token, version string }

// offered returns the offer of the server. The token is empty if the store is not closed.
func (s *server) offered(ctx context.Context) offer {
	object, err := env.kube.CoreV1().ConfigMaps(ownNamespace).Get(ctx, s.configMap, metav1.GetOptions{})
	if err != nil || !strings.HasPrefix(object.Data["state"], "closed: ") {
		return offer{}
	}
	_, token, _ := strings.Cut(object.Data["state"], guard.OpenAnnotation+"=")
	return offer{token, object.ResourceVersion}
}

// agree opens the store, as an operator does. If the server has opened it in the meantime, the annotation would stay, and open a
// snapshot of the store that is restored later. So agree does not write to another version of the ConfigMap.
func (s *server) agree(ctx context.Context, o offer) error {
	patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{%q:%q}}}`, o.version, guard.OpenAnnotation, o.token)
	_, err := env.kube.CoreV1().ConfigMaps(ownNamespace).Patch(ctx, s.configMap, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (s *server) url() string { return fmt.Sprintf("https://127.0.0.1:%d", s.port) }

// get reads a path of the server without the aggregation layer.
func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	client, err := rest.UnversionedRESTClientFor(direct(s, env.config))
	if err != nil {
		return nil, err
	}
	return client.Get().RequestURI(path).DoRaw(ctx)
}

// stop stops the server with SIGTERM, as Kubernetes does.
func (s *server) stop() {
	_ = s.command.Process.Signal(syscall.SIGTERM)
	<-s.done
}

// kill stops the server with SIGKILL, as in a crash.
func (s *server) kill() {
	_ = s.command.Process.Kill()
	<-s.done
}

// publish points the Service and the APIServices to this server, and waits until they are available.
func (s *server) publish(ctx context.Context) error {
	if err := applyService(ctx, s.port); err != nil {
		return fmt.Errorf("publish the Service: %w", err)
	}
	for _, name := range apiserver.APIServices(env.gate) {
		version, group, _ := strings.Cut(name, ".")
		service := &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: apiregistrationv1.APIServiceSpec{
				Group: group, Version: version, GroupPriorityMinimum: 1000, VersionPriority: map[string]int32{"v1alpha1": 10, "v1beta1": 15, "v1": 15}[version],
				Service: &apiregistrationv1.ServiceReference{Name: "kruise-apiserver", Namespace: ownNamespace, Port: ptr.To[int32](443)},
			},
		}
		_, err := env.aggregator.ApiregistrationV1().APIServices().Create(ctx, service, metav1.CreateOptions{})
		if existsOr(err) != nil {
			return fmt.Errorf("create APIService: %w", err)
		}
	}
	return allAvailable(ctx)
}

// allAvailable waits until clients reach the server through kube-apiserver. A test that stops the shared server needs it: in the
// meantime kube-apiserver may have marked the APIServices as unavailable, and it then refuses requests until its next check.
//
// A check of kube-apiserver that began before a server stopped fails a moment after it. So all APIServices must answer for a second.
func allAvailable(ctx context.Context) error {
	for _, name := range apiserver.APIServices(env.gate) {
		if err := waitAvailable(ctx, name); err != nil {
			return err
		}
		if err := waitServed(ctx, name); err != nil {
			return err
		}
	}
	var last error
	since := time.Now()
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		for _, name := range apiserver.APIServices(env.gate) {
			service, err := env.aggregator.ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				err = reached(ctx, service)
			}
			if err != nil {
				since, last = time.Now(), fmt.Errorf("%s: %w", name, err)
				return false, nil
			}
		}
		return time.Since(since) >= time.Second, nil
	})
	if err != nil {
		return fmt.Errorf("wait until all APIServices answer for a second: %w: %w", err, last)
	}
	return nil
}

// waitServed waits until kube-apiserver passes requests on. It does so a moment after it has written the condition.
func waitServed(ctx context.Context, name string) error {
	version, group, _ := strings.Cut(name, ".")
	last := errors.New("no answer")
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = env.kube.Discovery().RESTClient().Get().AbsPath("/apis", group, version).Do(ctx).Error()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for answers of %s: %w: %w", name, err, last)
	}
	return nil
}

func waitAvailable(ctx context.Context, name string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		var service *apiregistrationv1.APIService
		if service, last = env.aggregator.ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{}); last == nil {
			last = reached(ctx, service)
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for APIService %s: %w: %w", name, err, last)
	}
	return nil
}

// reached returns nil if the APIService is available and kube-apiserver forwards requests. It begins to forward them after the
// condition has changed.
func reached(ctx context.Context, service *apiregistrationv1.APIService) error {
	for _, condition := range service.Status.Conditions {
		if condition.Type == apiregistrationv1.Available && condition.Status == apiregistrationv1.ConditionTrue {
			path := "/apis/" + service.Spec.Group + "/" + service.Spec.Version
			return env.kube.Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Error()
		}
	}
	return fmt.Errorf("it is not available: %v", service.Status.Conditions)
}

// applyService creates a Service without a selector, with ports of this machine as its endpoints.
func applyService(ctx context.Context, ports ...int) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "kruise-apiserver"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443, TargetPort: intstr.FromInt(ports[0])}}},
	}
	if _, err := env.kube.CoreV1().Services(ownNamespace).Create(ctx, service, metav1.CreateOptions{}); existsOr(err) != nil {
		return err
	}
	slices := env.kube.DiscoveryV1().EndpointSlices(ownNamespace)
	if err := slices.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	if err := applyEndpoints(ctx, ports); err != nil {
		return err
	}
	for _, port := range ports {
		if err := applyEndpointSlice(ctx, port); err != nil {
			return err
		}
	}
	return nil
}

// applyEndpoints writes the endpoints for kube-apiservers that do not read EndpointSlices of APIServices.
func applyEndpoints(ctx context.Context, ports []int) error {
	endpoints := env.kube.CoreV1().Endpoints(ownNamespace)
	if err := endpoints.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	object := &corev1.Endpoints{ //nolint:staticcheck // Old versions of Kubernetes read nothing else.
		ObjectMeta: metav1.ObjectMeta{Name: "kruise-apiserver", Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"}},
	}
	for _, port := range ports {
		object.Subsets = append(object.Subsets, corev1.EndpointSubset{ //nolint:staticcheck // See above.
			Addresses: []corev1.EndpointAddress{{IP: env.hostIP}},
			Ports:     []corev1.EndpointPort{{Name: "https", Port: int32(port), Protocol: corev1.ProtocolTCP}},
		})
	}
	_, err := endpoints.Create(ctx, object, metav1.CreateOptions{})
	return err
}

func applyEndpointSlice(ctx context.Context, port int) error {
	_, err := env.kube.DiscoveryV1().EndpointSlices(ownNamespace).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{GenerateName: "kruise-apiserver-", Labels: map[string]string{discoveryv1.LabelServiceName: "kruise-apiserver"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{env.hostIP}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(port)), Protocol: new(corev1.ProtocolTCP)}},
	}, metav1.CreateOptions{})
	return err
}

// direct returns a configuration that connects to the server without the aggregation layer.
func direct(s *server, config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host, config.CAFile, config.CAData, config.Insecure = s.url(), "", nil, true
	return unversioned(config)
}

// writeKubeconfig writes a kubeconfig for one of our service accounts.
func writeKubeconfig(ctx context.Context, path, account string) error {
	token, err := accountToken(ctx, account)
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["local"] = &clientcmdapi.Cluster{
		Server: env.config.Host, CertificateAuthority: env.config.CAFile, CertificateAuthorityData: env.config.CAData,
	}
	config.AuthInfos[account] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: account}
	config.CurrentContext = "local"
	return clientcmd.WriteToFile(*config, path)
}

func accountToken(ctx context.Context, account string) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](24 * 3600)}}
	token, err := env.kube.CoreV1().ServiceAccounts(ownNamespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return token.Status.Token, nil
}

// The ports of the tests are below those that the kernel gives to connections. One of them could otherwise take a port before its server.
const (
	firstPort = 20000
	lastPort  = 32000
	// portsOfARun is how many ports one run of the tests has for itself.
	portsOfARun = 500
)

// triedPorts is how many ports freePort has tried.
var triedPorts atomic.Int32

// claimed listens on the first of the ports that this run has for itself, until the run ends. So another run on this machine takes other
// ports. Without this, a run could take a port that a server of the other run is about to open.
var claimed struct {
	sync.Mutex
	listener net.Listener
}

// firstOwnPort returns the first port of this run. It is taken.
func firstOwnPort(ctx context.Context) (int, error) {
	claimed.Lock()
	defer claimed.Unlock()
	for first := firstPort; claimed.listener == nil; first += portsOfARun {
		if first+portsOfARun > lastPort {
			return 0, errors.New("other runs have all ports")
		}
		claimed.listener, _ = new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf(":%d", first)) // Another run may listen there.
	}
	address, ok := claimed.listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("%s is no TCP address", claimed.listener.Addr())
	}
	return address.Port, nil
}

// freePort returns a port on which nobody listens. It returns each port only once, because tests run at the same time.
func freePort(ctx context.Context) (int, error) {
	first, err := firstOwnPort(ctx)
	if err != nil {
		return 0, err
	}
	for tried := triedPorts.Add(1); tried < portsOfARun; tried = triedPorts.Add(1) {
		port := first + int(tried)
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf(":%d", port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, errors.New("no free port")
}

func tail(data []byte, n int) []byte {
	data = bytes.TrimSpace(data)
	return data[max(0, len(data)-n):]
}

func unversioned(config *rest.Config) *rest.Config {
	config.NegotiatedSerializer = plainCodec
	return config
}
