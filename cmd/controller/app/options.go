package app

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
)

// Options holds the flags. Their names and defaults are those in existing manifests.
type Options struct {
	Kubeconfig string
	QPS        float64
	Burst      int
	Namespace  string
	SyncPeriod string

	MetricsAddr, HealthAddr, PprofAddr string
	EnablePprof                        bool

	Election Election

	BaseDelay, MaxDelay time.Duration
	QueueQPS            int
	BucketSize          int
	ExpectationTimeout  time.Duration
	// Workers holds the number of workers, by the name of the controller.
	Workers                       map[string]*int
	ScalingExcludePreparingDelete bool

	// PullSecretsNamespace is the namespace of the copies of pull secrets.
	PullSecretsNamespace   string
	NodeImageCreationDelay time.Duration
	NodeImageTagTTLSeconds int

	// Kinds are the kinds that have a controller, from the environment variable CUSTOM_RESOURCE_ENABLE. If it is empty, all have.
	Kinds    sets.Set[string]
	Features featuregate.MutableFeatureGate
	Logging  *logsapi.LoggingConfiguration

	// ignored lists the given flags that have no effect.
	ignored []string
}

// Election holds the flags of the leader election.
type Election struct {
	Enabled                                   bool
	Namespace, ID, ResourceLock               string
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// NewOptions returns the defaults. getenv reads the environment.
func NewOptions(getenv func(string) string) (*Options, error) {
	legacyKinds := getenv("CUSTOM_RESOURCE_ENABLE")
	gate, err := features.New(legacyKinds)
	if err != nil {
		return nil, err
	}
	namespace := getenv("POD_NAMESPACE")
	if namespace == "" {
		namespace = "kruise-system"
	}
	return &Options{
		QPS: 30, Burst: 50, MetricsAddr: ":8080", HealthAddr: ":8000", EnablePprof: true, PprofAddr: "localhost:8090",
		Election: Election{
			Enabled: true, Namespace: namespace, ID: "kruise-manager", ResourceLock: "leases",
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		},
		BaseDelay: 5 * time.Millisecond, MaxDelay: 1000 * time.Second, QueueQPS: 10, BucketSize: 100,
		ExpectationTimeout:     5 * time.Minute,
		PullSecretsNamespace:   cmp.Or(getenv(pub.DaemonConfigNamespaceEnv), pub.DaemonConfigNamespace),
		NodeImageCreationDelay: 30 * time.Second, NodeImageTagTTLSeconds: 300,
		Workers: map[string]*int{}, Kinds: listed(legacyKinds), Features: gate, Logging: logsapi.NewLoggingConfiguration(),
	}, nil
}

// listed returns the members of a comma-separated list.
func listed(text string) sets.Set[string] {
	names := sets.New[string]()
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names.Insert(name)
		}
	}
	return names
}

