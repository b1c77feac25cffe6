// Package ignoredflags accepts flags that have no effect, so that programs start with the manifests of older releases. A program
// names those that are given in a warning. Enter at Add.
package ignoredflags

import (
	"github.com/spf13/pflag"
)

// Flag is a flag that has no effect.
type Flag struct {
	// Name has hyphens. The programs read underscores as hyphens.
	Name string
	// Default is shown nowhere. A boolean flag, with the default true or false, can be given without a value.
	Default string
}

// Klog returns the flags of the logging library that the programs do not support any more: logs go to standard error.
func Klog() []Flag {
	return []Flag{
		{"logtostderr", "true"},
		{"alsologtostderr", "false"},
		{"alsologtostderrthreshold", "0"},
		{"stderrthreshold", "2"},
		{"log-backtrace-at", ""},
		{"log-dir", ""},
		{"log-file", ""},
		{"log-file-max-size", "1800"},
		{"add-dir-header", "false"},
		{"one-output", "false"},
		{"skip-headers", "false"},
		{"skip-log-headers", "false"},
	}
}

// Add adds those of the flags that the set does not have. They are hidden in the help.
func Add(fs *pflag.FlagSet, flags []Flag) {
	for _, flag := range flags {
		if fs.Lookup(flag.Name) != nil {
			continue
		}
		fs.String(flag.Name, flag.Default, "Has no effect. Accepted for compatibility.")
		added := fs.Lookup(flag.Name)
		added.Hidden = true
		if flag.Default == "true" || flag.Default == "false" {
			added.NoOptDefVal = "true"
		}
	}
}

// Given returns those of the flags that were given, for a warning.
func Given(fs *pflag.FlagSet, flags []Flag) (names []string) {
	for _, flag := range flags {
		if fs.Changed(flag.Name) {
			names = append(names, "--"+flag.Name)
		}
	}
	return names
}
