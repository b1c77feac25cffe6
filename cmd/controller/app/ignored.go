package app

import (
	"github.com/spf13/pflag"

	"kruise.io/kruise/pkg/ignoredflags"
)

// ignored returns the flags that are accepted because existing manifests use them. They have no effect.
func ignored() []ignoredflags.Flag {
	return append([]ignoredflags.Flag{
		{Name: "allow-privileged", Default: "true"},
		{Name: "controller-cache-sync-timeout", Default: "2m"},
		{Name: "webhook-initialize-timeout", Default: "60s"},
		{Name: "ws-enabled-versioned-status", Default: "deployment,replicaset"},
		{Name: "disable-no-deepcopy", Default: "false"},
	}, ignoredflags.Klog()...)
}

// ignoredEnv are the variables of the environment that existing manifests set for the webhook server of the manager. The manager has
// no webhook server and no certificates.
var ignoredEnv = []string{
	"WEBHOOK_HOST", "WEBHOOK_PORT", "SERVICE_NAME", "SECRET_NAME", "WEBHOOK_CERT_DIR", "WEBHOOK_CERT_WRITER", "CERTS_RENEW_BEFORE",
}

// givenEnv returns those of the variables that are set, for a warning.
func givenEnv(getenv func(string) string) (names []string) {
	for _, name := range ignoredEnv {
		if getenv(name) != "" {
			names = append(names, name)
		}
	}
	return names
}

// noteIgnored records which of the given flags have no effect, for a warning in the log.
func (o *Options) noteIgnored(fs *pflag.FlagSet) { o.ignored = ignoredflags.Given(fs, ignored()) }
