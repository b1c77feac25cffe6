package why

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"
	"k8s.io/kubectl/pkg/util/templates"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/workload"
)

// NewCommand returns the command why.
func NewCommand(factory cmdutil.Factory, streams genericiooptions.IOStreams, now clock.PassiveClock) *cobra.Command {
	types := append(workload.ArgNames((*workload.Kind).RollsOut), "pods", "podunavailablebudgets.policy.kruise.io")
	return &cobra.Command{
		Use:                   "why (TYPE NAME | TYPE/NAME)",
		DisableFlagsInUseLine: true,
		Short:                 "Say why a workload, a Pod or a budget makes no progress",
		Long: templates.LongDesc(`
			Say in one sentence why an object makes no progress, as its controller sees it, and what to do.

			The object is a CloneSet, a StatefulSet or DaemonSet of Kruise, a Pod, or a PodUnavailableBudget.`),
		Example: templates.Examples(`
			# Ask why the rollout of a CloneSet does not proceed
			kubectl kruise why cloneset/web

			# Ask why a Pod is not available
			kubectl kruise why pod web-1`),
		ValidArgsFunction: completion.SpecifiedResourceTypeAndNameNoRepeatCompletionFunc(factory, types),
		Run: func(command *cobra.Command, args []string) {
			cmdutil.CheckErr(run(command.Context(), factory, streams, now, args))
		},
	}
}

// run reads the object and what it refers to, and prints one sentence.
func run(ctx context.Context, factory cmdutil.Factory, streams genericiooptions.IOStreams, now clock.PassiveClock, args []string) error {
	c, err := cluster.New(factory)
	if err != nil {
		return err
	}
	info, err := c.One(args)
	if err != nil {
		return err
	}
	facts, err := Read(ctx, c, now, info.Mapping.GroupVersionKind.GroupKind(), info.Object)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(streams.Out, Explain(facts))
	return err
}
