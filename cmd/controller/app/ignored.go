package app

import (
	"slices"

	"github.com/spf13/pflag"
)

// ignoredFlags lists flags that are accepted because existing manifests use them. They have no effect.
var ignoredFlags = []struct{ name, value string }{
	{"allow-privileged", "true"},
	{"controller-cache-sync-timeout", "2m"},
	{"webhook-initialize-timeout", "60s"},
	{"protection-log-path", "/log"},
	{"ws-enabled-versioned-status", "deployment,replicaset"},
	{"disable-no-deepcopy", "false"},
	{"logtostderr", "true"},
	{"alsologtostderr", "false"},
	{"stderrthreshold", "2"},
}

// addIgnored adds those of the flags that no other part has defined. They are hidden in the help. A boolean flag may
// be given without a value.
func (o *Options) addIgnored(fs *pflag.FlagSet) {
	for _, flag := range ignoredFlags {
		if fs.Lookup(flag.name) != nil {
			continue
		}
		fs.String(flag.name, flag.value, "Has no effect. Accepted for compatibility.")
		added := fs.Lookup(flag.name)
		added.Hidden = true
		if flag.value == "true" || flag.value == "false" {
			added.NoOptDefVal = "true"
		}
	}
}

// noteIgnored records which of the given flags have no effect, for a warning in the log.
func (o *Options) noteIgnored(fs *pflag.FlagSet) {
	fs.Visit(func(given *pflag.Flag) {
		if slices.ContainsFunc(ignoredFlags, func(flag struct{ name, value string }) bool { return flag.name == given.Name }) {
			o.ignored = append(o.ignored, "--"+given.Name)
		}
	})
}
