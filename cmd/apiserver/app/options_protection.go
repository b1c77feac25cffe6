package app

import (
	"errors"

	"github.com/spf13/pflag"
)

// ProtectionOptions configures the protections against deletions and disruptions.
type ProtectionOptions struct {
	// LogPath is a directory, or - for the standard output.
	LogPath                 string
	InTerminatingNamespaces bool
}

// NewProtectionOptions returns the defaults.
func NewProtectionOptions() *ProtectionOptions { return &ProtectionOptions{LogPath: "/log"} }

// AddFlags adds the flags.
func (o *ProtectionOptions) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.LogPath, "protection-log-path", o.LogPath,
		"Directory of protection.log, which contains a line for each refused deletion and disruption. Use - for standard output. If the file "+
			"cannot be opened, the log goes to standard output.")
	fs.BoolVar(&o.InTerminatingNamespaces, "protect-in-terminating-namespaces", o.InTerminatingNamespaces,
		"Refuse the deletion of protected objects even if their namespace is being deleted. The namespace then remains until the objects are no "+
			"longer protected.")
}

// Validate returns all errors in the flags.
func (o *ProtectionOptions) Validate() []error {
	if o.LogPath == "" {
		return []error{errors.New("--protection-log-path is empty: set a directory, or - for standard output")}
	}
	return nil
}
