package app

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics/legacyregistry"

	"kruise.io/kruise/pkg/absentapi"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/eventlimit"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	"kruise.io/kruise/pkg/protectionlog"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/serverclock"
	"kruise.io/kruise/pkg/workloadclient"
)

// protobuf is the content type for both API servers. Custom resources do not support it, so the answer may be JSON.
const protobuf = "application/vnd.kubernetes.protobuf"

// Config contains everything that Run needs. Nothing in it has been started. It is used by one Run.
type Config struct {
	options *Options
	deps    controller.Deps
	// kruise is also in deps. caches starts the informers that the controllers have requested.
	kruise      versioned.Interface
	caches      *controller.Caches
	controllers []*running
	broadcaster record.EventBroadcaster
	events      typedcorev1.EventsGetter
	lock        resourcelock.Interface
	leader      *leaderMetric
}

// running is a controller and its informers.
type running struct {
	*reconcile.Controller
	needs []controller.Need
}

// Config creates the clients and the controllers. It sends no request. Each client has a rate limit of its own, so
// events cannot delay writes.
func (o *Options) Config(ctx context.Context) (*Config, error) {
	base, err := o.clientConfig()
	if err != nil {
		return nil, err
	}
	c := &Config{options: o}
	clock := serverclock.New()
	core := rest.AddUserAgent(rest.CopyConfig(base), "kruise-manager")
	core.Wrap(clock.Wrap)
	kube, err := kubernetes.NewForConfig(core)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	if c.kruise, err = versioned.NewForConfig(rest.AddUserAgent(rest.CopyConfig(base), "kruise-manager")); err != nil {
		return nil, fmt.Errorf("create client for Kruise kinds: %w", err)
	}
	if c.events, err = typedcorev1.NewForConfig(rest.AddUserAgent(rest.CopyConfig(base), "kruise-manager-events")); err != nil {
		return nil, fmt.Errorf("create client for events: %w", err)
	}
	if err := o.setLock(c, base); err != nil {
		return nil, err
	}
	if err := c.setDeps(ctx, kube, clock); err != nil {
		return nil, err
	}
	if c.deps.Dynamic, err = dynamic.NewForConfig(rest.AddUserAgent(rest.CopyConfig(base), "kruise-manager")); err != nil {
		return nil, fmt.Errorf("create dynamic client: %w", err)
	}
	discovered := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kube.Discovery()))
	c.deps.Mapper = workloadclient.NewFreshMapper(discovered, clock)
	return c, c.makeControllers()
}

// clientConfig returns the configuration that all clients are made from.
func (o *Options) clientConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	config.ContentType = protobuf
	config.AcceptContentTypes = protobuf + ",application/json"
	config.QPS, config.Burst = float32(o.QPS), o.Burst
	config.Wrap(absentapi.Wrap)
	return config, nil
}

// setLock creates the Lease lock. Its client has its own rate limits, so that work of the controllers cannot delay
// the renewal. Without an election, there is no lock.
func (o *Options) setLock(c *Config, base *rest.Config) error {
	if !o.Election.Enabled {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this replica: %w", err)
	}
	config := rest.AddUserAgent(rest.CopyConfig(base), "leader-election")
	// Two attempts fit into the deadline.
	config.Timeout = o.Election.RenewDeadline / 2
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client for leader election: %w", err)
	}
	// The identity is unique for each start, so a restarted process does not mistake the Lease of its predecessor for
	// its own.
	identity := fmt.Sprintf("%s_%d_%d", host, os.Getpid(), time.Now().UnixNano())
	c.lock, err = resourcelock.New(resourcelock.LeasesResourceLock, o.Election.Namespace, o.Election.ID,
		client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		return fmt.Errorf("create Lease lock: %w", err)
	}
	return nil
}

// setDeps creates what all controllers share. makeControllers gives each one a copy with its own options and its own
// record of the kinds that it reads.
func (c *Config) setDeps(ctx context.Context, kube kubernetes.Interface, clock *serverclock.Clock) error {
	o := c.options
	resync, err := o.resync()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kruisescheme.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("create scheme: %w", err)
		}
	}
	c.broadcaster = record.NewBroadcaster(record.WithContext(ctx), eventlimit.PerReason(0))
	// The metrics are registered before the controllers exist, because the controllers only use them.
	m, err := newMetrics(legacyregistry.Register)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	c.leader, o.sidecars = m.leader, m.sidecars
	c.caches = controller.NewCaches(kube, c.kruise, o.Namespace, resync)
	c.deps = controller.Deps{
		Kube: kube, Kruise: c.kruise,
		Recorder: func(component string) record.EventRecorder {
			return c.broadcaster.NewRecorder(scheme, corev1.EventSource{Component: component})
		},
		Features: o.Features, Clock: clock, ExpectationTimeout: o.ExpectationTimeout,
		Consistency: m.consistency, Rollouts: m.rollouts, BudgetRefusals: m.refusals, AgentMetrics: m.agents,
		ProtectionLog: protectionlog.Open(ctx, o.ProtectionLogPath), Leftovers: &controller.Leftovers{},
		Options: reconcile.Options{
			BaseDelay: o.BaseDelay, MaxDelay: o.MaxDelay, QPS: float64(o.QueueQPS), BucketSize: o.BucketSize, Metrics: m.queues,
		},
	}
	return nil
}

// makeControllers creates the enabled controllers and records which kinds each of them reads. The kinds decide when
// its informers can start.
func (c *Config) makeControllers() error {
	for _, descriptor := range controllers {
		if !descriptor.starts(c.options, c.deps.Features) {
			continue
		}
		deps := c.caches.For(c.deps)
		deps.Options.Workers = *c.options.Workers[descriptor.name]
		made, err := descriptor.new(deps, c.options)
		if err != nil {
			return fmt.Errorf("create controller %s: %w", descriptor.name, err)
		}
		c.controllers = append(c.controllers, &running{made, deps.Needs()})
	}
	return nil
}