// AddFlags adds the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Path to a kubeconfig; empty means the service account of the Pod.")
	fs.Float64Var(&o.QPS, "rest-config-qps", o.QPS, "Requests per second to the API server; 0 means the client's default, -1 no limit.")
	fs.IntVar(&o.Burst, "rest-config-burst", o.Burst, "Requests at once beyond --rest-config-qps; 0 means the client's default.")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "Restrict caches to one namespace; empty means all.")
	fs.StringVar(&o.SyncPeriod, "sync-period", o.SyncPeriod, "Reconcile everything this often, e.g. \"10h\"; empty means never.")
	fs.StringVar(&o.MetricsAddr, "metrics-addr", o.MetricsAddr, "Address of /metrics.")
	fs.StringVar(&o.HealthAddr, "health-probe-addr", o.HealthAddr, "Address of /healthz and /readyz.")
	fs.BoolVar(&o.EnablePprof, "enable-pprof", o.EnablePprof, "Serve profiles.")
	fs.StringVar(&o.PprofAddr, "pprof-addr", o.PprofAddr, "Address of /debug/pprof; by default only this host reaches it.")

	e := &o.Election
	fs.BoolVar(&e.Enabled, "enable-leader-election", e.Enabled, "Let only one of several replicas work.")
	fs.StringVar(&e.Namespace, "leader-election-namespace", e.Namespace, "Namespace of the Lease; $POD_NAMESPACE by default.")
	fs.StringVar(&e.ID, "leader-election-id", e.ID, "Name of the Lease.")
	fs.StringVar(&e.ResourceLock, "leader-election-resource-lock", e.ResourceLock, "Kind of lock; only \"leases\" is supported.")
	fs.DurationVar(&e.LeaseDuration, "leader-election-lease-duration", e.LeaseDuration, "How long others wait before they take over.")
	fs.DurationVar(&e.RenewDeadline, "leader-election-renew-deadline", e.RenewDeadline, "How long the leader tries to renew.")
	fs.DurationVar(&e.RetryPeriod, "leader-election-retry-period", e.RetryPeriod, "How often the Lease is tried.")

	fs.DurationVar(&o.BaseDelay, "rate-limiter-base-delay", o.BaseDelay, "First delay of a retry.")
	fs.DurationVar(&o.MaxDelay, "rate-limiter-max-delay", o.MaxDelay, "Longest delay of a retry.")
	fs.IntVar(&o.QueueQPS, "rate-limiter-qps", o.QueueQPS, "Retries per second of one controller.")
	fs.IntVar(&o.BucketSize, "rate-limiter-bucket-size", o.BucketSize, "Retries at once beyond --rate-limiter-qps.")
	fs.DurationVar(&o.ExpectationTimeout, "expectation-timeout", o.ExpectationTimeout,
		"How long a cache may take to show a write before the controller goes on without it.")
	fs.BoolVar(&o.ScalingExcludePreparingDelete, "cloneset-scaling-exclude-preparing-delete", o.ScalingExcludePreparingDelete,
		"Leave Pods that a preDelete hook holds out of the replicas of every CloneSet.")
	fs.DurationVar(&o.NodeImageCreationDelay, "nodeimage-creation-delay", o.NodeImageCreationDelay,
		"How long a node is ready before it gets a NodeImage.")
	fs.IntVar(&o.NodeImageTagTTLSeconds, "default-ttlseconds-for-always-nodeimage", o.NodeImageTagTTLSeconds,
		"How many seconds the tags of an ImagePullJob that ends stay in NodeImages beyond what the job says.")
	for _, descriptor := range controllers {
		workers := 3
		o.Workers[descriptor.name] = &workers
		fs.IntVar(&workers, descriptor.name+"-workers", workers, fmt.Sprintf("How many %s objects are worked on at once.", descriptor.name))
	}
	o.Features.AddFlag(fs)
	logsapi.AddFlags(o.Logging, fs)
	o.addIgnored(fs)
}

// maxTagTTLSeconds is 31 days.
const maxTagTTLSeconds = 31 * 24 * 3600

// unlimited disables the client-side rate limit. API servers protect themselves by priority and fairness.
const unlimited = -1

// Validate returns an error if a value cannot work.
func (o *Options) Validate() error {
	if o.Election.ResourceLock != "leases" {
		return fmt.Errorf("--leader-election-resource-lock: %q is not supported: set it to \"leases\"", o.Election.ResourceLock)
	}
	if _, err := o.resync(); err != nil {
		return err
	}
	for name, workers := range o.Workers {
		if *workers < 1 {
			return fmt.Errorf("--%s-workers: %d is too few: set it to 1 or more", name, *workers)
		}
	}
	if o.NodeImageCreationDelay < 0 {
		return fmt.Errorf("--nodeimage-creation-delay: %v is negative: set it to 0s or more", o.NodeImageCreationDelay)
	}
	if o.NodeImageTagTTLSeconds < 0 || o.NodeImageTagTTLSeconds > maxTagTTLSeconds {
		return fmt.Errorf("--default-ttlseconds-for-always-nodeimage: %d: set it from 0 to %d", o.NodeImageTagTTLSeconds, maxTagTTLSeconds)
	}
	if o.QPS < 0 && o.QPS != unlimited || o.Burst < 0 {
		return fmt.Errorf("--rest-config-qps and --rest-config-burst: %g and %d: set them to 0 or more, or --rest-config-qps to -1 for no limit",
			o.QPS, o.Burst)
	}
	return nil
}

func (o *Options) resync() (time.Duration, error) {
	if o.SyncPeriod == "" {
		return 0, nil
	}
	period, err := time.ParseDuration(o.SyncPeriod)
	if err != nil || period < 0 {
		return 0, fmt.Errorf("--sync-period: %q is no duration: write it like \"10h\" or \"90s\"", o.SyncPeriod)
	}
	return period, nil
}
