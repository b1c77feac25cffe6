package app

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	"kruise.io/kruise/pkg/admission/plugin/userwritelimit"
	"kruise.io/kruise/pkg/admission/review"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/serverclock"
)

// Options holds the flags of the program. The first group belongs to the generic server, the second one to Kruise.
type Options struct {
	Server         *genericoptions.ServerRunOptions
	CoreAPI        *genericoptions.CoreAPIOptions
	SecureServing  *genericoptions.SecureServingOptionsWithLoopback
	Authentication *genericoptions.DelegatingAuthenticationOptions
	Authorization  *genericoptions.DelegatingAuthorizationOptions
	Audit          *genericoptions.AuditOptions
	Features       *genericoptions.FeatureOptions
	Admission      *genericoptions.AdmissionOptions
	Egress         *genericoptions.EgressSelectorOptions
	Tracing        *genericoptions.TracingOptions
	Logs           *logs.Options

	Store        *StoreOptions
	Certificates *CertificateOptions
	Accounts     *AccountOptions
	Gates        *GateOptions
	Protection   *ProtectionOptions
	Limits       *LimitOptions
	Webhooks     *WebhookOptions

	// Reviewers holds the admission plugins after Admission has been applied.
	Reviewers review.Plugins
	// Clock tells the time of kube-apiserver once there was an answer.
	Clock *serverclock.Clock
}

// NewOptions returns the defaults.
func NewOptions() (*Options, error) {
	gates, err := NewGateOptions(os.Getenv("CUSTOM_RESOURCE_ENABLE"))
	if err != nil {
		return nil, err
	}
	serving := genericoptions.NewSecureServingOptions().WithLoopback()
	serving.BindPort = 6443
	serving.Required = true
	// The aggregation proxy sends many long requests over each connection.
	serving.HTTP2MaxStreamsPerConnection = 1000
	// Without a directory, the generic server does not create a self-signed certificate. manageCertificates provides
	// one.
	serving.ServerCert.CertDirectory, serving.ServerCert.PairName = "", ""

	server := genericoptions.NewServerRunOptions()
	// Without this limit, open watches would keep the old process alive for a minute, and the embedded store would stay locked.
	server.ShutdownWatchTerminationGracePeriod = 2 * time.Second

	namespace := ownNamespace()
	accounts := NewAccountOptions(namespace, os.Getenv(pub.DaemonConfigNamespaceEnv))
	protection, limits, reviewers, clock := NewProtectionOptions(), &LimitOptions{}, review.Plugins{}, serverclock.New()
	limit := func() userwritelimit.Settings { return limits.settings(namespace) }
	return &Options{
		Server:         server,
		CoreAPI:        genericoptions.NewCoreAPIOptions(),
		SecureServing:  serving,
		Authentication: genericoptions.NewDelegatingAuthenticationOptions(),
		Authorization:  genericoptions.NewDelegatingAuthorizationOptions(),
		Audit:          genericoptions.NewAuditOptions(),
		Features:       genericoptions.NewFeatureOptions(),
		Admission:      newAdmissionOptions(accounts, protection, limit, reviewers, clock),
		Egress:         genericoptions.NewEgressSelectorOptions(),
		Tracing:        genericoptions.NewTracingOptions(),
		Logs:           logs.NewOptions(),
		Store:          NewStoreOptions(),
		Certificates:   NewCertificateOptions(namespace),
		Accounts:       accounts,
		Gates:          gates,
		Protection:     protection,
		Limits:         limits,
		Webhooks:       &WebhookOptions{},
		Reviewers:      reviewers,
		Clock:          clock,
	}, nil
}

// Flags returns the flags, in sections. Two options may share a section.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	o.Store.AddFlags(sets.FlagSet("store"))
	o.Certificates.AddFlags(sets.FlagSet("certificates"))
	o.Accounts.AddFlags(sets.FlagSet("accounts"))
	o.Gates.AddFlags(sets.FlagSet("features"))
	o.CoreAPI.AddFlags(sets.FlagSet("host cluster"))
	o.SecureServing.AddFlags(sets.FlagSet("secure serving"))
	o.Authentication.AddFlags(sets.FlagSet("authentication"))
	o.Authorization.AddFlags(sets.FlagSet("authorization"))
	o.Audit.AddFlags(sets.FlagSet("audit"))
	o.Features.AddFlags(sets.FlagSet("features"))
	o.Admission.AddFlags(sets.FlagSet("admission"))
	o.Protection.AddFlags(sets.FlagSet("admission"))
	o.Limits.AddFlags(sets.FlagSet("admission"))
	o.Webhooks.AddFlags(sets.FlagSet("admission"))
	o.Egress.AddFlags(sets.FlagSet("egress"))
	o.Tracing.AddFlags(sets.FlagSet("tracing"))
	o.addServerFlags(sets.FlagSet("server"))
	logsapi.AddFlags(o.Logs, sets.FlagSet("logs"))
	return sets
}

// addServerFlags adds the flags of the generic server, except its flag for feature gates. GateOptions replaces that
// one, because the library requires a component name before each gate.
func (o *Options) addServerFlags(fs *pflag.FlagSet) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Server.AddUniversalFlags(all)
	all.VisitAll(func(flag *pflag.Flag) {
		switch flag.Name {
		case "feature-gates", "emulated-version", "min-compatibility-version",
			"emulation-forward-compatible", "runtime-config-emulation-forward-compatible":
		default:
			fs.AddFlag(flag)
		}
	})
}

// Complete sets the fields that follow from other flags. It must run before Validate.
func (o *Options) Complete() error {
	if err := o.Gates.Apply(o.Server.ComponentGlobalsRegistry); err != nil {
		return err
	}
	// By default one kubeconfig serves all three purposes.
	for _, file := range []*string{&o.Authentication.RemoteKubeConfigFile, &o.Authorization.RemoteKubeConfigFile} {
		if *file == "" {
			*file = o.CoreAPI.CoreAPIKubeconfigPath
		}
	}
	return nil
}

// Validate returns all errors in the flags, so that the user can correct them at once.
func (o *Options) Validate() []error {
	var errs []error
	// All parts are validated, so the user sees every mistake at once.
	for _, part := range []interface{ Validate() []error }{
		o.Store, o.Certificates, o.Accounts, o.Server, o.CoreAPI, o.SecureServing, o.Authentication, o.Authorization,
		o.Audit, o.Features, o.Admission, o.Protection, o.Limits, o.Egress, o.Tracing,
	} {
		errs = append(errs, part.Validate()...)
	}
	files := &o.SecureServing.ServerCert.CertKey
	if (files.CertFile == "") != (files.KeyFile == "") {
		errs = append(errs, fmt.Errorf("--tls-cert-file %q and --tls-private-key-file %q: set both, or neither for a self-managed certificate",
			files.CertFile, files.KeyFile))
	}
	return errs
}

// ownNamespace returns the namespace of the server. It tries the Pod's environment variable, then the namespace of
// the service account, then the default.
func ownNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	if data, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace"); err == nil {
		return strings.TrimSpace(string(data))
	}
	return "kruise-system"
}

// newEtcdOptions returns the flags of an external etcd.
func newEtcdOptions() *genericoptions.EtcdOptions {
	etcd := genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry/kruise.io", nil))
	etcd.DefaultStorageMediaType = runtime.ContentTypeProtobuf
	return etcd
}
