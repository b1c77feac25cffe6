package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/templates"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/kubectl/cluster"
)

// targetKind is the only kind to which Pods can be moved.
const targetKind = "CloneSet"

// pause is the time between two looks at the Pods. The command polls, because it waits for two workloads one after
// the other.
const pause = time.Second

// The texts are those that users and scripts know.
var (
	errNamespace = errors.New("must specify namespace by -n or --namespace")
	errTarget    = errors.New("currently only supported CloneSet as dst type")
	errSource    = errors.New("currently only supported Deployment as src type")
	errSrcName   = errors.New("must specify --src-name")
	errDstName   = errors.New("must specify --dst-name")
	errSurge     = errors.New("--max-surge must be at least 1")
)

// options are the flags of the command. source and target are names.
type options struct {
	genericiooptions.IOStreams
	from, source, target string
	create, copy         bool
	replicas, surge      int32
	timeout              int32
}

// NewCommand returns the command migrate.
func NewCommand(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{IOStreams: streams}
	command := &cobra.Command{
		Use:                   "migrate CloneSet --from=Deployment -n NAMESPACE --src-name=NAME [--dst-name=NAME] [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Move the replicas of a Deployment to a CloneSet",
		Long: templates.LongDesc(`
			Create a CloneSet from a Deployment, or move replicas from a Deployment to a CloneSet.

			Replicas are moved in steps: the CloneSet scales out, its Pods become available, then the Deployment scales in.`),
		Example: templates.Examples(`
			# Create an empty CloneSet from a Deployment
			kubectl kruise migrate CloneSet --from=Deployment -n default --src-name=web --dst-name=web-clone --create

			# Create a CloneSet with the replicas of the Deployment
			kubectl kruise migrate CloneSet --from=Deployment -n default --src-name=web --dst-name=web-clone --create --copy

			# Move 10 replicas, at most 2 at a time
			kubectl kruise migrate CloneSet --from=Deployment -n default --src-name=web --dst-name=web-clone --replicas=10 --max-surge=2`),
		ValidArgs: []string{targetKind},
		Run: func(command *cobra.Command, args []string) {
			cmdutil.CheckErr(o.validate(command.Flags().Changed("namespace"), args))
			cmdutil.CheckErr(o.run(command.Context(), factory))
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.from, "from", "", "Type of the source workload: Deployment.")
	flags.StringVar(&o.source, "src-name", "", "Name of the source workload.")
	flags.StringVar(&o.target, "dst-name", "", "Name of the CloneSet. With --create, the default is the name of the source.")
	flags.BoolVar(&o.create, "create", false, "Create the CloneSet, with 0 replicas.")
	flags.BoolVar(&o.copy, "copy", false, "With --create, copy the replicas of the source.")
	flags.Int32Var(&o.replicas, "replicas", -1, "Number of replicas to move. -1 moves all.")
	flags.Int32Var(&o.surge, "max-surge", 1, "Maximum number of Pods above the number of replicas.")
	flags.Int32Var(&o.timeout, "timeout-seconds", -1, "Number of seconds after which moving fails. -1 means never.")
	return command
}

// validate checks the flags. namespace says whether the user has named one: moving replicas in a namespace that was
// only the default would be a surprise. The name of the target defaults to that of the source.
func (o *options) validate(namespace bool, args []string) error {
	switch {
	case !namespace:
		return errNamespace
	case len(args) != 1 || !strings.EqualFold(args[0], targetKind):
		return errTarget
	case !strings.EqualFold(o.from, "Deployment"):
		return errSource
	case o.source == "":
		return errSrcName
	case o.target == "" && !o.create:
		return errDstName
	case o.surge < 1:
		return errSurge
	}
	if o.target == "" {
		o.target = o.source
	}
	return nil
}

// run creates the CloneSet, or moves replicas to it. The time limit is for moving only.
func (o *options) run(ctx context.Context, factory cmdutil.Factory) error {
	c, err := cluster.New(factory)
	if err != nil {
		return err
	}
	if o.create {
		return o.createTarget(ctx, c)
	}
	if o.timeout >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(o.timeout)*time.Second, errors.New("timed out"))
		defer cancel()
	}
	if err := o.mover(c).run(ctx); err != nil {
		return fmt.Errorf("failed to migrate: %w", err)
	}
	return nil
}

