package create

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectlcreate "k8s.io/kubectl/pkg/cmd/create"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/templates"
)

// Add makes create have the subcommands of this package, and no others. kubectl itself has the others.
func Add(parent *cobra.Command, factory cmdutil.Factory, streams genericiooptions.IOStreams) {
	parent.RemoveCommand(parent.Commands()...)
	parent.AddCommand(
		newJob(factory, streams), newBroadcastJob(factory, streams), newRestart(factory, streams), newPull(factory, streams),
	)
}

// newRestart returns the command that creates a ContainerRecreateRequest. The names of its flags differ from the
// usual form, because users know them like this.
func newRestart(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	flags := &restart{}
	command, o := newCommand(factory, streams, &cobra.Command{
		Use:     "ContainerRecreateRequest NAME --pod=POD [--containers=CONTAINER,...]",
		Aliases: []string{"crr"},
		Short:   "Restart containers of a Pod",
		Example: templates.Examples(`
			# Restart all containers of a Pod, and wait for them
			kubectl kruise create ContainerRecreateRequest restart --pod=web-1 --wait

			# Restart one container, which gets no traffic for 10 seconds before
			kubectl kruise create ContainerRecreateRequest restart --pod=web-1 --containers=main --unreadyGracePeriodSeconds=10`),
	}, flags.request)
	command.Flags().StringVarP(&flags.pod, "pod", "p", "", "Name of the Pod.")
	command.Flags().StringSliceVar(&flags.containers, "containers", nil, "Names of the containers. The default is all.")
	command.Flags().Int64VarP(&flags.unready, "unreadyGracePeriodSeconds", "u", 3, "Number of seconds without traffic before the restart.")
	command.Flags().Int32VarP(&flags.minStarted, "minStartedSeconds", "m", 3,
		"Number of seconds that a container must run to count as restarted.")
	command.Flags().BoolVar(&o.wait, "wait", false, "Print the progress until the request has ended.")
	return command
}

// newPull returns the command that creates an ImagePullJob.
func newPull(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	flags := &pull{}
	command, o := newCommand(factory, streams, &cobra.Command{
		Use:   "ImagePullJob NAME --image=IMAGE",
		Short: "Pull an image on nodes",
		Example: templates.Examples(`
			# Pull an image on all nodes, 10 nodes at a time, and wait for it
			kubectl kruise create ImagePullJob warm --image=nginx:1.29 --parallelism=10 --wait`),
	}, flags.job)
	command.Flags().StringVar(&flags.image, "image", "", "Image to pull.")
	command.Flags().StringVar(&flags.parallelism, "parallelism", "", "Number of nodes that pull at a time.")
	command.Flags().StringSliceVar(&flags.nodes, "nodes", nil, "Names of the nodes. The default is all.")
	command.Flags().StringSliceVar(&flags.secrets, "pull-secrets", nil, "Names of the Secrets for the registry.")
	command.Flags().BoolVar(&o.wait, "wait", false, "Print the progress until the job has ended.")
	return command
}

// newBroadcastJob returns the command that creates a BroadcastJob from an image or from a schedule.
func newBroadcastJob(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	flags := &source{}
	command, _ := newCommand(factory, streams, &cobra.Command{
		Use:     "broadcastJob NAME --image=IMAGE [--from=acj/NAME] -- [COMMAND] [args...]",
		Aliases: []string{"bcj"},
		Short:   "Create a BroadcastJob with the specified name",
		Example: templates.Examples(`
			# Run a command on every node
			kubectl kruise create broadcastJob date --image=busybox -- date

			# Run the BroadcastJob of an AdvancedCronJob now
			kubectl kruise create broadcastJob now --from=acj/nightly`),
	}, flags.broadcastJob)
	flags.add(command)
	return command
}

// newJob returns kubectl's create job, which also accepts an AdvancedCronJob. For any other source, kubectl's own
// function runs. For an AdvancedCronJob, the flags that the user has set are copied to a command of this package,
// which is never shown.
func newJob(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	command := kubectlcreate.NewCmdCreateJob(factory, streams)
	run, flags := command.Run, &source{}
	ours, _ := newCommand(factory, streams, &cobra.Command{Use: "job"}, func(ctx context.Context, o *options) (runtime.Object, error) {
		return flags.jobFromSchedule(ctx, o)
	})
	command.Use = "job NAME --image=IMAGE [--from=cronjob/NAME | --from=acj/NAME] -- [COMMAND] [args...]"
	command.Run = func(command *cobra.Command, args []string) {
		flags.from, flags.image = cmdutil.GetFlagString(command, "from"), cmdutil.GetFlagString(command, "image")
		kind, _, _ := strings.Cut(flags.from, "/")
		// The type may be written with its group.
		if kind, _, _ = strings.Cut(strings.ToLower(kind), "."); kind != "acj" && kind != "advancedcronjob" && kind != "advancedcronjobs" {
			run(command, args)
			return
		}
		// The two commands have the same flags for output and dry runs, so their values can be copied.
		ours.SetContext(command.Context())
		command.Flags().Visit(func(flag *pflag.Flag) {
			if same := ours.Flags().Lookup(flag.Name); same != nil {
				cmdutil.CheckErr(same.Value.Set(flag.Value.String()))
				same.Changed = true
			}
		})
		ours.Run(ours, args)
	}
	return command
}

// add adds the flags of a source.
func (s *source) add(command *cobra.Command) {
	command.Flags().StringVar(&s.image, "image", "", "Image name to run.")
	command.Flags().StringVar(&s.from, "from", "", "The AdvancedCronJob to create the job from.")
}
