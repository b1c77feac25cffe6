package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/sidecarset"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/ignoredflags"
)

// Options holds the flags. Their names and defaults are those in existing manifests.
type Options struct {
	Kubeconfig string
	QPS        float64
	Burst      int
	Namespace  string
	SyncPeriod string

	// An empty address, or "0", serves nothing.
	MetricsAddr, HealthAddr, PprofAddr string
	EnablePprof                        bool

	Election Election

	// BaseDelay, MaxDelay, QueueQPS and BucketSize limit the retries of each controller.
	BaseDelay, MaxDelay time.Duration
	QueueQPS            int
	BucketSize          int
	ExpectationTimeout  time.Duration
	// Workers holds the number of workers, by the name of the controller.
	Workers                       map[string]*int
	ScalingExcludePreparingDelete bool
	// AssignPodsByScheduler lets the scheduler bind the Pods of DaemonSets, and AssignJobPodsByScheduler those of BroadcastJobs.
	AssignPodsByScheduler, AssignJobPodsByScheduler bool

	// ProtectionLogPath is a directory, or - for the standard output.
	ProtectionLogPath string
	// SystemNamespace is the namespace of the programs, which has the revisions of SidecarSets.
	SystemNamespace string
	// PullSecretsNamespace is the namespace of the copies of pull secrets.
	PullSecretsNamespace   string
	NodeImageCreationDelay time.Duration
	NodeImageTagTTLSeconds int

	// Kinds are the kinds that have a controller, from the environment variable CUSTOM_RESOURCE_ENABLE. If it is empty, all have.
	Kinds    sets.Set[string]
	Features featuregate.MutableFeatureGate
	Logging  *logsapi.LoggingConfiguration

	// sidecars are the metrics of SidecarSets. They are nil until they are registered.
	sidecars *sidecarset.Metrics
	// ignored lists the given flags that have no effect, and ignoredEnv the variables of the environment.
	ignored, ignoredEnv []string
}

// leases is the kind of the lock of the leader election.
const leases = resourcelock.LeasesResourceLock

// leaseLocks are the accepted values of the flag for the lock. The others of existing manifests have a Lease and an object of an
// older kind. The Lease alone excludes a replica that holds both.
var leaseLocks = []string{leases, "configmapsleases", "endpointsleases"}

// Election holds the flags of the leader election.
type Election struct {
	Enabled                                   bool
	Namespace, ID, ResourceLock               string
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// NewOptions returns the defaults. getenv reads the environment. AddFlags sets the number of workers.
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
			Enabled: true, Namespace: namespace, ID: "kruise-manager", ResourceLock: leases,
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		},
		BaseDelay: 5 * time.Millisecond, MaxDelay: 1000 * time.Second, QueueQPS: 10, BucketSize: 100,
		ExpectationTimeout:    5 * time.Minute,
		AssignPodsByScheduler: true, AssignJobPodsByScheduler: true,
		ProtectionLogPath: "/log", SystemNamespace: namespace,
		PullSecretsNamespace:   cmp.Or(getenv(pub.DaemonConfigNamespaceEnv), pub.DaemonConfigNamespace),
		NodeImageCreationDelay: 30 * time.Second, NodeImageTagTTLSeconds: 300,
		ignoredEnv: givenEnv(getenv),
		Workers:    map[string]*int{}, Kinds: listed(legacyKinds), Features: gate, Logging: logsapi.NewLoggingConfiguration(),
	}, nil
}

// listed returns the members of a comma-separated list. Empty members are ignored.
func listed(text string) sets.Set[string] {
	names := sets.New[string]()
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names.Insert(name)
		}
	}
	return names
}

