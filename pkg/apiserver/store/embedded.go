package store

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

const (
	// memberName is the name of the only member. The data of a restored member has it too.
	memberName = "kruise"
	// Linux limits a socket path to 108 bytes including the terminating zero.
	maxSocketPath = 107
	// advertised is the URL that the only member advertises. etcd requires the form host:port, but no client connects to it.
	advertised = "unix://embedded:0"
)

const (
	// DefaultMaxRequestBytes is the default request limit of etcd, in bytes. An external etcd has the same limit
	// unless its operator changed it.
	DefaultMaxRequestBytes = embed.DefaultMaxRequestBytes
	// DefaultQuotaBytes is the default database quota of etcd, in bytes.
	DefaultQuotaBytes = int64(2 << 30)
	// NoQuota is the quota with which etcd never refuses writes.
	NoQuota = int64(-1)
	// DefaultLockPatience equals the termination grace period of the apiserver in the chart.
	DefaultLockPatience = time.Minute
)

// Config configures the embedded etcd.
type Config struct {
	// Dir holds the data and the socket. It is created with mode 0700.
	Dir string
	// QuotaBytes is the database size at which etcd refuses writes. NoQuota means no limit.
	QuotaBytes int64
	// FitQuota raises QuotaBytes if the database does not fit, so that a store that is larger already stays writable.
	FitQuota bool
	// MaxRequestBytes limits one request, which contains an object and its key.
	MaxRequestBytes uint
	// LockPatience is how long to wait until another process releases the directory.
	LockPatience time.Duration
}

// Embedded is a running etcd member. Only this process, and operator commands on the same machine, are its clients.
type Embedded struct {
	// lock is the open file that holds the lock of the directory. etcd is nil if it did not start.
	etcd     *embed.Etcd
	lock     *os.File
	logLevel zap.AtomicLevel
	sockets  sockets
	dir      string
	// quota is the database size at which the member refuses writes.
	quota int64
	// Endpoint is the client URL of the member.
	Endpoint string
}

// Start starts the member and returns when it serves. The error is ErrInUse if another process does not release the directory in
// time. The caller must call Stop after its last request. A restored store in the directory is put into place first.
func Start(ctx context.Context, config Config) (*Embedded, error) {
	dir, err := prepareDir(config.Dir)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(ctx, dir, config.LockPatience)
	if err != nil {
		return nil, err
	}
	paths := newSockets(dir)
	e := &Embedded{lock: lock, logLevel: zap.NewAtomicLevelAt(zap.WarnLevel), sockets: paths, dir: dir, Endpoint: "unix://" + paths.client}
	// Stop also releases the lock and closes what start has opened so far.
	if err := e.start(ctx, dir, config); err != nil {
		e.Stop()
		return nil, fmt.Errorf("start the embedded etcd in %s: %w", dir, err)
	}
	klog.FromContext(ctx).Info("Embedded etcd serves", "dir", dir)
	return e, nil
}

// start restricts the sockets to their owner as soon as they exist, and then waits until the member is ready. The
// caller holds the lock of the directory.
func (e *Embedded) start(ctx context.Context, dir string, config Config) error {
	if err := removeSockets(dir); err != nil {
		return err
	}
	if err := adoptRestored(ctx, dir); err != nil {
		return fmt.Errorf("use the restored store: %w", err)
	}
	// The database is the one that etcd serves now: no restored one can take its place before the next start.
	if config.FitQuota {
		size, err := databaseSize(dir)
		if err != nil {
			return fmt.Errorf("read the size of the store: %w", err)
		}
		config.QuotaBytes = fitQuota(config.QuotaBytes, size)
	}
	e.quota = config.QuotaBytes
	etcdConfig, err := memberConfig(dir, e.sockets, config, e.logLevel)
	if err != nil {
		return err
	}
	if e.etcd, err = embed.StartEtcd(etcdConfig); err != nil {
		return err
	}
	// Between the creation of a socket and this call, only the mode of the directory protects it.
	for _, socket := range []string{e.sockets.client, e.sockets.http} {
		if err := os.Chmod(socket, 0o600); err != nil {
			return err
		}
	}
	select {
	case <-e.etcd.Server.ReadyNotify():
		return nil
	case err := <-e.etcd.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Err returns a channel with the error that stopped the member. The process cannot serve after that.
func (e *Embedded) Err() <-chan error { return e.etcd.Err() }

// Stop stops the member gracefully and releases the directory. The lock is released last, so the next process never
// meets a running member.
func (e *Embedded) Stop() {
	if e.etcd != nil {
		e.logLevel.SetLevel(zap.FatalLevel) // etcd reports every listener that it closes as an error.
		e.etcd.Close()
	}
	_ = e.lock.Close()
}

// memberConfig returns the configuration of a single member that is reachable only through unix sockets.
func memberConfig(dir string, paths sockets, config Config, level zap.AtomicLevel) (*embed.Config, error) {
	advertise, err := url.Parse(advertised)
	if err != nil {
		return nil, err
	}
	logger, err := zap.Config{
		Level: level, Encoding: "json",
		EncoderConfig:    zap.NewProductionEncoderConfig(),
		OutputPaths:      []string{"stderr"},
		ErrorOutputPaths: []string{"stderr"},
	}.Build()
	if err != nil {
		return nil, fmt.Errorf("create etcd's logger: %w", err)
	}
	c := embed.NewConfig()
	c.Name = memberName
	c.Dir = dir
	c.ListenClientUrls = []url.URL{{Scheme: "unix", Path: paths.client}}
	// Use a listener for gRPC only. A listener that also serves HTTP delays watches, and etcd logs a warning about it.
	c.ListenClientHttpUrls = []url.URL{{Scheme: "unix", Path: paths.http}}
	// The mode of the socket is the only authentication. etcd logs a warning about its own default.
	c.AuthToken = ""
	// There are no peers. For a unix URL, etcd would create an abstract socket that every user can open.
	c.ListenPeerUrls = nil
	c.AdvertiseClientUrls = []url.URL{*advertise}
	c.AdvertisePeerUrls = []url.URL{*advertise}
	c.InitialCluster = c.InitialClusterFromName(memberName)
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger.Named("etcd"))
	c.QuotaBackendBytes = config.QuotaBytes
	c.MaxRequestBytes = config.MaxRequestBytes
	// The apiserver compacts every five minutes. This setting is for a process that has stopped doing so.
	c.AutoCompactionMode = embed.CompactorModePeriodic
	c.AutoCompactionRetention = "1h"
	// etcd keeps these entries in memory for slow followers. There are none.
	c.SnapshotCatchUpEntries = 100
	c.EnableGRPCGateway = false
	c.WarningApplyDuration = embed.DefaultWarningApplyDuration
	c.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	return c, nil
}
