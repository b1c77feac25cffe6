package app

import (
	"fmt"

	"github.com/spf13/cobra"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
)

// name is the name of the program in messages and in its help.
const name = "kruise-apiserver"

// NewCommand returns the command of the program, with the commands for the operator of the store below it. It runs
// until its context ends.
func NewCommand() (*cobra.Command, error) {
	options, err := NewOptions()
	if err != nil {
		return nil, err
	}
	command := &cobra.Command{
		Use:          name,
		Short:        "Serve the Kruise API to kube-apiserver's aggregation layer",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		Version:      version.Get().String(),
		RunE: func(command *cobra.Command, _ []string) error {
			// The feature gates are set first, because logging has gates of its own.
			if err := options.Complete(); err != nil {
				return err
			}
			if err := logsapi.ValidateAndApply(options.Logs, utilfeature.DefaultFeatureGate); err != nil {
				return fmt.Errorf("apply logging flags: %w", err)
			}
			if errs := options.Validate(); len(errs) > 0 {
				return utilerrors.NewAggregate(errs)
			}
			return Run(command.Context(), options)
		},
	}
	sets := options.Flags()
	sets.FlagSet("global").Bool("version", false, "Print the version and exit.")
	globalflag.AddGlobalFlags(sets.FlagSet("global"), name)
	for _, set := range sets.FlagSets {
		command.Flags().AddFlagSet(set)
	}
	cliflag.SetUsageAndHelpFunc(command, sets, 0)
	command.AddCommand(newStoreCommand())
	return command, nil
}
