package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/absentapi"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/ignoredflags"
	"kruise.io/kruise/pkg/nodeagent/cluster"
	"kruise.io/kruise/pkg/nodeagent/containerrestart"
)

// nodeNameEnv is the environment variable with the node name. The chart sets it from spec.nodeName.
const nodeNameEnv = "NODE_NAME"

// Rate limits for Kruise kinds. Each applies if its own flag is not set. They are higher than the defaults of the
// client: when the Pods of a node restart together, each Pod causes about six writes.
const (
	kruiseQPS   = 50
	kruiseBurst = 100
)

// Options holds the flags and the environment of the program. The names and defaults of the flags are those in
// existing manifests.
type Options struct {
	NodeName    string
	Kubeconfig  string
	QPS         float32
	Burst       int
	Addr        string
	EnablePprof bool
	PprofAddr   string
	// RunDir is where the run directory of the node is mounted in the container. SocketFile is relative to it.
	RunDir     string
	SocketFile string
	Gates      featuregate.MutableFeatureGate
	Logs       *logs.Options

	PluginConfigFile string
	PluginBinDir     string
	// MaxPulls is how many images are pulled at once. Zero or less means no limit.
	MaxPulls   int
	CRRWorkers int
}

// NewOptions returns the defaults, with the node name from the environment.
func NewOptions() (*Options, error) {
	gates, err := features.New("")
	if err != nil {
		return nil, err
	}
	return &Options{
		NodeName:  os.Getenv(nodeNameEnv),
		Addr:      "127.0.0.1:10221",
		PprofAddr: "localhost:10222",
		RunDir:    "/hostvarrun",
		Gates:     gates,
		Logs:      logs.NewOptions(),

		PluginConfigFile: "/kruise/CredentialProviderPlugin.yaml",
		PluginBinDir:     "/kruise/plugins",
		MaxPulls:         -1,
		CRRWorkers:       containerrestart.DefaultWorkers,
	}, nil
}

// AddFlags adds the flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Addr, "addr", o.Addr, "Address that serves /livez, /healthz, /readyz and /metrics.")
	flags.StringVar(&o.RunDir, "run-dir", o.RunDir, "Directory where the run directory of the node is mounted.")
	flags.StringVar(&o.SocketFile, "socket-file", o.SocketFile,
		"Path of the container runtime's socket, relative to --run-dir. If empty, the agent tries the well-known paths.")
	flags.BoolVar(&o.EnablePprof, "enable-pprof", o.EnablePprof, "Serve Go profiles on --pprof-addr.")
	flags.StringVar(&o.PprofAddr, "pprof-addr", o.PprofAddr, "Address that serves Go profiles.")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Path to a kubeconfig. If empty, the service account of the Pod is used.")
	flags.Float32Var(&o.QPS, "rest-config-qps", o.QPS, "Maximum requests per second to the API server. 0 means the client's "+
		"default, and 50 for Kruise kinds.")
	flags.IntVar(&o.Burst, "rest-config-burst", o.Burst, "Maximum burst of requests above --rest-config-qps. 0 means the "+
		"client's default, and 100 for Kruise kinds.")
	flags.StringVar(&o.PluginConfigFile, "plugin-config-file", o.PluginConfigFile,
		"File with a CredentialProviderConfig, in the kubelet's format. It configures plugins that provide registry credentials. The file is "+
			"optional.")
	flags.StringVar(&o.PluginBinDir, "plugin-bin-dir", o.PluginBinDir, "Directory of the plugins that --plugin-config-file names.")
	flags.IntVar(&o.MaxPulls, "max-workers-for-pull-image", o.MaxPulls,
		"Maximum number of concurrent image pulls. 0 or less means no limit.")
	flags.IntVar(&o.CRRWorkers, "crr-workers", o.CRRWorkers,
		"Maximum number of Pods whose ContainerRecreateRequests are processed concurrently. Containers that stop slowly need no worker.")
	o.Gates.AddFlag(flags)
	logsapi.AddFlags(o.Logs, flags)
	ignoredflags.Add(flags, ignoredflags.Klog())
}

// Validate returns all errors in the options.
func (o *Options) Validate() error {
	var errs []error
	if o.NodeName == "" {
		errs = append(errs, fmt.Errorf("environment variable %s is empty; set it to the node's name (in a Pod, from spec.nodeName)",
			nodeNameEnv))
	}
	errs = append(errs, validateAddr("addr", o.Addr))
	if o.EnablePprof {
		errs = append(errs, validateAddr("pprof-addr", o.PprofAddr))
	}
	if o.SocketFile != "" && !filepath.IsLocal(o.SocketFile) {
		errs = append(errs, fmt.Errorf("--socket-file=%s: use a path relative to %s and below it", o.SocketFile, o.RunDir))
	}
	if o.CRRWorkers < 1 {
		errs = append(errs, fmt.Errorf("--crr-workers=%d: use 1 or more", o.CRRWorkers))
	}
	if o.QPS < 0 {
		errs = append(errs, fmt.Errorf("--rest-config-qps=%v: use 0 or more", o.QPS))
	}
	if o.Burst < 0 {
		errs = append(errs, fmt.Errorf("--rest-config-burst=%d: use 0 or more", o.Burst))
	}
	return errors.Join(errs...)
}

// validateAddr returns an error if the address has no port.
func validateAddr(flag, addr string) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("--%s=%s: use host:port or :port: %w", flag, addr, err)
	}
	return nil
}

// Config contains everything that Run needs. Nothing in it has been started.
type Config struct {
	Options
	Client cluster.Interface
}

// Config sets the feature gates and creates the client. Its only I/O is reading the kubeconfig.
func (o *Options) Config(ctx context.Context) (*Config, error) {
	forced, err := features.Cascade(o.Gates)
	if err != nil {
		return nil, err
	}
	logger := klog.FromContext(ctx)
	for _, f := range forced {
		logger.Info("A feature gate sets another one", "gate", f.Gate, "value", f.Value, "by", f.By, "byValue", f.ByValue)
	}
	if ignored := features.Ignored(o.Gates); len(ignored) > 0 {
		logger.Info("Warning: feature gates are accepted for compatibility and have no effect", "gates", ignored)
	}
	config, err := o.restConfig()
	if err != nil {
		return nil, fmt.Errorf("load the cluster's address and credentials: %w", err)
	}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	config = rest.AddUserAgent(config, component)
	config.Wrap(absentapi.Wrap)
	client, err := cluster.New(o.limit(config))
	if err != nil {
		return nil, err
	}
	return &Config{Options: *o, Client: client}, nil
}

// limit sets the rate limits of both configurations: kube for kinds of Kubernetes and apps for Kruise kinds. A flag of the
// user applies to both. For kube, zero leaves the default of the client.
func (o *Options) limit(config *rest.Config) (kube, apps *rest.Config) {
	kube, apps = rest.CopyConfig(config), rest.CopyConfig(config)
	kube.QPS, kube.Burst = o.QPS, o.Burst
	apps.QPS, apps.Burst = cmp.Or(o.QPS, kruiseQPS), cmp.Or(o.Burst, kruiseBurst)
	return kube, apps
}

// restConfig returns the configuration of the kubeconfig, or that of the Pod's service account.
func (o *Options) restConfig() (*rest.Config, error) {
	if o.Kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
}
