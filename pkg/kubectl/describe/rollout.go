package describe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"
	"k8s.io/kubectl/pkg/util/templates"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/kubectl/cluster"
)

var (
	errRolloutName = errors.New("required rollout name not specified: name one, or use --all")
	errBoth        = errors.New("a rollout name and --all exclude each other")
	errTimedOut    = errors.New("timed out waiting for the condition")
)

// rolloutKind is the kind of Rollouts, in any version. It belongs to another project, so it is read unstructured.
var rolloutKind = schema.GroupKind{Group: "rollouts.kruise.io", Kind: "Rollout"}

// rolloutOptions are the flags of the command.
type rolloutOptions struct {
	watch, plain, all bool
	// timeout is in seconds. Zero means no limit.
	timeout int
}

// NewRollout returns the command describe rollout, for Rollouts of the group rollouts.kruise.io.
func NewRollout(factory cmdutil.Factory, streams genericiooptions.IOStreams, now clock.PassiveClock) *cobra.Command {
	options := &rolloutOptions{}
	command := &cobra.Command{
		Use:                   "rollout (NAME | --all) [flags]",
		Aliases:               []string{"rollouts", "ro"},
		DisableFlagsInUseLine: true,
		Short:                 "Show the steps of a Rollout and the Pods of its workload",
		Long: templates.LongDesc(`
			Show a Rollout of the group rollouts.kruise.io: its steps, where it is, its workload and the Pods by batch.

			For the rollout of a workload itself, use "kubectl kruise describe cloneset/NAME" or "kubectl kruise rollout watch".`),
		Example: templates.Examples(`
			# Describe a Rollout
			kubectl kruise describe rollout web

			# Describe a Rollout again after each change, for at most 10 minutes
			kubectl kruise describe rollout web --watch --timeout=600`),
		ValidArgsFunction: completion.ResourceNameCompletionFunc(factory, "rollouts.rollouts.kruise.io"),
		Run: func(command *cobra.Command, args []string) {
			cmdutil.CheckErr(options.run(command.Context(), factory, streams, now, args))
		},
	}
	command.Flags().BoolVarP(&options.watch, "watch", "w", false, "Describe the Rollout again after each change.")
	command.Flags().BoolVar(&options.plain, "no-color", false, "Print no colors.")
	command.Flags().BoolVar(&options.all, "all", false, "Describe all Rollouts in the namespace.")
	command.Flags().IntVar(&options.timeout, "timeout", 0,
		"With --watch, the number of seconds after which the command fails. Zero means never.")
	return command
}

// run checks the arguments, and describes what they name. --watch has an effect only with a name.
func (o *rolloutOptions) run(ctx context.Context, factory cmdutil.Factory, streams genericiooptions.IOStreams, now clock.PassiveClock,
	args []string,
) error {
	switch {
	case len(args) == 0 && !o.all:
		return errRolloutName
	case len(args) > 0 && o.all:
		return errBoth
	case len(args) > 1:
		return fmt.Errorf("%d rollouts are named: name one, or use --all", len(args))
	}
	c, err := cluster.New(factory)
	if err != nil {
		return err
	}
	mapper, err := factory.ToRESTMapper()
	if err != nil {
		return err
	}
	// Rollouts are of another project. Their version is the one that the server prefers.
	mapping, err := mapper.RESTMapping(rolloutKind)
	if err != nil {
		return fmt.Errorf("find the kind Rollout, which is installed separately: %w", err)
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(o.timeout)*time.Second)
		defer cancel()
	}
	d := &rolloutDescriber{
		cluster: c, mapper: mapper, clock: now, plain: o.plain, rollouts: c.Dynamic.Resource(mapping.Resource).Namespace(c.Namespace),
	}
	// Only one Rollout can be followed, so --all describes each of them once.
	if o.watch && len(args) == 1 {
		return d.follow(ctx, streams, args[0])
	}
	return d.once(ctx, streams, args)
}

// once describes the named Rollout, or all. Several descriptions are separated by an empty line.
func (d *rolloutDescriber) once(ctx context.Context, streams genericiooptions.IOStreams, names []string) error {
	list := &unstructured.UnstructuredList{}
	if len(names) == 1 {
		rollout, err := d.rollouts.Get(ctx, names[0], metav1.GetOptions{})
		if err != nil {
			return err
		}
		list.Items = append(list.Items, *rollout)
	} else {
		var err error
		if list, err = d.rollouts.List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	for i := range list.Items {
		text, err := d.describe(ctx, &list.Items[i])
		if err != nil {
			return err
		}
		if i > 0 {
			text = "\n" + text
		}
		if _, err := fmt.Fprint(streams.Out, text); err != nil {
			return err
		}
	}
	return nil
}

// follow describes a Rollout after each change, until it is healthy or ctx ends. It prints only a description that
// differs from the last one, after a line that separates the two. A watch that the server closes is started again.
func (d *rolloutDescriber) follow(ctx context.Context, streams genericiooptions.IOStreams, name string) error {
	last := ""
	show := func(rollout *unstructured.Unstructured) (done bool, err error) {
		text, err := d.describe(ctx, rollout)
		if err != nil {
			return false, err
		}
		if text != last {
			if last != "" {
				text = strings.Repeat("-", separatorWidth) + "\n" + text
			}
			_, err = fmt.Fprint(streams.Out, text)
			last = strings.TrimPrefix(text, strings.Repeat("-", separatorWidth)+"\n")
		}
		return phaseOf(rollout) == "Healthy", err
	}
	for {
		done, err := d.untilClosed(ctx, name, show)
		switch {
		case ctx.Err() != nil:
			return errTimedOut
		case err != nil || done:
			return err
		}
	}
}

// separatorWidth is the length of the line between two descriptions, in characters.
const separatorWidth = 80

// untilClosed shows a Rollout now and after each event, until show returns true or the server closes the watch. A
// deleted Rollout is also an end.
func (d *rolloutDescriber) untilClosed(
	ctx context.Context, name string, show func(*unstructured.Unstructured) (bool, error),
) (done bool, err error) {
	rollout, err := d.rollouts.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	if done, err := show(rollout); done || err != nil {
		return done, err
	}
	// The watch begins at the version that was shown, so no change is missed.
	events, err := d.rollouts.Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(), ResourceVersion: rollout.GetResourceVersion(),
	})
	if err != nil {
		return false, err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		changed, ok := event.Object.(*unstructured.Unstructured)
		switch {
		// Nothing is left to follow, so this is the end and no error.
		case event.Type == watch.Deleted:
			return true, nil
		case !ok || event.Type == watch.Error:
			return false, ignoreExpired(apierrors.FromObject(event.Object))
		}
		if done, err := show(changed); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// ignoreExpired returns nil for the end of a watch that is simply started again.
func ignoreExpired(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	return err
}

// rolloutDescriber describes Rollouts of one namespace.
type rolloutDescriber struct {
	cluster  *cluster.Cluster
	mapper   mapper
	clock    clock.PassiveClock
	plain    bool
	rollouts dynamic.ResourceInterface
}
