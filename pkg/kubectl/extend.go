package kubectl

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/kubectl/create"
	"kruise.io/kruise/pkg/kubectl/describe"
	"kruise.io/kruise/pkg/kubectl/document"
	"kruise.io/kruise/pkg/kubectl/exec"
	"kruise.io/kruise/pkg/kubectl/get"
	"kruise.io/kruise/pkg/kubectl/live"
	"kruise.io/kruise/pkg/kubectl/migrate"
	"kruise.io/kruise/pkg/kubectl/rollout"
	"kruise.io/kruise/pkg/kubectl/scaledown"
	"kruise.io/kruise/pkg/kubectl/takeover"
	"kruise.io/kruise/pkg/kubectl/tree"
	"kruise.io/kruise/pkg/kubectl/why"
	"kruise.io/kruise/pkg/kubectl/workload"
)

// native are the workloads of Kubernetes that the commands accept, besides those in the table.
var native = []string{"deployments", "daemonsets", "statefulsets"}

// extend removes what the plugin does not have, and adds its own commands. The order matters in two cases: rollout
// status is replaced before accept changes its help, and group comes last, because it looks at all commands.
func extend(root *cobra.Command, factory cmdutil.Factory, streams genericiooptions.IOStreams) {
	for _, name := range removed {
		if command := child(root, name); command != nil {
			root.RemoveCommand(command)
		}
	}
	create.Add(child(root, "create"), factory, streams)
	replace(root, exec.NewCommand(factory, streams))
	root.AddCommand(
		why.NewCommand(factory, streams, clock.RealClock{}), scaledown.NewCommand(factory, streams), migrate.NewCommand(factory, streams),
		takeover.NewCommand(factory, streams), document.NewCommand(streams),
	)
	child(root, "get").AddCommand(tree.NewCommand(factory, streams), get.NewAll(factory, streams))
	child(root, "describe").AddCommand(describe.NewRollout(factory, streams, clock.RealClock{}))
	rollouts := child(root, "rollout")
	replace(rollouts, rollout.NewStatus(factory, streams))
	rollouts.AddCommand(live.NewWatch(factory, streams), live.NewList(factory, streams), rollout.NewApprove(factory, streams))
	// Which kinds a command accepts follows from the fields that their rows have.
	accept(factory, rollouts, (*workload.Kind).RollsOut, "status", "history", "undo", "restart", "pause", "resume")
	accept(factory, child(root, "set"), func(k *workload.Kind) bool { return k.Template != workload.Path{} }, "env", "resources")
	accept(factory, child(root, "set"), func(*workload.Kind) bool { return true }, "image")
	accept(factory, root, func(k *workload.Kind) bool { return k.Selector != workload.Path{} }, "scale", "expose", "autoscale")
	rollout.PauseRollouts(child(rollouts, "pause"), factory, streams, true)
	rollout.PauseRollouts(child(rollouts, "resume"), factory, streams, false)
	rollout.RestartInPlace(child(rollouts, "restart"), factory)
	rollout.UndoRollouts(child(rollouts, "undo"), factory, streams)
	group(root)
}

// accept names the kinds that subcommands accept in their help, and completes them. holds selects the rows of the
// table.
func accept(factory cmdutil.Factory, parent *cobra.Command, holds func(*workload.Kind) bool, names ...string) {
	types := append(append([]string{}, native...), workload.ArgNames(holds)...)
	for _, command := range commands(parent, names...) {
		command.Long = strings.TrimRight(command.Long, "\n") + "\n\nValid resource types include:\n\n  *  " + strings.Join(types, "\n  *  ")
		command.ValidArgsFunction = completion.SpecifiedResourceTypeAndNameCompletionFunc(factory, types)
	}
}
