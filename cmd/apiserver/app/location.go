package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/apiserver/operation"
	"kruise.io/kruise/pkg/apiserver/store"
)

// revisionMargin is how far the revision of a restored store is above the last revision that is known. Between the
// snapshot and the end of the server, there may be more writes. A gap costs nothing: revisions have 63 bits.
const revisionMargin = 100_000

// unknownMargin is the same if the last revision is not known: no server runs, or it runs with an empty store or one that is older than
// the snapshot.
const unknownMargin = 1_000_000_000

// location is where a command finds a store: an etcd, the data directory of an embedded one, or a snapshot.
// transport and prefix are for a running etcd, dataDir is for an embedded one. If there are servers in transport, the
// others are not used.
type location struct {
	transport storagebackend.TransportConfig
	prefix    string
	dataDir   string
	snapshot  string
	// anyPrefix replaces prefix by that of the only store in the snapshot.
	anyPrefix bool
	// patience is how long to wait for the lock of dataDir.
	patience time.Duration
	// quota is the size in bytes at which an etcd that the command starts refuses writes. See store.Config.
	quota int64
}

// newLocation returns the same defaults as the server, but without a quota: a command does not know the quota of the
// server, and must be able to write to every store that the server can write to.
func newLocation() *location {
	defaults := NewStoreOptions()
	return &location{
		prefix: defaults.Etcd.StorageConfig.Prefix, dataDir: defaults.DataDir, patience: store.DefaultLockPatience, quota: store.NoQuota,
	}
}

// addFlags adds the flags, which have the names of the server's flags after a prefix.
func (l *location) addFlags(fs *pflag.FlagSet, prefix string) {
	fs.StringSliceVar(&l.transport.ServerList, prefix+"etcd-servers", nil,
		"Addresses of the etcd cluster. Without them, the embedded store is used.")
	fs.StringVar(&l.prefix, prefix+"etcd-prefix", l.prefix, "Prefix of all keys.")
	fs.StringVar(&l.transport.TrustedCAFile, prefix+"etcd-cafile", "", "CA of the etcd cluster.")
	fs.StringVar(&l.transport.CertFile, prefix+"etcd-certfile", "", "Client certificate for the etcd cluster.")
	fs.StringVar(&l.transport.KeyFile, prefix+"etcd-keyfile", "", "Key of the client certificate.")
	fs.StringVar(&l.dataDir, prefix+"data-dir", l.dataDir, "Directory of the embedded store.")
}

// embedded returns true if no server of an etcd is given.
func (l *location) embedded() bool { return len(l.transport.ServerList) == 0 }

// tryPeriod is how often a command looks whether a server has started or has ended.
const tryPeriod = 100 * time.Millisecond

// open connects to the store. If it is embedded and no server runs, open starts it without a server. A server that starts or ends at this
// time has the directory, but serves no client: open waits until it serves, or until it has ended. The caller must call the returned
// function at the end.
func (l *location) open(ctx context.Context) (*operation.Store, func(), error) {
	if !l.embedded() {
		return l.connect(l.transport.ServerList...)
	}
	begin := time.Now()
	for {
		endpoint, err := store.Running(ctx, l.dataDir)
		if err != nil {
			return nil, nil, err
		}
		if endpoint != "" {
			return l.connect(endpoint)
		}
		opened, stop, err := l.start(ctx, l.dataDir, 0)
		if !errors.Is(err, store.ErrInUse) || time.Since(begin) >= l.patience {
			return opened, stop, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("wait for the store in %s: %w", l.dataDir, context.Cause(ctx))
		case <-time.After(tryPeriod):
		}
	}
}

// openStopped is like open, for a store that no server may use. An embedded one is started here, which needs the lock
// of the directory, so it waits until its server has stopped. For an external etcd, the operator has to stop the
// servers.
func (l *location) openStopped(ctx context.Context) (*operation.Store, func(), error) {
	switch {
	case l.snapshot != "":
		return l.openSnapshot(ctx)
	case !l.embedded():
		return l.connect(l.transport.ServerList...)
	case !store.Exists(l.dataDir):
		return nil, nil, fmt.Errorf("%s holds no store", l.dataDir)
	default:
		return l.start(ctx, l.dataDir, l.patience)
	}
}

