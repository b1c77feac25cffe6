package tree

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"
	"k8s.io/kubectl/pkg/util/templates"

	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/workload"
)

var errKind = errors.New("a tree is only available for CloneSets, and for StatefulSets and DaemonSets of Kruise")

// NewCommand returns the command get tree.
func NewCommand(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:                   "tree (TYPE NAME | TYPE/NAME)",
		DisableFlagsInUseLine: true,
		Short:                 "Display a workload with its revisions, Pods and claims",
		Long:                  "Display a workload with its revisions, their Pods, and the claims of the Pods.",
		Example: templates.Examples(`
			# Display what belongs to a CloneSet
			kubectl kruise get tree cloneset/web`),
		ValidArgsFunction: completion.SpecifiedResourceTypeAndNameNoRepeatCompletionFunc(factory, workload.ArgNames((*workload.Kind).RollsOut)),
		Run: func(command *cobra.Command, args []string) {
			c, err := cluster.New(factory)
			cmdutil.CheckErr(err)
			facts, err := read(command.Context(), c, args)
			cmdutil.CheckErr(err)
			_, err = fmt.Fprint(streams.Out, Render(facts))
			cmdutil.CheckErr(err)
		},
	}
}

// read reads what the tree shows. It makes one request for each claim.
func read(ctx context.Context, c *cluster.Cluster, args []string) (*Facts, error) {
	info, err := c.One(args)
	if err != nil {
		return nil, err
	}
	row := workload.KindOf(info.Mapping.GroupVersionKind.GroupKind())
	if row == nil || !row.RollsOut() {
		return nil, errKind
	}
	f := &Facts{Claims: map[string][]*corev1.PersistentVolumeClaim{}}
	if f.Workload, err = c.Workload(ctx, row, info.Namespace, info.Name); err != nil {
		return nil, err
	}
	if f.Progress, err = f.Workload.Progress(); err != nil {
		return nil, err
	}
	if f.Revisions, err = c.Revisions(ctx, f.Workload); err != nil {
		return nil, err
	}
	if f.Pods, err = c.Pods(ctx, f.Workload); err != nil {
		return nil, err
	}
	// Claims are found by the volumes of the Pods, because they need not have the labels of the workload.
	for _, pod := range f.Pods {
		if f.Claims[pod.Name], err = c.Claims(ctx, pod); err != nil {
			return nil, err
		}
	}
	return f, nil
}
