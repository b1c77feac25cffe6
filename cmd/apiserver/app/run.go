package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/apiserver/certificates"
	"kruise.io/kruise/pkg/apiserver/guard"
	"kruise.io/kruise/pkg/apiserver/store"
	"kruise.io/kruise/pkg/memorylimit"
)

const (
	// certificateTimeout limits the wait for the first certificate. After it, the process exits and is restarted.
	certificateTimeout = 2 * time.Minute
	// closedPatience is how long running requests may take after the store has closed.
	closedPatience = 10 * time.Second
)

// Run serves until ctx ends or the embedded store stops. The store starts first, because the configuration of the
// server needs its endpoint; it stops last, after the server has answered its last request. An error is the cause of
// the end, such as a store that closed or was restored; the container restarts the process then.
func Run(ctx context.Context, options *Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit, err := memorylimit.Apply(os.Getenv)
	if err != nil {
		return err
	}
	// An external etcd has its own operator, so only an embedded one has a limit of space here.
	space := func() string { return "" }
	if options.Store.Embedded() {
		embedded, err := startStore(ctx, options.Store, limit, cancel)
		if err != nil {
			return err
		}
		defer embedded.Stop() // Stop the store after the last request.
		keeper, err := embedded.Space()
		if err != nil {
			return err
		}
		go keeper.Run(ctx)
		space = keeper.Problem
	}
	config, err := options.Config(ctx)
	if err != nil {
		return err
	}
	config.Guard.LimitBy(space)
	if options.SecureServing.ServerCert.CertKey.CertFile == "" {
		if err := manageCertificates(ctx, options, config); err != nil {
			return err
		}
	}
	// New opens no storage. The guard opens them while the server runs.
	server, err := config.Complete().New()
	if err != nil {
		return err
	}
	if err := guardStore(ctx, options, config, cancel); err != nil {
		return err
	}
	if err := lookForDefinitions(ctx, options, config); err != nil {
		return err
	}
	if err := serve(ctx, server.PrepareRun().RunWithContext); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// serve runs the server until ctx ends and all requests are answered. If ctx ends because the store has closed, it
// waits only for closedPatience: such requests may never be answered, and the process must restart without its
// caches.
func serve(ctx context.Context, run func(context.Context) error) error {
	served := make(chan error, 1)
	// The server stops by itself when ctx ends; only the wait for it is limited here.
	go func() { served <- run(ctx) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	var enough <-chan time.Time
	// A nil channel is never ready, so without a closed store there is no limit.
	if errors.Is(context.Cause(ctx), guard.ErrClosed) {
		enough = time.After(closedPatience)
	}
	select {
	case err := <-served:
		return err
	case <-enough:
		return nil
	}
}

// startStore starts the embedded store. If the store stops by itself, or if the operator has restored another one,
// the process ends. It sets the endpoint in the options, so that the rest of the program sees no difference to an
// external etcd. memoryLimit is in bytes. 0 means no limit.
func startStore(ctx context.Context, options *StoreOptions, memoryLimit int64, end context.CancelCauseFunc) (*store.Embedded, error) {
	embedded, err := store.Start(ctx, store.Config{
		Dir:        options.DataDir,
		QuotaBytes: cmp.Or(options.QuotaBytes, quotaFor(memoryLimit)),
		// A quota of the operator is not raised.
		FitQuota: options.QuotaBytes == 0,
		// Do not use --max-object-bytes, so that objects stored under a higher limit can still be written.
		MaxRequestBytes: largestObjectBytes + requestOverhead,
		LockPatience:    options.LockPatience,
	})
	if err != nil {
		return nil, err
	}
	options.Etcd.StorageConfig.Transport.ServerList, options.Exclusive = []string{embedded.Endpoint}, true
	go func() {
		select {
		case <-ctx.Done():
		case err := <-embedded.Err():
			end(fmt.Errorf("the embedded etcd stopped: %w", err))
		}
	}()
	go func() {
		if err := embedded.WaitForRestore(ctx); err != nil {
			end(err)
		}
	}()
	return embedded, nil
}

// hostClients returns clients of the host cluster, for its objects and for its APIServices.
func hostClients(config *apiserver.Config) (kubernetes.Interface, clientset.Interface, error) {
	kube, err := kubernetes.NewForConfig(config.Generic.ClientConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("create a client for the host cluster: %w", err)
	}
	services, err := clientset.NewForConfig(config.Generic.ClientConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("create a client for the host cluster: %w", err)
	}
	return kube, services, nil
}

// manageCertificates waits for a certificate before the server starts, and renews it while the server runs. It is not
// used with certificates from files.
func manageCertificates(ctx context.Context, options *Options, config *apiserver.Config) error {
	client, aggregator, err := hostClients(config)
	if err != nil {
		return err
	}
	manager := certificates.New(certificates.Config{
		Kube:        client,
		Aggregator:  aggregator,
		Namespace:   options.Certificates.Namespace,
		SecretName:  options.Certificates.SecretName,
		APIServices: apiserver.APIServices(options.Gates.Kruise),
		DNSNames:    options.Certificates.DNSNames(),
		Policy:      certificates.DefaultPolicy,
		Clock:       options.Clock,
	})
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithName("certificates"))
	first, cancel := context.WithTimeout(ctx, certificateTimeout)
	defer cancel()
	if err := manager.WaitForFirst(first); err != nil {
		return err
	}
	config.Generic.SecureServing.Cert = manager
	go manager.Run(ctx)
	return nil
}