// createTarget creates the CloneSet. It fails if one of the name exists.
func (o *options) createTarget(ctx context.Context, c *cluster.Cluster) error {
	source, err := c.Core.AppsV1().Deployments(c.Namespace).Get(ctx, o.source, metav1.GetOptions{})
	if err != nil {
		return err
	}
	set := cloneSetOf(source, o.target, o.copy)
	if _, err := c.Kruise.AppsV1beta1().CloneSets(c.Namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "Successfully created from Deployment/%s to CloneSet/%s\n", o.source, o.target)
	return err
}

// cloneSetOf returns the CloneSet that runs the Pods of a Deployment. It has the same selector and template, and
// recreates Pods as a Deployment does. It has no replicas unless they are copied. The annotations that kubectl and
// the controller of Deployments own are left out.
func cloneSetOf(source *appsv1.Deployment, name string, replicas bool) *v1beta1.CloneSet {
	annotations := maps.Clone(source.Annotations)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	delete(annotations, "deployment.kubernetes.io/revision")
	// A Deployment replaces its Pods, so the CloneSet does the same until its user changes that.
	rolling := &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: pub.ReCreatePodUpdatePolicy, Paused: source.Spec.Paused}
	if given := source.Spec.Strategy.RollingUpdate; given != nil {
		rolling.MaxUnavailable, rolling.MaxSurge = given.MaxUnavailable, given.MaxSurge
	}
	set := &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: source.Namespace, Labels: source.Labels, Annotations: annotations, Finalizers: source.Finalizers,
		},
		Spec: v1beta1.CloneSetSpec{
			Replicas: new(int32(0)), Selector: source.Spec.Selector, Template: source.Spec.Template,
			RevisionHistoryLimit: source.Spec.RevisionHistoryLimit, MinReadySeconds: source.Spec.MinReadySeconds,
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: rolling},
		},
	}
	if replicas {
		set.Spec.Replicas = source.Spec.Replicas
	}
	return set
}

// mover returns the functions that read and scale the two workloads. A CloneSet is settled when all its replicas are available.
func (o *options) mover(c *cluster.Cluster) *move {
	deployments, sets := c.Core.AppsV1().Deployments(c.Namespace), c.Kruise.AppsV1beta1().CloneSets(c.Namespace)
	return &move{
		source: "Deployment/" + o.source, target: "CloneSet/" + o.target,
		replicas: o.replicas, surge: o.surge, out: o.Out, wait: every(pause),
		readSource: func(ctx context.Context) (end, error) {
			found, err := deployments.Get(ctx, o.source, metav1.GetOptions{})
			if err != nil {
				return end{}, err
			}
			return sourceOf(found), nil
		},
		readTarget: func(ctx context.Context) (end, error) {
			found, err := sets.Get(ctx, o.target, metav1.GetOptions{})
			if err != nil {
				return end{}, err
			}
			wanted, s := orOne(found.Spec.Replicas), found.Status
			observed := s.ObservedGeneration >= found.Generation
			return end{Replicas: wanted, Settled: observed && s.Replicas == wanted && s.AvailableReplicas == wanted}, nil
		},
		scaleSource: func(ctx context.Context, from, to int32) error {
			_, err := deployments.Patch(ctx, o.source, types.JSONPatchType, scaling(from, to), metav1.PatchOptions{})
			return err
		},
		scaleTarget: func(ctx context.Context, from, to int32) error {
			_, err := sets.Patch(ctx, o.target, types.JSONPatchType, scaling(from, to), metav1.PatchOptions{})
			return err
		},
	}
}

// sourceOf returns the state of a Deployment. It is settled when it has no Pods above its replicas. Terminating Pods count, because they
// still run. Servers before Kubernetes 1.35 do not count them, so there they may still run when the next step begins.
func sourceOf(found *appsv1.Deployment) end {
	wanted, s := orOne(found.Spec.Replicas), found.Status
	observed := s.ObservedGeneration >= found.Generation
	return end{Replicas: wanted, Settled: observed && s.Replicas <= wanted && ptr.Deref(s.TerminatingReplicas, 0) == 0}
}

// orOne returns the replicas, or the default of the API.
func orOne(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

// scaling returns a patch of the replicas that fails if another client changed them.
func scaling(from, to int32) []byte {
	return fmt.Appendf(nil, `[{"op":"test","path":"/spec/replicas","value":%d},{"op":"replace","path":"/spec/replicas","value":%d}]`, from, to)
}
