package localcluster

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KWOKTaint keeps Pods without a toleration off simulated nodes. Its value is "fake" and its effect is NoSchedule.
const KWOKTaint = "kwok.x-k8s.io/node"

// provisionerName is the provisioner in the StorageClass.
const provisionerName = "kruise.io/local-path"

//go:embed static/kwok.yaml
var static embed.FS

// addon is an optional component. Its objects are applied before its process starts.
type addon struct {
	enabled   bool
	component component
	// template is the file of its objects, or empty.
	template string
	values   map[string]any
}

// addonTable returns the table of addons.
func (c *Cluster) addonTable() []addon {
	return []addon{
		{enabled: c.cfg.Registry, component: c.registry()},
		{
			enabled: c.cfg.Storage, component: c.provisioner(),
			template: "storage.yaml", values: map[string]any{"Provisioner": provisionerName},
		},
		{
			enabled: c.cfg.MetricsServer, component: c.metricsServer(),
			template: "metrics-server.yaml", values: map[string]any{"Port": metricsServerPort, "Address": c.net.ControlPlaneIP()},
		},
		{
			enabled: c.cfg.KWOKNodes > 0, component: c.kwok(),
			template: "kwok-nodes.yaml", values: map[string]any{"Nodes": kwokNodeNames(c.cfg.KWOKNodes)},
		},
	}
}

// addons returns the components of the enabled addons.
func (c *Cluster) addons() []component {
	var list []component
	for _, addon := range c.addonTable() {
		if addon.enabled {
			list = append(list, addon.component)
		}
	}
	return list
}

// registry returns the image registry of the cluster. Nodes use it as a mirror of all others.
func (c *Cluster) registry() component {
	return component{
		process: process{name: "registry", path: "docker-registry", args: []string{"serve", c.path("registry.yaml")}, ns: inCluster},
		ready:   func(ctx context.Context) error { return c.get(ctx, "http://"+c.net.RegistryHost()+"/v2/", "") },
	}
}

// provisioner returns the program that creates volumes. It has no readiness: claims simply wait until it works.
func (c *Cluster) provisioner() component {
	args := []string{"--kubeconfig=" + c.pki().kubeconfig("provisioner"), "--name=" + provisionerName, "--dir=" + c.path("volumes")}
	return component{process: process{
		name: "provisioner", path: c.provisionerPath(), args: args, ns: inCluster, reads: []string{c.provisionerPath()},
	}}
}

// metricsServer returns metrics-server with short periods, because tests of autoscalers wait for it. Simulated nodes
// have no kubelet to ask.
func (c *Cluster) metricsServer() component {
	p := c.pki()
	kubeconfig := p.kubeconfig("metrics-server")
	args := []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + c.net.ControlPlaneIP(), "--secure-port=" + strconv.Itoa(metricsServerPort),
		"--tls-cert-file=" + p.cert("metrics-server"), "--tls-private-key-file=" + p.key("metrics-server"),
		"--kubelet-certificate-authority=" + p.cert(clusterCA), "--kubelet-preferred-address-types=InternalIP",
		"--metric-resolution=10s", "--kubelet-request-timeout=5s", "--node-selector=type!=kwok",
	}
	return component{
		process: process{name: "metrics-server", path: c.Binary("metrics-server"), args: args, ns: inCluster},
		ready: func(ctx context.Context) error {
			return c.get(ctx, fmt.Sprintf("https://%s:%d/livez", c.net.ControlPlaneIP(), metricsServerPort), "")
		},
	}
}

// kwok returns the program that simulates nodes and their Pods.
func (c *Cluster) kwok() component {
	args := []string{
		"--kubeconfig=" + c.pki().kubeconfig("kwok"), "--config=" + c.path("kwok.yaml"),
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		"--node-ip=" + c.net.ControlPlaneIP(), "--node-port=" + strconv.Itoa(kwokPort), "--cidr=" + c.net.kwokCIDR(),
		"--server-address=" + c.net.ControlPlaneIP() + ":" + strconv.Itoa(kwokPort), "--node-lease-duration-seconds=40",
	}
	return component{
		process: process{name: "kwok", path: c.Binary("kwok"), args: args, ns: inCluster},
		ready:   c.kwokReady,
	}
}

// kwokReady returns nil when the last simulated node is ready.
func (c *Cluster) kwokReady(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "type=kwok"})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	ready := 0
	for i := range list.Items {
		if checkReady(&list.Items[i]) == nil {
			ready++
		}
	}
	if ready < c.cfg.KWOKNodes {
		return fmt.Errorf("%d of %d simulated nodes are ready", ready, c.cfg.KWOKNodes)
	}
	return nil
}

// kwokNodeNames returns the names of the simulated nodes.
func kwokNodeNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("kwok-%d", i+1)
	}
	return names
}

// renderAddons writes the files that the addons read. It writes those of disabled ones too, which does no harm.
func (c *Cluster) renderAddons() error {
	stages, err := static.ReadFile("static/kwok.yaml")
	if err != nil {
		return fmt.Errorf("read stages: %w", err)
	}
	return errors.Join(
		writeFile(c.path("kwok.yaml"), stages, 0o644),
		os.MkdirAll(c.path("volumes"), 0o755),
		renderTo(c.path("registry.yaml"), "registry.yaml", map[string]any{"Dir": c.path("registry"), "Address": c.net.RegistryHost()}),
	)
}

// applyAddons applies the objects of the enabled addons. It needs kube-apiserver. It overwrites changes of other
// clients, so a restarted cluster has the objects of this checkout.
func (c *Cluster) applyAddons(ctx context.Context) error {
	ca, err := os.ReadFile(c.pki().cert(clusterCA))
	if err != nil {
		return fmt.Errorf("read authority: %w", err)
	}
	for _, addon := range c.addonTable() {
		if !addon.enabled || addon.template == "" {
			continue
		}
		addon.values["CABundle"] = base64.StdEncoding.EncodeToString(ca)
		manifest, err := render(addon.template, addon.values)
		if err != nil {
			return err
		}
		_, err = c.Kubectl(ctx, bytes.NewReader(manifest), "apply", "--server-side", "--force-conflicts", "-f", "-")
		if err != nil {
			return fmt.Errorf("apply %s: %w", addon.template, err)
		}
	}
	return nil
}
