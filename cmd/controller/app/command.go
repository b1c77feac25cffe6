package app

import (
	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/memorylimit"
)

// NewCommand returns the command. getenv reads the environment. An error in the environment is returned when the
// command runs, and not before, because the caller has no other way to report it.
func NewCommand(getenv func(string) string) *cobra.Command {
	command := &cobra.Command{
		Use:     "manager",
		Short:   "Run the controllers of Kruise",
		Args:    cobra.NoArgs,
		Version: version.Get().String(),
	}
	options, err := NewOptions(getenv)
	if err != nil {
		command.RunE = func(*cobra.Command, []string) error { return err }
		return command
	}
	command.Flags().Bool("version", false, "Print the version and exit.")
	options.AddFlags(command.Flags())
	command.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		// The ignored flags are noted first, so that warn can name them.
		options.noteIgnored(cmd.Flags())
		if err := options.Validate(); err != nil {
			return err
		}
		cmd.SilenceUsage = true
		if _, err := memorylimit.Apply(getenv); err != nil {
			return err
		}
		if err := logsapi.ValidateAndApply(options.Logging, nil); err != nil {
			return err
		}
		ctx := cmd.Context()
		if err := options.warn(klog.FromContext(ctx)); err != nil {
			return err
		}
		config, err := options.Config(ctx)
		if err != nil {
			return err
		}
		return config.Run(ctx)
	}
	return command
}

// warn logs the given flags that have no effect or another effect than requested. Call it after the feature gates are set.
func (o *Options) warn(logger klog.Logger) error {
	forced, err := features.Cascade(o.Features)
	if err != nil {
		return err
	}
	for _, f := range forced {
		logger.Info("Warning: a feature gate forces another", "gate", f.Gate, "value", f.Value, "by", f.By, "byValue", f.ByValue)
	}
	if gates := features.Ignored(o.Features); len(gates) > 0 {
		logger.Info("Warning: feature gates are accepted for compatibility and have no effect", "gates", gates)
	}
	if len(o.ignored) > 0 {
		logger.Info("Warning: flags are accepted for compatibility and have no effect", "flags", o.ignored)
	}
	if len(o.ignoredEnv) > 0 {
		logger.Info("Warning: environment variables have no effect, because kruise-apiserver serves the webhooks and renews its certificates "+
			"when a third of their lifetime is left", "variables", o.ignoredEnv)
	}
	if o.Election.ResourceLock != leases {
		logger.Info("Warning: the lock of the leader election is a Lease: set --leader-election-resource-lock to leases",
			"value", o.Election.ResourceLock)
	}
	if o.Namespace != "" {
		logger.Info("Warning: controllers reconcile objects of one namespace only", "namespace", o.Namespace)
	}
	return nil
}