// AddFlags adds the flags. Each controller in the table gets a flag for its workers.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Path to a kubeconfig. If empty, the service account of the Pod is used.")
	fs.Float64Var(&o.QPS, "rest-config-qps", o.QPS,
		"Maximum requests per second to the API server. 0 means the client's default, -1 means no limit.")
	fs.IntVar(&o.Burst, "rest-config-burst", o.Burst, "Maximum burst of requests above --rest-config-qps. 0 means the client's default.")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace,
		"Namespace to which the controllers are restricted. If empty, they work in all namespaces.")
	fs.StringVar(&o.SyncPeriod, "sync-period", o.SyncPeriod,
		"Interval at which every object is reconciled again, such as \"10h\". If empty, this never happens.")
	fs.StringVar(&o.MetricsAddr, "metrics-addr", o.MetricsAddr, "Address that serves /metrics.")
	fs.StringVar(&o.HealthAddr, "health-probe-addr", o.HealthAddr, "Address that serves /healthz and /readyz.")
	fs.BoolVar(&o.EnablePprof, "enable-pprof", o.EnablePprof, "Serve Go profiles on --pprof-addr.")
	fs.StringVar(&o.PprofAddr, "pprof-addr", o.PprofAddr, "Address that serves /debug/pprof. By default, only this host can reach it.")

	e := &o.Election
	fs.BoolVar(&e.Enabled, "enable-leader-election", e.Enabled, "Elect a leader, so that only one of several replicas is active.")
	fs.StringVar(&e.Namespace, "leader-election-namespace", e.Namespace, "Namespace of the Lease. The default is $POD_NAMESPACE.")
	fs.StringVar(&e.ID, "leader-election-id", e.ID, "Name of the Lease.")
	fs.StringVar(&e.ResourceLock, "leader-election-resource-lock", e.ResourceLock, "Kind of the lock. Only \"leases\" is supported.")
	fs.DurationVar(&e.LeaseDuration, "leader-election-lease-duration", e.LeaseDuration,
		"How long other replicas wait for a renewal before they take over.")
	fs.DurationVar(&e.RenewDeadline, "leader-election-renew-deadline", e.RenewDeadline,
		"How long the leader tries to renew the Lease before it stops.")
	fs.DurationVar(&e.RetryPeriod, "leader-election-retry-period", e.RetryPeriod, "Interval between attempts to acquire or renew the Lease.")

	fs.DurationVar(&o.BaseDelay, "rate-limiter-base-delay", o.BaseDelay, "Delay before the first retry.")
	fs.DurationVar(&o.MaxDelay, "rate-limiter-max-delay", o.MaxDelay, "Maximum delay before a retry.")
	fs.IntVar(&o.QueueQPS, "rate-limiter-qps", o.QueueQPS, "Maximum retries per second in one controller.")
	fs.IntVar(&o.BucketSize, "rate-limiter-bucket-size", o.BucketSize, "Maximum burst of retries above --rate-limiter-qps.")
	fs.DurationVar(&o.ExpectationTimeout, "expectation-timeout", o.ExpectationTimeout,
		"How long a controller waits for its cache to show a write before it reads from the server.")
	fs.BoolVar(&o.ScalingExcludePreparingDelete, "cloneset-scaling-exclude-preparing-delete", o.ScalingExcludePreparingDelete,
		"Do not count Pods that wait for a preDelete hook as replicas of a CloneSet.")
	fs.BoolVar(&o.AssignPodsByScheduler, "assign-pods-by-scheduler", o.AssignPodsByScheduler,
		"Let the scheduler bind the Pods of DaemonSets to their nodes. Otherwise the controller sets spec.nodeName.")
	fs.BoolVar(&o.AssignJobPodsByScheduler, "assign-bcj-pods-by-scheduler", o.AssignJobPodsByScheduler,
		"Let the scheduler bind the Pods of BroadcastJobs to their nodes. Otherwise the controller sets spec.nodeName.")
	fs.DurationVar(&o.NodeImageCreationDelay, "nodeimage-creation-delay", o.NodeImageCreationDelay,
		"How long a node must be ready before the controller creates its NodeImage.")
	fs.IntVar(&o.NodeImageTagTTLSeconds, "default-ttlseconds-for-always-nodeimage", o.NodeImageTagTTLSeconds,
		"Seconds that the tags of a finished ImagePullJob remain in NodeImages, in addition to the job's own value.")
	for _, descriptor := range controllers {
		workers := 3
		if more, found := moreWorkers[descriptor.name]; found {
			workers = more
		}
		o.Workers[descriptor.name] = &workers
		fs.IntVar(&workers, descriptor.name+"-workers", workers,
			fmt.Sprintf("Maximum number of %s objects reconciled concurrently.", descriptor.name))
	}
	fs.StringVar(&o.ProtectionLogPath, "protection-log-path", o.ProtectionLogPath,
		"Directory of protection.log, which contains a line for each Pod whose update in place waits for a PodUnavailableBudget. Use - for "+
			"standard output. If the file cannot be opened, the log goes to standard output.")
	o.Features.AddFlag(fs)
	logsapi.AddFlags(o.Logging, fs)
	ignoredflags.Add(fs, ignored())
}

// maxTagTTLSeconds is 31 days.
const maxTagTTLSeconds = 31 * 24 * 3600

// unlimited disables the client-side rate limit. API servers protect themselves by priority and fairness.
const unlimited = -1

// Validate returns an error if a value cannot work. It returns the first one.
func (o *Options) Validate() error {
	if !slices.Contains(leaseLocks, o.Election.ResourceLock) {
		return fmt.Errorf("--leader-election-resource-lock: %q is not supported: set it to %q", o.Election.ResourceLock, leases)
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
		return fmt.Errorf("--nodeimage-creation-delay: %v is negative; set it to 0s or more", o.NodeImageCreationDelay)
	}
	if o.NodeImageTagTTLSeconds < 0 || o.NodeImageTagTTLSeconds > maxTagTTLSeconds {
		return fmt.Errorf("--default-ttlseconds-for-always-nodeimage: %d: use a value from 0 to %d", o.NodeImageTagTTLSeconds, maxTagTTLSeconds)
	}
	if o.QPS < 0 && o.QPS != unlimited || o.Burst < 0 {
		return fmt.Errorf("--rest-config-qps and --rest-config-burst: %g and %d: set them to 0 or more, or --rest-config-qps to -1 for no limit",
			o.QPS, o.Burst)
	}
	return nil
}

// resync returns the period of the resync, or zero for none.
func (o *Options) resync() (time.Duration, error) {
	if o.SyncPeriod == "" {
		return 0, nil
	}
	period, err := time.ParseDuration(o.SyncPeriod)
	if err != nil || period < 0 {
		return 0, fmt.Errorf("--sync-period: %q is not a duration; use a value such as \"10h\" or \"90s\"", o.SyncPeriod)
	}
	return period, nil
}
