package scaledown

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/kubectl/pkg/util/completion"
	"k8s.io/kubectl/pkg/util/templates"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
)

// The texts are those that users and scripts know.
var (
	errNoNames = errors.New("must specify one pod name")
	errKind    = errors.New("currently only supported CloneSet selective pods deletion")
)

// options are the flags of the command. pods are the names of the Pods to remove.
type options struct {
	genericiooptions.IOStreams
	print  *genericclioptions.PrintFlags
	pods   []string
	dryRun cmdutil.DryRunStrategy
}

// NewCommand returns the command scaledown.
func NewCommand(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{
		IOStreams: streams,
		print:     genericclioptions.NewPrintFlags("selective pod deletion").WithTypeSetter(scheme.Scheme),
	}
	command := &cobra.Command{
		Use:                   "scaledown (TYPE NAME | TYPE/NAME) --pods=POD,...",
		DisableFlagsInUseLine: true,
		Short:                 "Remove Pods of a CloneSet by their names",
		Long:                  "Remove Pods of a CloneSet by their names, and lower its replicas by their number.",
		Example: templates.Examples(`
			# Remove two Pods of the CloneSet web
			kubectl kruise scaledown cloneset/web --pods web-1,web-2`),
		ValidArgsFunction: completion.SpecifiedResourceTypeAndNameNoRepeatCompletionFunc(factory, []string{"clonesets"}),
		Run: func(command *cobra.Command, args []string) {
			var err error
			o.dryRun, err = cmdutil.GetDryRunStrategy(command)
			cmdutil.CheckErr(err)
			cmdutil.CheckErr(o.run(command.Context(), factory, args))
		},
	}
	command.Flags().StringSliceVar(&o.pods, "pods", nil, "Names of the Pods to remove, separated by commas.")
	cmdutil.AddDryRunFlag(command)
	o.print.AddFlags(command)
	return command
}

// run checks the names, and changes the CloneSet with one patch. The controller then deletes the named Pods.
func (o *options) run(ctx context.Context, factory cmdutil.Factory, args []string) error {
	if len(o.pods) == 0 {
		return errNoNames
	}
	c, err := cluster.New(factory)
	if err != nil {
		return err
	}
	info, err := c.One(args)
	if err != nil {
		return err
	}
	if info.Mapping.GroupVersionKind.GroupKind() != kinds.CloneSet {
		return errKind
	}
	sets := c.Kruise.AppsV1beta1().CloneSets(info.Namespace)
	set, err := sets.Get(ctx, info.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := o.check(ctx, c, set); err != nil {
		return err
	}
	// One merge patch changes both fields, so the replicas never differ from the list.
	if o.dryRun != cmdutil.DryRunClient {
		patch, err := removing(set, o.pods)
		if err != nil {
			return err
		}
		request := metav1.PatchOptions{FieldManager: "kubectl-scaledown"}
		if o.dryRun == cmdutil.DryRunServer {
			request.DryRun = []string{metav1.DryRunAll}
		}
		if _, err := sets.Patch(ctx, set.Name, types.MergePatchType, patch, request); err != nil {
			return err
		}
	}
	cmdutil.PrintFlagsWithDryRunStrategy(o.print, o.dryRun)
	printer, err := o.print.ToPrinter()
	if err != nil {
		return err
	}
	// The line is not a part of a structured output such as JSON, which programs parse.
	if *o.print.OutputFormat == "" {
		_, _ = fmt.Fprintf(o.Out, "# %s delete pods %v successfully\n", set.Name, o.pods)
	}
	return printer.PrintObj(info.Object, o.Out)
}

// check refuses names that would lower the replicas without removing a Pod: a Pod of another owner, one that is going
// already, or one that is named twice. The check and the patch are for the same version of the CloneSet.
func (o *options) check(ctx context.Context, c *cluster.Cluster, set *v1beta1.CloneSet) error {
	replicas := *replicasOf(set)
	// The patch would make the replicas negative.
	if int(replicas) < len(o.pods) {
		return fmt.Errorf("CloneSet %s has %d replicas: name at most as many Pods, not %d", set.Name, replicas, len(o.pods))
	}
	seen := map[string]bool{}
	for _, name := range o.pods {
		pod, err := c.Core.CoreV1().Pods(set.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case seen[name]:
			return fmt.Errorf("CloneSet %s: Pod %s is named twice: name it once", set.Name, name)
		case slices.Contains(set.Spec.ScaleStrategy.PodsToDelete, name):
			return fmt.Errorf("CloneSet %s: Pod %s is already in spec.scaleStrategy.podsToDelete: do not name it again", set.Name, name)
		case err != nil:
			return err
		case !metav1.IsControlledBy(pod, set) || !podstate.Active(pod):
			return fmt.Errorf("CloneSet %s: %s is not one of its Pods: name one of them", set.Name, name)
		}
		seen[name] = true
	}
	return nil
}

// replicasOf returns the replicas, or the default of the API.
func replicasOf(set *v1beta1.CloneSet) *int32 {
	if set.Spec.Replicas == nil {
		return new(int32(1))
	}
	return set.Spec.Replicas
}

// removing returns the patch that lists Pods for deletion and lowers the replicas. It fails if the CloneSet has changed.
func removing(set *v1beta1.CloneSet, pods []string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": set.ResourceVersion},
		"spec": map[string]any{
			"replicas":      *replicasOf(set) - int32(len(pods)),
			"scaleStrategy": map[string]any{"podsToDelete": append(slices.Clone(set.Spec.ScaleStrategy.PodsToDelete), pods...)},
		},
	})
}
