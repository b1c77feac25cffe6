package app

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"kruise.io/kruise/pkg/apiserver/guard"
	"kruise.io/kruise/pkg/apiserver/store"
)

const (
	// requestOverhead is the size of an etcd request without the object: the key, the conditions and the encryption.
	requestOverhead = 64 << 10
	// defaultMaxObjectBytes fits the default request limit of etcd.
	defaultMaxObjectBytes = store.DefaultMaxRequestBytes - requestOverhead
	// largestObjectBytes fits the largest request that the etcd client sends.
	largestObjectBytes  = 2<<20 - requestOverhead
	smallestObjectBytes = 64 << 10
)

// StoreOptions defines where objects are stored: in an external etcd or in an embedded one. Without servers in Etcd,
// an embedded one runs.
type StoreOptions struct {
	Etcd           *genericoptions.EtcdOptions
	DataDir        string
	QuotaBytes     int64
	MaxObjectBytes int
	LockPatience   time.Duration
	// ConfigMap is the name of the ConfigMap with the cluster's copy of the store's record.
	ConfigMap string
	// AwaitTakeover keeps a store that never held objects closed.
	AwaitTakeover bool
	// Exclusive is true if no other server can write the store, which is so for an embedded etcd.
	Exclusive bool
	// flags are the flags after AddFlags. They say which ones are set.
	flags *pflag.FlagSet
}

// NewStoreOptions returns the defaults, which select an embedded etcd.
func NewStoreOptions() *StoreOptions {
	return &StoreOptions{
		Etcd: newEtcdOptions(), DataDir: "/var/lib/kruise/store",
		MaxObjectBytes: defaultMaxObjectBytes,
		LockPatience:   store.DefaultLockPatience, ConfigMap: guard.ConfigMapName,
	}
}

// AddFlags adds the flags.
func (o *StoreOptions) AddFlags(fs *pflag.FlagSet) {
	o.flags = fs
	o.Etcd.AddFlags(fs)
	fs.StringVar(&o.DataDir, "data-dir", o.DataDir,
		"Directory of the embedded etcd, which runs when --etcd-servers is empty. Only one process can use the directory.")
	fs.DurationVar(&o.LockPatience, "data-dir-lock-timeout", o.LockPatience,
		"How long to wait for another process to release --data-dir.")
	fs.Int64Var(&o.QuotaBytes, "data-quota-bytes", o.QuotaBytes,
		"Size in bytes at which the embedded etcd refuses writes. 0 means an eighth of the memory limit in $MEMORY_LIMIT, but at most 2 GiB. "+
			"A store that is larger at the start gets its size and 10 % more; a quota that you set is not raised.")
	fs.StringVar(&o.ConfigMap, "store-configmap", o.ConfigMap,
		"ConfigMap in --namespace that records the identity of the store. The server creates it if it does not exist. The server does not serve "+
			"an empty store, an older one, or one with another identity.")
	fs.BoolVar(&o.AwaitTakeover, "await-takeover", o.AwaitTakeover,
		"Do not serve a store that never held objects, because kubectl kruise takeover fills it.")
	fs.IntVar(&o.MaxObjectBytes, "max-object-bytes", o.MaxObjectBytes,
		"Maximum size of a stored object in bytes, as it is stored. Larger objects are refused with status 413. With an external etcd, the "+
			"value must be less than its --max-request-bytes. If you lower the limit, larger stored objects can still shrink and be deleted.")
}

// Embedded returns true if the server runs an embedded etcd.
func (o *StoreOptions) Embedded() bool { return len(o.Etcd.StorageConfig.Transport.ServerList) == 0 }

// Validate returns all errors in the flags.
func (o *StoreOptions) Validate() []error {
	var errs []error
	if o.MaxObjectBytes < smallestObjectBytes || o.MaxObjectBytes > largestObjectBytes {
		errs = append(errs, fmt.Errorf("--max-object-bytes %d: use %d to %d", o.MaxObjectBytes, smallestObjectBytes, largestObjectBytes))
	}
	if problems := validation.IsDNS1123Subdomain(o.ConfigMap); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("--store-configmap %q: %s", o.ConfigMap, strings.Join(problems, "; ")))
	}
	if len(o.Etcd.EtcdServersOverrides) > 0 {
		errs = append(errs, fmt.Errorf("--etcd-servers-overrides %q is not supported: all kinds share one store; use --etcd-servers",
			strings.Join(o.Etcd.EtcdServersOverrides, ",")))
	}
	etcd := *o.Etcd
	if o.Embedded() {
		// The generic validation requires a server. This one is never contacted.
		etcd.StorageConfig.Transport.ServerList = []string{"embedded"}
		errs = append(errs, o.validateEmbedded()...)
	} else {
		errs = append(errs, o.validateExternal()...)
	}
	return append(errs, etcd.Validate()...)
}

// validateExternal reports flags that only an embedded etcd uses. The user would take them for settings of the store.
func (o *StoreOptions) validateExternal() []error {
	var errs []error
	for _, name := range []string{"data-dir", "data-dir-lock-timeout", "data-quota-bytes"} {
		if flag := o.flags.Lookup(name); flag.Changed {
			errs = append(errs, fmt.Errorf("--%s %q has no effect with --etcd-servers: remove one of the two flags", name, flag.Value))
		}
	}
	return errs
}

// validateEmbedded validates the flags of the embedded etcd. It also reports flags that only an external etcd uses.
func (o *StoreOptions) validateEmbedded() []error {
	var errs []error
	if o.DataDir == "" {
		errs = append(errs, fmt.Errorf("--data-dir is empty: set a directory for the embedded etcd, or set --etcd-servers"))
	}
	if o.QuotaBytes != 0 && (o.QuotaBytes < 1<<20 || o.QuotaBytes > 8<<30) {
		errs = append(errs, fmt.Errorf("--data-quota-bytes %d: use 1 MiB to 8 GiB, or 0 to derive it from the memory limit", o.QuotaBytes))
	}
	if o.LockPatience < 0 {
		errs = append(errs, fmt.Errorf("--data-dir-lock-timeout %s: use 0s or more", o.LockPatience))
	}
	transport := o.Etcd.StorageConfig.Transport
	for flag, value := range map[string]string{
		"etcd-cafile": transport.TrustedCAFile, "etcd-certfile": transport.CertFile, "etcd-keyfile": transport.KeyFile,
	} {
		if value != "" {
			errs = append(errs, fmt.Errorf("--%s %q has no effect without --etcd-servers", flag, value))
		}
	}
	return errs
}
