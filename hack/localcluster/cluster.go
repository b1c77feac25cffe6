package localcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a cluster that may or may not run. Its state is on disk and in the kernel, and not only in this struct.
// Several programs may call its methods at once. Up, Stop and Down wait for each other.
type Cluster struct {
	cfg Config
	net Network
	// built counts the programs that BuildBinaries has built.
	built atomic.Int32
	// now and began give the times in progress lines.
	now   func() time.Time
	began time.Time
	// owned are the ends of pipes that are open for as long as this process runs.
	owned []*os.File
}

// New validates the configuration. It changes nothing.
func New(cfg Config) (*Cluster, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("local cluster: %w", err)
	}
	return &Cluster{cfg: cfg.withDefaults(), now: time.Now, began: time.Now()}, nil
}

// Up brings the cluster to its configuration. It keeps healthy processes and starts missing ones. After an error,
// another call continues. The kubeconfig is written last, so it exists only for a cluster that works.
func (c *Cluster) Up(ctx context.Context) error {
	if err := c.Prepare(ctx); err != nil {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.ensureSandbox(ctx); err != nil {
		return err
	}
	if err := c.renderAll(); err != nil {
		return err
	}
	if err := c.startAll(ctx); err != nil {
		return err
	}
	if err := c.pushImages(ctx); err != nil {
		return err
	}
	return c.writeKubeconfig()
}

// Stop stops all processes of the cluster and keeps its state. Up continues from that state.
func (c *Cluster) Stop(ctx context.Context) error {
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return c.stopAll(ctx)
}

// Down stops all processes of the cluster and removes its state. It succeeds if there is no cluster. The lock is
// removed last, because a program that waits for it may then start a new cluster.
func (c *Cluster) Down(ctx context.Context) error {
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.stopAll(ctx); err != nil {
		return err
	}
	// The logs of the main cluster are elsewhere and stay.
	for _, path := range []string{c.cfg.Kubeconfig, c.cfg.Dir} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove state: %w", err)
		}
	}
	if err := removeMountPoints(mountPoints, anyClusterRuns); err != nil {
		return err
	}
	return c.removeLock()
}

// Network returns the addresses of a running cluster.
func (c *Cluster) Network() (Network, error) {
	err := c.loadState()
	return c.net, err
}

// Kubeconfig returns the path of the administrator's kubeconfig. The file exists as long as the cluster.
func (c *Cluster) Kubeconfig() string { return c.cfg.Kubeconfig }

// LogDir returns the folder with one log file for each process.
func (c *Cluster) LogDir() string { return c.cfg.LogDir }

// RESTConfig returns the administrator's client configuration, without client-side rate limits.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.pki().kubeconfig("admin"))
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// Credentials returns the paths of a client certificate, its key and its authority. name is the identity, for example
// "etcd-client" or "admin".
func (c *Cluster) Credentials(name string) (cert, key, ca string) {
	p := c.pki()
	return p.cert(name), p.key(name), p.cert(clusterCA)
}

// path returns a path in the state folder.
func (c *Cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.cfg.Dir}, elem...)...)
}

// pki returns the certificates of the cluster. The addresses must be known before.
func (c *Cluster) pki() pki { return pki{dir: c.path("pki"), api: c.net.APIServer()} }

// renderAll writes the certificates and all configuration files. Unchanged files have the same content, so processes
// that read them are not restarted.
func (c *Cluster) renderAll() error {
	if err := c.pki().ensure(identities(c.net, c.cfg.Nodes)); err != nil {
		return err
	}
	if err := c.renderControlPlane(); err != nil {
		return err
	}
	if err := c.renderAddons(); err != nil {
		return err
	}
	for i := 1; i <= c.cfg.Nodes; i++ {
		if err := c.renderNode(i); err != nil {
			return err
		}
	}
	return nil
}

// startAll starts etcd and kube-apiserver, and at the same time imports the images into the nodes. Then it starts the
// components that need both. Objects of addons are applied in between, because their processes read them.
func (c *Cluster) startAll(ctx context.Context) error {
	// The two do not depend on each other.
	first, firstCtx := errgroup.WithContext(ctx)
	first.Go(func() error { return c.startEach(firstCtx, c.etcd(), c.apiServer()) })
	for i := 1; i <= c.cfg.Nodes; i++ {
		first.Go(func() error { return c.startRuntime(firstCtx, i) })
	}
	if err := first.Wait(); err != nil {
		return err
	}
	if err := c.applyAddons(ctx); err != nil {
		return err
	}
	second, secondCtx := errgroup.WithContext(ctx)
	for _, component := range c.components() {
		second.Go(func() error { return c.startEach(secondCtx, component) })
	}
	return second.Wait()
}

// startEach starts components one after the other, and waits for each.
func (c *Cluster) startEach(ctx context.Context, list ...component) error {
	for _, component := range list {
		started, err := c.ensureComponent(ctx, component)
		if err != nil {
			return err
		}
		if started {
			c.progress("%s is ready", component.name)
		}
	}
	return nil
}

// writeKubeconfig writes the kubeconfig for users, unless it is there already.
func (c *Cluster) writeKubeconfig() error {
	data, err := os.ReadFile(c.pki().kubeconfig("admin"))
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	if current, err := os.ReadFile(c.cfg.Kubeconfig); err == nil && string(current) == string(data) {
		return nil
	}
	if err := writeFile(c.cfg.Kubeconfig, data, 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// progress prints one line with the seconds since New.
func (c *Cluster) progress(format string, args ...any) {
	fmt.Fprintf(c.cfg.Out, "%6.1fs  %s\n", c.now().Sub(c.began).Seconds(), fmt.Sprintf(format, args...)) //nolint:errcheck // Progress only.
}