// openSnapshot starts a temporary store with the content of the snapshot. The returned function stops the store and
// removes its directory.
func (l *location) openSnapshot(ctx context.Context) (*operation.Store, func(), error) {
	file, err := input(l.snapshot)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	dir, err := os.MkdirTemp("", "kruise-store-")
	if err != nil {
		return nil, nil, fmt.Errorf("create a directory for the snapshot: %w", err)
	}
	remove := func() { _ = os.RemoveAll(dir) }
	if _, err := store.Restore(ctx, dir, file, store.RestoreConfig{Margin: revisionMargin}); err != nil {
		remove()
		return nil, nil, err
	}
	opened, stop, err := l.start(ctx, dir, l.patience)
	if err != nil {
		remove()
		return nil, nil, err
	}
	if l.anyPrefix {
		if opened.Prefix, err = onlyPrefix(ctx, opened); err != nil {
			stop()
			remove()
			return nil, nil, err
		}
	}
	return opened, func() { stop(); remove() }, nil
}

// onlyPrefix returns the prefix of the only store in an etcd. An etcd has several after a restoration to another prefix, and an old one
// must not be copied without a word.
func onlyPrefix(ctx context.Context, opened *operation.Store) (string, error) {
	found, err := operation.Find(ctx, opened.Client)
	if err != nil {
		return "", err
	}
	if len(found) == 1 {
		return found[0].Prefix, nil
	}
	if len(found) == 0 {
		return "", errors.New("the snapshot contains no store")
	}
	lines := []string{fmt.Sprintf("the snapshot contains %d stores: set --from-etcd-prefix to the prefix of the one to copy", len(found))}
	for _, each := range found {
		lines = append(lines, fmt.Sprintf("  %s: store %s at generation %d", each.Prefix, each.Record.Identity, each.Record.Generation))
	}
	return "", errors.New(strings.Join(lines, "\n"))
}

// connect returns a store in a running etcd. It does not wait for a connection.
func (l *location) connect(endpoints ...string) (*operation.Store, func(), error) {
	options := NewStoreOptions()
	options.Etcd.StorageConfig.Transport = l.transport
	client, err := options.client(endpoints...)
	if err != nil {
		return nil, nil, err
	}
	opened := &operation.Store{Client: client, Prefix: l.prefix, Groups: sets.List(apiserver.GroupNames())}
	return opened, func() { _ = client.Close() }, nil
}

// start starts an embedded etcd in the directory. It accepts the largest objects, whatever the limit of the server
// is.
func (l *location) start(ctx context.Context, dir string, patience time.Duration) (*operation.Store, func(), error) {
	member, err := store.Start(ctx, store.Config{
		Dir: dir, QuotaBytes: l.quota, MaxRequestBytes: largestObjectBytes + requestOverhead, LockPatience: patience,
	})
	if err != nil {
		return nil, nil, err
	}
	opened, disconnect, err := l.connect(member.Endpoint)
	if err != nil {
		member.Stop()
		return nil, nil, err
	}
	return opened, func() { disconnect(); member.Stop() }, nil
}

// input opens a file for reading. "-" is the standard input.
func input(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the snapshot: %w", err)
	}
	return file, nil
}

// output calls write with a file that gets its name when it is complete. "-" is the standard output. So a file with
// the name is never a partial snapshot. Only its owner can read it.
func output(path string, stdout io.Writer, write func(io.Writer) error) error {
	if path == "-" {
		return write(stdout)
	}
	file, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create the snapshot: %w", err)
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(path + ".part")
		return err
	}
	if err := os.Rename(path+".part", path); err != nil {
		return fmt.Errorf("complete the snapshot: %w", err)
	}
	return nil
}
