package rollout

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	kubectlrollout "k8s.io/kubectl/pkg/cmd/rollout"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/polymorphichelpers"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/workload"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/podstate"
)

// NewStatus returns kubectl's rollout status with the flag --detail. Without the flag, it behaves as kubectl's own. The help of --revision
// also says which kinds ignore it.
func NewStatus(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	command := kubectlrollout.NewCmdRolloutStatus(factory, streams)
	options := kubectlrollout.NewRolloutStatusOptions(streams)
	detail := false
	flags := command.Flags()
	flags.Lookup("revision").Usage += " Only Deployments support this flag. It is ignored for all other kinds."
	flags.BoolVarP(&detail, "detail", "d", detail, "Also print the names of the updated Pods.")
	command.Run = func(command *cobra.Command, args []string) {
		cmdutil.CheckErr(status(command, factory, options, args, detail))
	}
	return command
}

// status copies the flags of kubectl's command into options of its own, because kubectl does not let others reach
// those of the command. A flag that a newer kubectl adds has to be added here.
func status(command *cobra.Command, factory cmdutil.Factory, options *kubectlrollout.RolloutStatusOptions, args []string, detail bool,
) error {
	if err := options.Complete(factory, args); err != nil {
		return err
	}
	var err error
	flags := command.Flags()
	options.Watch = cmdutil.GetFlagBool(command, "watch")
	options.Timeout = cmdutil.GetFlagDuration(command, "timeout")
	options.LabelSelector = cmdutil.GetFlagString(command, "selector")
	if options.Revision, err = flags.GetInt64("revision"); err != nil {
		return err
	}
	options.FilenameOptions.Filenames = cmdutil.GetFlagStringSlice(command, "filename")
	options.FilenameOptions.Kustomize = cmdutil.GetFlagString(command, "kustomize")
	options.FilenameOptions.Recursive = cmdutil.GetFlagBool(command, "recursive")
	if err := options.Validate(); err != nil {
		return err
	}
	if detail {
		core, err := factory.KubernetesClientSet()
		if err != nil {
			return err
		}
		options.StatusViewerFn = detailed(command.Context(), core, options.StatusViewerFn)
	}
	return options.Run()
}

// detailedViewer adds the names of the updated Pods to what another viewer says.
type detailedViewer struct {
	polymorphichelpers.StatusViewer
	ctx  context.Context //nolint:containedctx // kubectl's interface has no context.
	core kubernetes.Interface
}

// detailed wraps a viewer, so that each status also names the updated Pods.
func detailed(ctx context.Context, core kubernetes.Interface, viewer func(*meta.RESTMapping) (polymorphichelpers.StatusViewer, error),
) func(*meta.RESTMapping) (polymorphichelpers.StatusViewer, error) {
	return func(mapping *meta.RESTMapping) (polymorphichelpers.StatusViewer, error) {
		of, err := viewer(mapping)
		return detailedViewer{StatusViewer: of, ctx: ctx, core: core}, err
	}
}

// Status implements kubectl's StatusViewer. Kinds that are not in the table have the status of kubectl alone.
func (v detailedViewer) Status(object runtime.Unstructured, revision int64) (string, bool, error) {
	text, done, err := v.StatusViewer.Status(object, revision)
	if err != nil {
		return text, done, err
	}
	// kubectl passes an object of any kind. Of returns nil for a kind that is not in the table.
	w, err := workload.Of(&unstructured.Unstructured{Object: object.UnstructuredContent()})
	if w == nil || err != nil {
		return text, done, err
	}
	pods, err := (&cluster.Cluster{Core: v.core}).Pods(v.ctx, w)
	if err != nil {
		return text, done, err
	}
	ready, notReady := updated(pods, w.Text(w.Revision))
	return text + fmt.Sprintf("Updated ready pods: %v\nUpdated not ready pods: %v\n", ready, notReady), done, nil
}

// updated returns the names of the Pods at a revision. Pods that are terminating or have ended are left out.
func updated(pods []*corev1.Pod, revision string) (ready, notReady []string) {
	for _, pod := range pods {
		if !history.Matches(pod.Labels[pub.ControllerRevisionHashKey], revision) || !podstate.Active(pod) {
			continue
		}
		if podstate.Ready(pod) {
			ready = append(ready, pod.Name)
		} else {
			notReady = append(notReady, pod.Name)
		}
	}
	return ready, notReady
}
