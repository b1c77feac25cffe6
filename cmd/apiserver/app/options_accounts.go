package app

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kruise.io/kruise/artifacts/helm"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apiserver/authorization"
)

// AccountOptions names the Kruise service accounts, as namespace/name, and the namespace of the node agents' pull secrets.
type AccountOptions struct {
	Manager, Daemon      string
	PullSecretsNamespace string
}

// NewAccountOptions returns the names that the chart uses. An empty pullSecretsNamespace selects the default.
func NewAccountOptions(namespace, pullSecretsNamespace string) *AccountOptions {
	return &AccountOptions{
		Manager: namespace + "/kruise-manager", Daemon: namespace + "/kruise-daemon",
		PullSecretsNamespace: cmp.Or(pullSecretsNamespace, pub.DaemonConfigNamespace),
	}
}

// AddFlags adds the flags.
func (o *AccountOptions) AddFlags(fs *pflag.FlagSet) {
	const help = ", as <namespace>/<name>. Proxied requests that its built-in rules allow skip the SubjectAccessReview. " +
		"If empty, no request skips it"
	fs.StringVar(&o.Manager, "manager-service-account", o.Manager, "Service account of the controllers"+help+".")
	fs.StringVar(&o.Daemon, "daemon-service-account", o.Daemon, "Service account of the node agents"+help+
		", and no request is restricted to the agent's node.")
	fs.StringVar(&o.PullSecretsNamespace, "pull-secrets-namespace", o.PullSecretsNamespace,
		"Namespace of the Secrets that node agents read through their NodeImage. The default is $"+pub.DaemonConfigNamespaceEnv+".")
}

// Validate returns all errors in the flags.
func (o *AccountOptions) Validate() []error {
	var errs []error
	for flag, value := range map[string]string{"manager-service-account": o.Manager, "daemon-service-account": o.Daemon} {
		if namespace, name, ok := strings.Cut(value, "/"); value != "" && (!ok || namespace == "" || name == "") {
			errs = append(errs, fmt.Errorf("--%s %q: use <namespace>/<name>", flag, value))
		}
	}
	if problems := validation.IsDNS1123Label(o.PullSecretsNamespace); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("--pull-secrets-namespace %q: %s; use the name of a namespace", o.PullSecretsNamespace,
			strings.Join(problems, "; ")))
	}
	return errs
}

// DaemonUser returns the user name of the node agents' account, or an empty string if it does not exist.
func (o *AccountOptions) DaemonUser() string { return userOf(o.Daemon) }

func userOf(value string) string {
	namespace, name, _ := strings.Cut(value, "/")
	if name == "" {
		return ""
	}
	return serviceaccount.MakeUsername(namespace, name)
}

// Accounts returns the accounts with their rules.
func (o *AccountOptions) Accounts() ([]authorization.Account, error) {
	var accounts []authorization.Account
	for rules, value := range map[string]string{helm.ManagerRules: o.Manager, helm.DaemonRules: o.Daemon} {
		user := userOf(value)
		if user == "" {
			continue
		}
		list, err := helm.Rules(rules)
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, authorization.Account{User: user, Rules: list})
	}
	return accounts, nil
}
