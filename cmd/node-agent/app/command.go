package app

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/ignoredflags"
	"kruise.io/kruise/pkg/memorylimit"
)

// NewCommand returns the command of the program. Flags and environment are validated before the agent opens or
// connects to anything.
func NewCommand() (*cobra.Command, error) {
	options, err := NewOptions()
	if err != nil {
		return nil, err
	}
	command := &cobra.Command{
		Use:   "kruise-daemon",
		Short: "The node agent of Kruise",
		Long: "The node agent of Kruise runs on every node. It connects to the container runtime through CRI v1.\n" +
			"The environment variable NODE_NAME must be set.",
		Args:    cobra.NoArgs,
		Version: version.Get().String(),
		RunE: func(command *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				return err
			}
			if _, err := memorylimit.Apply(os.Getenv); err != nil {
				return err
			}
			if err := logsapi.ValidateAndApply(options.Logs, nil); err != nil {
				return fmt.Errorf("apply logging flags: %w", err)
			}
			if ignored := ignoredflags.Given(command.Flags(), ignoredflags.Klog()); len(ignored) > 0 {
				klog.FromContext(command.Context()).Info("Warning: flags are accepted for compatibility and have no effect", "flags", ignored)
			}
			config, err := options.Config(command.Context())
			if err != nil {
				return err
			}
			return Run(command.Context(), config)
		},
	}
	command.Flags().Bool("version", false, "Print the version and exit.")
	options.AddFlags(command.Flags())
	return command, nil
}
