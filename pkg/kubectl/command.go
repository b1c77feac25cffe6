package kubectl

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/templates"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/describe"
	"kruise.io/kruise/pkg/kubectl/polymorphic"
)

const (
	// program is the name of the program, and invocation is how users call it.
	program    = "kubectl-kruise"
	invocation = "kubectl kruise"
	// completer is the name under which kubectl calls a plugin to complete an argument.
	completer = "kubectl_complete-kruise"
)

// removed are commands of kubectl that the plugin does not have: for them, kubectl itself does the same.
var removed = []string{
	"annotate", "attach", "auth", "certificate", "cluster-info", "cordon", "cp", "debug", "delete", "drain", "edit", "events", "explain",
	"kuberc", "label", "port-forward", "proxy", "run", "taint", "top", "uncordon",
}

// NewCommand returns the plugin's root command. args are the name of the program and its arguments. It changes global
// variables of kubectl, so one process should have one root command.
func NewCommand(args []string, streams genericiooptions.IOStreams) (*cobra.Command, error) {
	if err := polymorphic.Install(clock.RealClock{}); err != nil {
		return nil, err
	}
	describe.Install(clock.RealClock{})
	// As the completer, the program acts as if it were called with cobra's hidden command for completions.
	if filepath.Base(args[0]) == completer {
		args = slices.Concat([]string{program, cobra.ShellCompRequestCmd}, args[1:])
	}
	older := &cluster.Older{}
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50).
		WithWarningPrinter(streams).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.Wrap(older.Wrap)
		return config
	})
	root := kubectlcmd.NewKubectlCommand(kubectlcmd.KubectlOptions{Arguments: args, ConfigFlags: flags, IOStreams: streams})
	root.Use = program
	root.Short = "Control workloads of Kruise"
	root.Long = "kubectl kruise controls workloads of Kruise: CloneSet, Advanced StatefulSet, Advanced DaemonSet and others."
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: invocation}
	root.SetArgs(args[1:])
	factory := cmdutil.NewFactory(cmdutil.NewMatchVersionFlags(flags))
	extend(root, factory, streams)
	rename(root)
	showInvocation(root)
	return root, nil
}

// showInvocation makes the usage of all commands name the program as users call it. The template of kubectl uses the first word of the
// name of the root command, which cannot contain a space.
func showInvocation(root *cobra.Command) {
	usage := root.UsageFunc()
	root.SetUsageFunc(func(command *cobra.Command) error {
		out, text := command.OutOrStdout(), &bytes.Buffer{}
		command.SetOut(text)
		defer command.SetOut(out)
		if err := usage(command); err != nil {
			return err
		}
		_, err := io.WriteString(out, strings.ReplaceAll(text.String(), `Use "`+program+" ", `Use "`+invocation+" "))
		return err
	})
}

// rename makes the examples of kubectl's commands call the plugin. The first pair of the replacer keeps what calls
// the plugin already.
func rename(command *cobra.Command) {
	command.Example = strings.NewReplacer(invocation+" ", invocation+" ", "kubectl ", invocation+" ").Replace(command.Example)
	for _, child := range command.Commands() {
		rename(child)
	}
}

// child returns a subcommand by its name, or nil.
func child(command *cobra.Command, name string) *cobra.Command {
	for _, candidate := range command.Commands() {
		if candidate.Name() == name {
			return candidate
		}
	}
	return nil
}

// replace puts a command in the place of the one with the same name. Without one, it only adds the command.
func replace(parent, command *cobra.Command) {
	if old := child(parent, command.Name()); old != nil {
		parent.RemoveCommand(old)
	}
	parent.AddCommand(command)
}

// commands returns subcommands by their names. It skips names that this version of kubectl does not have.
func commands(root *cobra.Command, names ...string) (found []*cobra.Command) {
	for _, name := range names {
		if command := child(root, name); command != nil {
			found = append(found, command)
		}
	}
	return found
}

// group shows the commands in the help under headings.
func group(root *cobra.Command) {
	// Commands that are in no group are shown under a heading of their own, except those in filters.
	filters := []string{"options"}
	if alpha := child(root, "alpha"); alpha != nil && !alpha.HasSubCommands() {
		filters = append(filters, alpha.Name())
	}
	templates.ActsAsRootCommand(root, filters, templates.CommandGroups{
		{Message: "Basic Commands:", Commands: commands(root, "create", "expose", "scale", "autoscale", "get", "describe")},
		{Message: "Troubleshooting and Debugging Commands:", Commands: commands(root, "why", "exec", "logs")},
		{Message: "CloneSet, StatefulSet and DaemonSet Commands:", Commands: commands(root, "rollout", "set", "migrate")},
		{Message: "Scaledown Commands:", Commands: commands(root, "scaledown")},
		{Message: "Advanced Commands:", Commands: commands(root, "diff", "apply", "patch", "replace", "wait", "kustomize")},
	}...)
}
