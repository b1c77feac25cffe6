package app

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kruise.io/kruise/pkg/apis/pub"
)

// AccountOptions names the service account of the node agents, as namespace/name, and the namespace of their pull secrets.
type AccountOptions struct {
	Daemon               string
	PullSecretsNamespace string
}

// NewAccountOptions returns the names that the chart uses. An empty pullSecretsNamespace selects the default.
func NewAccountOptions(namespace, pullSecretsNamespace string) *AccountOptions {
	return &AccountOptions{
		Daemon:               namespace + "/kruise-daemon",
		PullSecretsNamespace: cmp.Or(pullSecretsNamespace, pub.DaemonConfigNamespace),
	}
}

// AddFlags adds the flags.
func (o *AccountOptions) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Daemon, "daemon-service-account", o.Daemon, "Service account of the node agents, as <namespace>/<name>. "+
		"Its requests are restricted to the agent's node. If empty, no request is.")
	fs.StringVar(&o.PullSecretsNamespace, "pull-secrets-namespace", o.PullSecretsNamespace,
		"Namespace of the Secrets that node agents read through their NodeImage. The default is $"+pub.DaemonConfigNamespaceEnv+".")
}

// Validate returns all errors in the flags.
func (o *AccountOptions) Validate() []error {
	var errs []error
	if namespace, name, ok := strings.Cut(o.Daemon, "/"); o.Daemon != "" && (!ok || namespace == "" || name == "") {
		errs = append(errs, fmt.Errorf("--daemon-service-account %q: use <namespace>/<name>", o.Daemon))
	}
	if problems := validation.IsDNS1123Label(o.PullSecretsNamespace); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("--pull-secrets-namespace %q: %s; use the name of a namespace", o.PullSecretsNamespace,
			strings.Join(problems, "; ")))
	}
	return errs
}

// DaemonUser returns the user name of the node agents' account, or an empty string if it does not exist.
func (o *AccountOptions) DaemonUser() string {
	namespace, name, _ := strings.Cut(o.Daemon, "/")
	if name == "" {
		return ""
	}
	return serviceaccount.MakeUsername(namespace, name)
}
