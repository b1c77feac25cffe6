package app

import (
	"errors"

	"github.com/spf13/pflag"
)

// ProtectionOptions configures the protections against deletions and disruptions.
type ProtectionOptions struct {
	LogPath                 string
	InTerminatingNamespaces bool
}

// NewProtectionOptions returns the defaults.
func NewProtectionOptions() *ProtectionOptions { return &ProtectionOptions{LogPath: "/log"} }

// AddFlags adds the flags.
func (o *ProtectionOptions) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.LogPath, "protection-log-path", o.LogPath,
		"Directory of protection.log, which has a line for each deletion and disruption that was refused. - is standard output, "+
			"which also serves where the file cannot be opened.")
	fs.BoolVar(&o.InTerminatingNamespaces, "protect-in-terminating-namespaces", o.InTerminatingNamespaces,
		"Refuse the deletion of protected objects although their namespace is being deleted. The namespace then stays until they are "+
			"no longer protected.")
}

// Validate returns all errors in the flags.
func (o *ProtectionOptions) Validate() []error {
	if o.LogPath == "" {
		return []error{errors.New("--protection-log-path is empty: name a directory, or - for standard output")}
	}
	return nil
}
