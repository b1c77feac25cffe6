package live

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/templates"

	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/workload"
)

// NewList returns the command rollout list.
func NewList(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	all := false
	command := &cobra.Command{
		Use:                   "list [-A]",
		DisableFlagsInUseLine: true,
		Short:                 "List the rollouts that are under way",
		Long:                  "List the rollouts of CloneSets, and of StatefulSets and DaemonSets of Kruise, that are under way.",
		Example: templates.Examples(`
			# List the rollouts of all namespaces
			kubectl kruise rollout list -A`),
		Args: cobra.NoArgs,
		Run: func(command *cobra.Command, _ []string) {
			c, err := cluster.New(factory)
			cmdutil.CheckErr(err)
			cmdutil.CheckErr(list(command.Context(), c, streams, all))
		},
	}
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List the rollouts of all namespaces.")
	return command
}

// list prints the rollouts that are under way. A rollout that only waits for the user, with the strategy OnDelete,
// does not count. A kind that the server does not have is left out.
func list(ctx context.Context, c *cluster.Cluster, streams genericiooptions.IOStreams, all bool) error {
	namespace := c.Namespace
	if all {
		namespace = metav1.NamespaceAll
	}
	var models []Model
	for _, row := range workload.All() {
		if !row.RollsOut() {
			continue
		}
		found, err := c.Dynamic.Resource(cluster.Resource(row)).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", row.Resource, err)
		}
		for i := range found.Items {
			w, err := workload.Of(&found.Items[i])
			if err != nil {
				return err
			}
			progress, err := w.Progress()
			if err != nil {
				return err
			}
			// The list needs no Pods, so one request for each kind is enough.
			if model := (Model{Workload: w, Progress: progress}); !model.Done() && !progress.OnDelete {
				models = append(models, model)
			}
		}
	}
	if len(models) == 0 {
		_, err := fmt.Fprintln(streams.ErrOut, "No rollouts are under way.")
		return err
	}
	return table(streams.Out, models, all)
}

// table prints a line for each rollout.
func table(out io.Writer, models []Model, namespaces bool) error {
	writer := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	heading := "NAME\tUPDATED\tAVAILABLE\tPAUSED\tSTATUS\n"
	if namespaces {
		heading = "NAMESPACE\t" + heading
	}
	_, _ = fmt.Fprint(writer, heading)
	for i := range models {
		m := &models[i]
		if namespaces {
			_, _ = fmt.Fprintf(writer, "%s\t", m.Workload.GetNamespace())
		}
		p := m.Progress
		_, _ = fmt.Fprintf(writer, "%s.%s/%s\t%d/%d\t%d/%d\t%s\t%s\n", m.Workload.Resource, m.Workload.Group, m.Workload.GetName(),
			p.Updated, p.Target, p.Available, p.Wanted, yes(p.Paused), Line(m))
	}
	return writer.Flush()
}
