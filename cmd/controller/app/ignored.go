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
		{Name: "protection-log-path", Default: "/log"},
		{Name: "ws-enabled-versioned-status", Default: "deployment,replicaset"},
		{Name: "disable-no-deepcopy", Default: "false"},
	}, ignoredflags.Klog()...)
}

// noteIgnored records which of the given flags have no effect, for a warning in the log.
func (o *Options) noteIgnored(fs *pflag.FlagSet) { o.ignored = ignoredflags.Given(fs, ignored()) }
