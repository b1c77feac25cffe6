package takeover

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"kruise.io/kruise/pkg/takeover"
)

// options are the flags of all commands.
type options struct {
	factory    cmdutil.Factory
	streams    genericiooptions.IOStreams
	namespace  string
	dryRun     bool
	acceptLoss bool
	// gitOpsSuspended says that no GitOps controller writes back what the take-over changes.
	gitOpsSuspended bool
}

// NewCommand returns the command, with back and finish below it. Each can be run again after an interruption.
func NewCommand(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{factory: factory, streams: streams, namespace: "kruise-system"}
	command := &cobra.Command{
		Use:   "takeover",
		Short: "Move Kruise objects from CustomResourceDefinitions to kruise-apiserver",
		Long: "Move all Kruise objects from CustomResourceDefinitions to kruise-apiserver, with their UIDs, and without a restart of a Pod. " +
			"If the command is interrupted, run it again.",
		Args: cobra.NoArgs, SilenceUsage: true,
		RunE: o.run(func(ctx context.Context, t *takeover.Takeover) error {
			if o.dryRun {
				return t.Check(ctx)
			}
			return t.Forward(ctx)
		}),
	}
	command.PersistentFlags().StringVar(&o.namespace, "installation-namespace", o.namespace, "Namespace of the managers, old and new.")
	command.Flags().BoolVar(&o.dryRun, "dry-run", false, "Only check all objects and the store, and change nothing.")
	command.Flags().BoolVar(&o.acceptLoss, "accept-loss", false, "Take over even if objects have values that this release does not keep.")
	command.Flags().BoolVar(&o.gitOpsSuspended, "gitops-suspended", false,
		"Take over even if Argo CD or Flux manages OpenKruise, because you have suspended it there.")
	command.AddCommand(&cobra.Command{
		Use: "back", Short: "Return to the CustomResourceDefinitions, with the changes since the take-over",
		Args: cobra.NoArgs, SilenceUsage: true,
		RunE: o.run(func(ctx context.Context, t *takeover.Takeover) error { return t.Back(ctx) }),
	}, &cobra.Command{
		Use: "finish", Short: "Delete the CustomResourceDefinitions; there is no way back after it", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: o.run(func(ctx context.Context, t *takeover.Takeover) error { return t.Finish(ctx) }),
	})
	return command
}

// run connects and calls a command of the take-over. The progress goes to the standard output.
func (o *options) run(do func(context.Context, *takeover.Takeover) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, _ []string) error {
		config, err := o.factory.ToRESTConfig()
		if err != nil {
			return err
		}
		// The command reads all objects, and the default limits of client-go would make that slow in a large cluster.
		config.QPS, config.Burst = 100, 200
		clients, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		core, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		objects, err := metadata.NewForConfig(config)
		if err != nil {
			return err
		}
		t := takeover.New(clients, objects, core.Discovery(), &inPod{config: config, core: core, namespace: o.namespace}, o.streams.Out)
		t.Namespace, t.AcceptLoss, t.GitOpsSuspended = o.namespace, o.acceptLoss, o.gitOpsSuspended
		return do(command.Context(), t)
	}
}
