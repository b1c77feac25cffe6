package store

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

const (
	memberName   = "kruise"
	clientSocket = "client.sock"
	httpSocket   = "http.sock"
	// Linux takes 108 bytes for a socket's path, the closing zero included.
	maxSocketPath = 107
	// advertised is what the single member calls itself: etcd wants host:port, and nobody dials it.
	advertised = "unix://embedded:0"
)

const (
	// DefaultMaxRequestBytes is etcd's own limit for a request, and so what an external etcd has
	// unless its operator changed it.
	DefaultMaxRequestBytes = embed.DefaultMaxRequestBytes
	// DefaultQuotaBytes is etcd's own default for its database's size.
	DefaultQuotaBytes = int64(2 << 30)
	// DefaultLockPatience is as long as the chart lets an apiserver take to end.
	DefaultLockPatience = time.Minute
)

// Config says where the embedded etcd keeps its data and how much of it.
type Config struct {
	// Dir holds the data and the socket. It is created with mode 0700.
	Dir string
	// QuotaBytes is the size at which etcd refuses writes.
	QuotaBytes int64
	// MaxRequestBytes bounds one request: an object and its key.
	MaxRequestBytes uint
	// LockPatience is how long to wait for another process to leave the directory.
	LockPatience time.Duration
}

// Embedded is a running etcd member with one client, this process.
type Embedded struct {
	etcd     *embed.Etcd
	lock     *os.File
	logLevel zap.AtomicLevel
	// Endpoint is the client URL of the member.
	Endpoint string
}

// Start starts the member and returns when it serves. It fails when another process goes on holding
// the directory. The caller stops the member with Stop, after its last request.
func Start(ctx context.Context, config Config) (*Embedded, error) {
	dir, err := prepareDir(config.Dir)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(ctx, dir, config.LockPatience)
	if err != nil {
		return nil, err
	}
	e := &Embedded{lock: lock, logLevel: zap.NewAtomicLevelAt(zap.WarnLevel), Endpoint: "unix://" + filepath.Join(dir, clientSocket)}
	if err := e.start(ctx, dir, config); err != nil {
		e.Stop()
		return nil, fmt.Errorf("start the embedded etcd in %s: %w", dir, err)
	}
	klog.FromContext(ctx).Info("Embedded etcd serves", "dir", dir)
	return e, nil
}

func (e *Embedded) start(ctx context.Context, dir string, config Config) error {
	etcdConfig, err := memberConfig(dir, config, e.logLevel)
	if err != nil {
		return err
	}
	if e.etcd, err = embed.StartEtcd(etcdConfig); err != nil {
		return err
	}
	for _, socket := range []string{clientSocket, httpSocket} {
		if err := os.Chmod(filepath.Join(dir, socket), 0o600); err != nil {
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

// Err delivers what made the member stop on its own.
func (e *Embedded) Err() <-chan error { return e.etcd.Err() }

// Stop ends the member gracefully and releases the directory.
func (e *Embedded) Stop() {
	if e.etcd != nil {
		e.logLevel.SetLevel(zap.FatalLevel) // it reports every listener that it closes as an error
		e.etcd.Close()
	}
	_ = e.lock.Close()
}

func memberConfig(dir string, config Config, level zap.AtomicLevel) (*embed.Config, error) {
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
		return nil, fmt.Errorf("make etcd's logger: %w", err)
	}
	c := embed.NewConfig()
	c.Name = memberName
	c.Dir = dir
	c.ListenClientUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(dir, clientSocket)}}
	// One listener for gRPC alone: sharing it with HTTP delays watches, and etcd warns of it.
	c.ListenClientHttpUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(dir, httpSocket)}}
	// The socket's mode is all the authentication there is, and etcd warns of its own default.
	c.AuthToken = ""
	// No peer ever joins, and etcd would make an abstract socket, open to every user, of a unix URL.
	c.ListenPeerUrls = nil
	c.AdvertiseClientUrls = []url.URL{*advertise}
	c.AdvertisePeerUrls = []url.URL{*advertise}
	c.InitialCluster = c.InitialClusterFromName(memberName)
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger.Named("etcd"))
	c.QuotaBackendBytes = config.QuotaBytes
	c.MaxRequestBytes = config.MaxRequestBytes
	// The apiserver compacts every five minutes; this is for a process that has stopped doing so.
	c.AutoCompactionMode = embed.CompactorModePeriodic
	c.AutoCompactionRetention = "1h"
	// What is kept in memory for members that lag behind: there are none.
	c.SnapshotCatchUpEntries = 100
	c.EnableGRPCGateway = false
	c.WarningApplyDuration = embed.DefaultWarningApplyDuration
	c.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	return c, nil
}
