package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/features"
)

// GateOptions reads the feature gates of Kruise and of the generic apiserver from one flag. If both have a gate of
// the same name, the flag sets that of Kruise.
type GateOptions struct {
	// Kruise holds the feature gates of Kruise.
	Kruise featuregate.MutableFeatureGate
	// wanted is the value of the flag. Apply distributes it.
	wanted map[string]bool
	// forced are the gates that other gates have changed. Apply sets it.
	forced []features.Forced
}

// NewGateOptions returns all gates with their defaults. legacyKinds is the environment variable
// CUSTOM_RESOURCE_ENABLE, see features.New.
func NewGateOptions(legacyKinds string) (*GateOptions, error) {
	gate, err := features.New(legacyKinds)
	if err != nil {
		return nil, err
	}
	// The generic gates are global, and no gate can be added after the first use as flags.
	if _, known := utilfeature.DefaultMutableFeatureGate.GetAll()[logsapi.ContextualLogging]; !known {
		if err := logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate); err != nil {
			return nil, fmt.Errorf("register feature gates: %w", err)
		}
	}
	return &GateOptions{Kruise: gate, wanted: map[string]bool{}}, nil
}

// AddFlags adds the flag.
func (o *GateOptions) AddFlags(fs *pflag.FlagSet) {
	known := append(o.Kruise.KnownFeatures(), utilfeature.DefaultFeatureGate.KnownFeatures()...)
	slices.Sort(known)
	fs.Var(cliflag.NewMapStringBool(&o.wanted), "feature-gates",
		"A set of key=value pairs that describe feature gates. Options are:\n"+strings.Join(slices.Compact(known), "\n"))
}

// Apply sets the value of each gate after the flags are parsed. A name that Kruise does not know is set in the
// generic gates, which report unknown ones.
func (o *GateOptions) Apply(registry basecompatibility.ComponentGlobalsRegistry) error {
	if err := registry.Set(); err != nil {
		return fmt.Errorf("set versions: %w", err)
	}
	kruise, generic := map[string]bool{}, map[string]bool{}
	all := o.Kruise.GetAll()
	for name, value := range o.wanted {
		if _, ours := all[featuregate.Feature(name)]; ours {
			kruise[name] = value
		} else {
			generic[name] = value
		}
	}
	if err := o.Kruise.SetFromMap(kruise); err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(generic); err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	forced, err := features.Cascade(o.Kruise)
	if err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	o.forced = forced
	return nil
}

// warn logs the gates that do not have the value that the user wants. Apply does not log them, because it sets the
// gates of logging.
func (o *GateOptions) warn(logger klog.Logger) {
	for _, f := range o.forced {
		logger.Info("Warning: a feature gate forces another", "gate", f.Gate, "value", f.Value, "by", f.By, "byValue", f.ByValue)
	}
}
