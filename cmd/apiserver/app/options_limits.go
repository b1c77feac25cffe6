package app

import (
	"fmt"

	"github.com/spf13/pflag"

	"kruise.io/kruise/pkg/admission/plugin/userwritelimit"
)

// LimitOptions limits what one user can do.
type LimitOptions struct {
	// UserWritesPerSecond is the number of creations and updates of one user in a second. Zero means no limit.
	UserWritesPerSecond int
}

// AddFlags adds the flags.
func (o *LimitOptions) AddFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.UserWritesPerSecond, "user-writes-per-second", o.UserWritesPerSecond, "Creations and updates of Kruise objects that each "+
		"apiserver accepts from one user in a second. More are refused with 429, which clients repeat. 0 means no limit. Users of the group "+
		"system:masters, parts of Kubernetes and the controllers of this project are not limited.")
}

// Validate returns all errors in the flags.
func (o *LimitOptions) Validate() []error {
	if o.UserWritesPerSecond < 0 {
		return []error{fmt.Errorf("--user-writes-per-second is %d: set a positive number, or 0 for no limit", o.UserWritesPerSecond)}
	}
	return nil
}

// settings returns the settings of the admission plugin. The namespace is that of the service accounts of this project.
func (o *LimitOptions) settings(namespace string) userwritelimit.Settings {
	return userwritelimit.Settings{WritesPerSecond: o.UserWritesPerSecond, Namespace: namespace}
}
