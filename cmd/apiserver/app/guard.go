package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/apiserver/guard"
	"kruise.io/kruise/pkg/apiserver/turns"
	"kruise.io/kruise/pkg/registry/rest"
)

const (
	// reconnectWithin is the maximum delay until the client tries etcd again after an outage.
	reconnectWithin = 3 * time.Second
	// redialPeriod is the delay between two attempts to connect.
	redialPeriod = 500 * time.Millisecond
	// verifyTimeout limits the check of a store before a connection to it is used.
	verifyTimeout = 10 * time.Second
)

// guardStore runs the guard, which opens the store when it can. If the guard closes later, the process ends by end,
// with the reason as its cause. It returns at once; the server starts to listen while the store is still closed.
func guardStore(ctx context.Context, options *Options, config *apiserver.Config, end context.CancelCauseFunc) error {
	kube, err := kubernetes.NewForConfig(config.Generic.ClientConfig)
	if err != nil {
		return fmt.Errorf("create a client for the host cluster: %w", err)
	}
	objects, err := metadata.NewForConfig(config.Generic.ClientConfig)
	if err != nil {
		return fmt.Errorf("create a client for the host cluster: %w", err)
	}
	store, err := options.Store.record(options.Store.Etcd.StorageConfig.Transport.ServerList...)
	if err != nil {
		return err
	}
	go func() {
		defer func() { _ = store.Client.Close() }()
		err := config.Guard.Run(ctx, guard.Config{
			Store: store, Kube: kube, Metadata: objects, Namespace: options.Certificates.Namespace, Name: options.Store.ConfigMap,
			Groups: apiserver.GroupNames(), Open: config.Storages.Open, AwaitsTakeover: options.Store.AwaitTakeover,
		})
		// The guard ends by itself only if the store is not the one that it opened.
		if ctx.Err() == nil {
			end(err)
		}
	}()
	return nil
}

// withoutEtcd removes etcd from /livez, because a restart does not repair etcd. /readyz still checks it.
func withoutEtcd(config *genericapiserver.RecommendedConfig) {
	config.LivezChecks = slices.DeleteFunc(config.LivezChecks, func(check healthz.HealthChecker) bool { return check.Name() == "etcd" })
}

// record returns the guard's client of etcd. It does not wait for a connection.
func (o *StoreOptions) record(endpoints ...string) (*guard.Etcd, error) {
	client, err := o.client(endpoints...)
	if err != nil {
		return nil, err
	}
	return &guard.Etcd{Client: client, Prefix: o.Etcd.StorageConfig.Prefix, Groups: sets.List(apiserver.GroupNames())}, nil
}

// turns returns the locks in etcd that order writes. It does not wait for a connection. The keys are below the prefix
// of the store, so installations that share an etcd do not wait for each other.
func (o *StoreOptions) turns(explain func(error) error) (*turns.Turns, error) {
	client, err := o.client(o.Etcd.StorageConfig.Transport.ServerList...)
	if err != nil {
		return nil, err
	}
	return turns.New(client, o.Etcd.StorageConfig.Prefix, explain), nil
}

// client returns a client of etcd beside that of the generic server. It notices a dead connection after 15 seconds,
// and an etcd that returns after at most reconnectWithin.
func (o *StoreOptions) client(endpoints ...string) (*clientv3.Client, error) {
	security, err := clientTLS(o.Etcd.StorageConfig.Transport)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, TLS: security, Logger: zap.NewNop(), DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectWithin},
			MinConnectTimeout: reconnectWithin,
		})},
	})
	if err != nil {
		return nil, fmt.Errorf("create a client for etcd: %w", err)
	}
	return client, nil
}

// clientTLS returns nil if no file is configured, like the generic server.
func clientTLS(config storagebackend.TransportConfig) (*tls.Config, error) {
	if config.CertFile == "" && config.KeyFile == "" && config.TrustedCAFile == "" {
		return nil, nil //nolint:nilnil // etcd's client takes nil for a connection without TLS
	}
	info := transport.TLSInfo{CertFile: config.CertFile, KeyFile: config.KeyFile, TrustedCAFile: config.TrustedCAFile}
	security, err := info.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the files of --etcd-cafile, --etcd-certfile and --etcd-keyfile: %w", err)
	}
	return security, nil
}

// verifyConnections checks each new connection to an external etcd. A connection to another store than the served one
// is refused. The embedded etcd needs no check, because it runs only as long as this process. It uses the hook of the
// generic server for its own dialer, which is the only place before the first request of a connection.
func (o *StoreOptions) verifyConnections(g *guard.Guard) {
	to := &o.Etcd.StorageConfig.Transport
	// The dialer gets host and port only, but a connection also needs the scheme.
	schemes := map[string]string{}
	for _, endpoint := range to.ServerList {
		address, err := url.Parse(endpoint)
		// An address that cannot be matched to an endpoint leaves all connections unchecked; the guard still probes
		// the store every second.
		if err != nil || address.Host == "" || strings.HasPrefix(address.Scheme, "unix") {
			return
		}
		schemes[address.Host] = endpoint
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		// The check uses a connection of its own to the same address, and comes before the one that requests use.
		err := g.Verify(ctx, func(ctx context.Context) (guard.Reading, error) {
			return o.readAt(ctx, schemes[address])
		})
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	dial = untilConnected(dial)
	to.EgressLookup = func(egressselector.NetworkContext) (utilnet.DialFunc, error) { return dial, nil }
}

// untilConnected retries dial until the context of the attempt ends. The etcd client itself would wait up to two
// minutes between attempts after a long outage.
func untilConnected(dial utilnet.DialFunc) utilnet.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		for {
			connection, err := dial(ctx, network, address)
			if err == nil {
				return connection, nil
			}
			select {
			case <-ctx.Done():
				return nil, err
			case <-time.After(redialPeriod):
			}
		}
	}
}

// readAt reads the record from one etcd member, over a connection of its own, which it closes again. An unknown
// endpoint means the first one.
func (o *StoreOptions) readAt(ctx context.Context, endpoint string) (guard.Reading, error) {
	if endpoint == "" {
		endpoint = o.Etcd.StorageConfig.Transport.ServerList[0]
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	store, err := o.record(endpoint)
	if err != nil {
		return guard.Reading{}, err
	}
	defer func() { _ = store.Client.Close() }()
	return store.Read(ctx)
}

// uncached returns the kinds whose watch cache the flags disable. The server builds its caches itself
// (pkg/apiserver/gated), so it has to evaluate these flags of the generic server too.
func (o *StoreOptions) uncached(kinds []rest.AnyKind) ([]schema.GroupResource, error) {
	sizes, err := genericoptions.ParseWatchCacheSizes(o.Etcd.WatchCacheSizes)
	if err != nil {
		return nil, fmt.Errorf("--watch-cache-sizes: %w", err)
	}
	var uncached []schema.GroupResource
	for _, kind := range kinds {
		size, named := sizes[kind.Resource()]
		if !o.Etcd.EnableWatchCache || named && size == 0 {
			uncached = append(uncached, kind.Resource())
		}
	}
	return uncached, nil
}
