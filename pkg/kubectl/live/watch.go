package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"
	"k8s.io/kubectl/pkg/util/templates"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/polymorphic"
	"kruise.io/kruise/pkg/kubectl/why"
	"kruise.io/kruise/pkg/kubectl/workload"
)

var errKind = errors.New("watching is only supported for CloneSets, and for StatefulSets and DaemonSets of Kruise")

// NewWatch returns the command rollout watch.
func NewWatch(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:                   "watch (TYPE NAME | TYPE/NAME)",
		DisableFlagsInUseLine: true,
		Short:                 "Show a rollout while it runs",
		Long: templates.LongDesc(`
			Show a rollout and its Pods while it runs. The keys p, r and u pause, resume and undo it, and q quits.

			If the output is not a terminal, a line is printed for each change until the rollout is done.`),
		Example: templates.Examples(`
			# Watch the rollout of a CloneSet
			kubectl kruise rollout watch cloneset/web`),
		ValidArgsFunction: completion.SpecifiedResourceTypeAndNameNoRepeatCompletionFunc(factory, workload.ArgNames((*workload.Kind).RollsOut)),
		Run: func(command *cobra.Command, args []string) {
			cmdutil.CheckErr(watchRollout(command.Context(), factory, streams, args))
		},
	}
}

// watchRollout shows the rollout as a view on a terminal, and as lines anywhere else. Only the view never ends by
// itself while the workload exists.
func watchRollout(ctx context.Context, factory cmdutil.Factory, streams genericiooptions.IOStreams, args []string) error {
	c, err := cluster.New(factory)
	if err != nil {
		return err
	}
	info, err := c.One(args)
	if err != nil {
		return err
	}
	row := workload.KindOf(info.Mapping.GroupVersionKind.GroupKind())
	if row == nil || !row.RollsOut() {
		return errKind
	}
	w, err := c.Workload(ctx, row, info.Namespace, info.Name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := follow(ctx, c, w)
	if err != nil {
		return err
	}
	// Tests and pipes get lines.
	if out, ok := streams.Out.(*os.File); ok && term.IsTerminal(int(out.Fd())) {
		return draw(ctx, s, streams, keys(c, w), reasons(c, w))
	}
	return s.lines(ctx, func(line string) { _, _ = fmt.Fprintln(streams.Out, line) })
}

// draw shows the rollout on a terminal until the user quits, or until the workload is gone. Changes and reasons are
// read in the background and sent to the program.
func draw(
	ctx context.Context, s *source, streams genericiooptions.IOStreams, actions actions, explain func(context.Context) string,
) error {
	first := program{ctx: ctx, model: s.read(), actions: actions}
	running := tea.NewProgram(first, tea.WithContext(ctx), tea.WithInput(streams.In), tea.WithOutput(streams.Out))
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.changed:
				running.Send(update(s.read()))
			}
		}
	}()
	go func() {
		for {
			running.Send(reason(explain(ctx)))
			select {
			case <-ctx.Done():
				return
			case <-time.After(reasonPeriod):
			}
		}
	}()
	_, err := running.Run()
	return err
}

// reasonPeriod is how often the reason is read. It needs several requests.
const reasonPeriod = 2 * time.Second

// reasons returns a function that reads why a workload makes no progress. It uses requests and not the informers,
// because the answer also needs events and budgets.
func reasons(c *cluster.Cluster, w *workload.Workload) func(context.Context) string {
	object := &unstructured.Unstructured{}
	object.SetNamespace(w.GetNamespace())
	object.SetName(w.GetName())
	object.SetUID(w.GetUID())
	return func(ctx context.Context) string {
		facts, err := why.Read(ctx, c, clock.RealClock{}, w.GroupKind, object)
		if err != nil {
			return "" // The informers report it if it lasts.
		}
		return why.Explain(facts).String()
	}
}

// keys returns what the keys do. The patches are those of kubectl's rollout commands, so both work in the same way.
func keys(c *cluster.Cluster, w *workload.Workload) actions {
	objects := c.Dynamic.Resource(cluster.Resource(w.Kind)).Namespace(w.GetNamespace())
	patch := func(ctx context.Context, kind types.PatchType, content []byte, done string) string {
		if _, err := objects.Patch(ctx, w.GetName(), kind, content, metav1.PatchOptions{FieldManager: "kubectl-rollout"}); err != nil {
			return "Error: " + err.Error()
		}
		return done
	}
	return actions{
		pause: func(ctx context.Context) string {
			return patch(ctx, types.MergePatchType, w.PausingPatch(true), "paused")
		},
		resume: func(ctx context.Context) string {
			return patch(ctx, types.MergePatchType, w.PausingPatch(false), "resumed")
		},
		// The revisions are read when the key is pressed, because the view does not have them.
		undo: func(ctx context.Context) string {
			all, err := c.Revisions(ctx, w)
			if err != nil {
				return "Error: " + err.Error()
			}
			target, err := polymorphic.Target(w, all, 0)
			if err != nil {
				return "Error: " + err.Error()
			}
			content, err := polymorphic.Restoring(w, target)
			if err != nil {
				return "Error: " + err.Error()
			}
			return patch(ctx, types.JSONPatchType, content, fmt.Sprintf("rolled back to revision %d", target.Revision))
		},
	}
}
