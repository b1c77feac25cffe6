package localcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"k8s.io/client-go/kubernetes"
)

// controlPlane returns the components of the control plane, in start order.
func (c *Cluster) controlPlane() []component {
	list := []component{c.etcd(), c.apiServer(), c.controllerManager(), c.scheduler()}
	if c.cfg.Nodes > 0 {
		list = append(list, c.proxy())
	}
	return list
}

// controlPlaneComponent returns a component in the namespaces of the cluster, with the extra arguments of the
// configuration behind its own.
func (c *Cluster) controlPlaneComponent(name string, args []string, ready func(context.Context) error) component {
	return component{
		process: process{name: name, path: c.Binary(name), args: append(args, c.cfg.ExtraArgs[name]...), ns: inCluster},
		ready:   ready,
	}
}

// etcd listens on an address of the cluster for clients, and on the loopback device for peers, of which there are
// none.
func (c *Cluster) etcd() component {
	local := fmt.Sprintf("https://127.0.0.1:%d", etcdPort)
	peer := fmt.Sprintf("https://127.0.0.1:%d", etcdPeerPort)
	p := c.pki()
	args := []string{
		"--name=etcd", "--data-dir=" + c.path("etcd"),
		"--listen-client-urls=" + local + "," + c.net.EtcdEndpoint(), "--advertise-client-urls=" + c.net.EtcdEndpoint(),
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=etcd=" + peer,
		"--client-cert-auth", "--trusted-ca-file=" + p.cert(clusterCA), "--cert-file=" + p.cert("etcd"), "--key-file=" + p.key("etcd"),
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + p.cert(clusterCA),
		"--peer-cert-file=" + p.cert("etcd"), "--peer-key-file=" + p.key("etcd"),
		"--enable-pprof", // The benchmark reads the memory of etcd after a garbage collection.
	}
	return c.controlPlaneComponent("etcd", args, func(ctx context.Context) error {
		return c.get(ctx, c.net.EtcdEndpoint()+"/health", "etcd-client")
	})
}

// apiServer routes requests for aggregated APIs directly to the addresses of Pods.
func (c *Cluster) apiServer() component {
	p := c.pki()
	args := []string{
		"--etcd-servers=" + c.net.EtcdEndpoint(), "--etcd-cafile=" + p.cert(clusterCA),
		"--etcd-certfile=" + p.cert("etcd-client"), "--etcd-keyfile=" + p.key("etcd-client"),
		"--secure-port=" + strconv.Itoa(apiServerPort), "--advertise-address=" + c.net.ControlPlaneIP(),
		"--tls-cert-file=" + p.cert("apiserver"), "--tls-private-key-file=" + p.key("apiserver"), "--client-ca-file=" + p.cert(clusterCA),
		"--kubelet-client-certificate=" + p.cert("kubelet-client"), "--kubelet-client-key=" + p.key("kubelet-client"),
		"--kubelet-certificate-authority=" + p.cert(clusterCA), "--kubelet-preferred-address-types=InternalIP,Hostname",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + p.key("service-account"),
		"--service-account-signing-key-file=" + p.key("service-account"),
		"--requestheader-client-ca-file=" + p.cert(frontCA), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + p.cert("front-proxy"), "--proxy-client-key-file=" + p.key("front-proxy"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--service-cluster-ip-range=" + c.net.ServiceCIDR(), "--enable-aggregator-routing=true",
	}
	return c.controlPlaneComponent("kube-apiserver", args, func(ctx context.Context) error {
		return c.get(ctx, c.net.APIServer()+"/readyz", "admin")
	})
}

// controllerManager has shorter delays than the defaults, because people and tests wait for the cluster. It counts a quota only when
// something changes: a count from its caches may be older than the quota, and then replaces what the servers have added since.
func (c *Cluster) controllerManager() component {
	p := c.pki()
	kubeconfig := p.kubeconfig("controller-manager")
	args := []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--service-account-private-key-file=" + p.key("service-account"), "--root-ca-file=" + p.cert(clusterCA),
		"--cluster-signing-cert-file=" + p.cert(clusterCA), "--cluster-signing-key-file=" + p.key(clusterCA),
		"--tls-cert-file=" + p.cert("controller-manager"), "--tls-private-key-file=" + p.key("controller-manager"),
		"--use-service-account-credentials=true", "--leader-elect=false",
		"--bind-address=" + c.net.ControlPlaneIP(), "--secure-port=" + strconv.Itoa(controllerManagerPort),
		"--horizontal-pod-autoscaler-sync-period=5s", "--horizontal-pod-autoscaler-downscale-stabilization=20s",
		"--horizontal-pod-autoscaler-cpu-initialization-period=10s", "--horizontal-pod-autoscaler-initial-readiness-delay=5s",
		"--resource-quota-sync-period=24h",
	}
	return c.controlPlaneComponent("kube-controller-manager", args, func(ctx context.Context) error {
		return c.get(ctx, fmt.Sprintf("https://%s:%d/healthz", c.net.ControlPlaneIP(), controllerManagerPort), "")
	})
}

// scheduler and the other components elect no leader, because each runs once.
func (c *Cluster) scheduler() component {
	p := c.pki()
	kubeconfig := p.kubeconfig("scheduler")
	args := []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--tls-cert-file=" + p.cert("scheduler"), "--tls-private-key-file=" + p.key("scheduler"),
		"--leader-elect=false", "--bind-address=" + c.net.ControlPlaneIP(), "--secure-port=" + strconv.Itoa(schedulerPort),
	}
	return c.controlPlaneComponent("kube-scheduler", args, func(ctx context.Context) error {
		return c.get(ctx, fmt.Sprintf("https://%s:%d/healthz", c.net.ControlPlaneIP(), schedulerPort), "")
	})
}

// proxy runs once for all nodes, because they share the network namespace of the cluster.
func (c *Cluster) proxy() component {
	args := []string{"--config=" + c.path("kube-proxy.yaml")}
	proxy := c.controlPlaneComponent("kube-proxy", args, func(ctx context.Context) error {
		return c.get(ctx, fmt.Sprintf("http://%s:%d/livez", c.net.ControlPlaneIP(), proxyHealthPort), "")
	})
	proxy.reads = []string{c.pki().kubeconfig("proxy")}
	return proxy
}

// renderControlPlane writes the files that components of the control plane read.
func (c *Cluster) renderControlPlane() error {
	return renderTo(c.path("kube-proxy.yaml"), "kube-proxy.yaml", map[string]any{
		"ControlPlaneIP": c.net.ControlPlaneIP(),
		"HealthPort":     proxyHealthPort,
		"Kubeconfig":     c.pki().kubeconfig("proxy"),
		"ClusterCIDR":    c.net.ClusterCIDR(),
		"Hostname":       nodeName(1),
	})
}

// get requests url, with the credentials of the identity in as unless that is empty. It fails unless the status is 200.
func (c *Cluster) get(ctx context.Context, url, as string) error {
	const requestTimeout = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	config, err := c.clientTLS(as)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // Read only for its status.
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}

// clientTLS returns the configuration of a client that trusts the cluster's authority. as is an identity, or empty
// for none.
func (c *Cluster) clientTLS(as string) (*tls.Config, error) {
	p := c.pki()
	ca, err := os.ReadFile(p.cert(clusterCA))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the cluster's authority is damaged")
	}
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if as == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(p.cert(as), p.key(as))
	config.Certificates = []tls.Certificate{pair}
	return config, err
}

// client returns a client with the rights of the administrator.
func (c *Cluster) client() (kubernetes.Interface, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
