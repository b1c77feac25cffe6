package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/kubectl/pkg/util/completion"
	"k8s.io/kubectl/pkg/util/templates"
)

// The texts are those that users and scripts know.
var (
	errNoApproval = errors.New("approving is not supported")
	errNoProgress = errors.New("no need to approve: not in canary or blue-green progress")
	errNoResource = errors.New("required resource not specified")
)

// rollouts is the resource of another project.
var rollouts = schema.GroupResource{Group: "rollouts.kruise.io", Resource: "rollouts"}

// canaries are the fields of the status of a Rollout that have steps, and their names in messages.
var canaries = []struct{ field, name string }{{"canaryStatus", "canary"}, {"blueGreenStatus", "blue-green"}}

// NewApprove returns the command rollout approve, for Rollouts of the group rollouts.kruise.io.
func NewApprove(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	print := genericclioptions.NewPrintFlags("approved").WithTypeSetter(scheme.Scheme)
	files := &resource.FilenameOptions{}
	command := &cobra.Command{
		Use:                   "approve (TYPE NAME | TYPE/NAME) [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Approve the step of a Rollout",
		Long:                  "Let a Rollout that waits at a step continue with the next step.",
		Example: templates.Examples(`
			# Approve the step of a Rollout
			kubectl kruise rollout approve rollout/web`),
		ValidArgsFunction: completion.SpecifiedResourceTypeAndNameCompletionFunc(factory, []string{rollouts.Resource + "." + rollouts.Group}),
		Run: func(command *cobra.Command, args []string) {
			cmdutil.CheckErr(each(command.Context(), factory, streams, print, files, args, patching(errNoApproval, approval, "status")))
		},
	}
	cmdutil.AddFilenameOptionFlags(command, files, "identifying the resource to get from a server.")
	print.AddFlags(command)
	return command
}

// each changes all objects that the arguments or files name, and prints them. It goes on after a failure, and returns all failures
// together.
func each(ctx context.Context, factory cmdutil.Factory, streams genericiooptions.IOStreams, print *genericclioptions.PrintFlags,
	files *resource.FilenameOptions, args []string, change func(context.Context, dynamic.Interface, *resource.Info) error,
) error {
	if len(args) == 0 && cmdutil.IsFilenameSliceEmpty(files.Filenames, files.Kustomize) {
		return errNoResource
	}
	namespace, explicit, err := factory.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	printer, err := print.ToPrinter()
	if err != nil {
		return err
	}
	client, err := factory.DynamicClient()
	if err != nil {
		return err
	}
	// Errors of single arguments do not end the loop, so valid ones are still changed.
	infos, err := factory.NewBuilder().Unstructured().NamespaceParam(namespace).DefaultNamespace().FilenameParam(explicit, files).
		ResourceTypeOrNameArgs(true, args...).ContinueOnError().Latest().Flatten().Do().Infos()
	failures := []error{}
	if err != nil {
		failures = append(failures, err)
	}
	for _, info := range infos {
		if err := change(ctx, client, info); err != nil {
			failures = append(failures, fmt.Errorf("error: %s %q %w", info.Mapping.Resource.GroupResource(), info.Name, err))
			continue
		}
		if err := printer.PrintObj(info.Object, streams.Out); err != nil {
			failures = append(failures, err)
		}
	}
	return utilerrors.NewAggregate(failures)
}

// patching returns a function that patches one Rollout, or its status. An object of another kind is answered with unsupported.
func patching(unsupported error, patchOf func(*unstructured.Unstructured) ([]byte, error), subresources ...string,
) func(context.Context, dynamic.Interface, *resource.Info) error {
	return func(ctx context.Context, client dynamic.Interface, info *resource.Info) error {
		object, ok := info.Object.(*unstructured.Unstructured)
		if !ok || info.Mapping.Resource.GroupResource() != rollouts {
			return unsupported
		}
		patch, err := patchOf(object)
		if err != nil {
			return err
		}
		_, err = client.Resource(info.Mapping.Resource).Namespace(info.Namespace).
			Patch(ctx, info.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-rollout"}, subresources...)
		return err
	}
}

// approval returns the patch of the status that lets a Rollout continue. The resourceVersion makes sure that the step
// is still the one that the user saw. A Rollout that does not wait is refused.
func approval(object *unstructured.Unstructured) ([]byte, error) {
	for _, canary := range canaries {
		state, found, err := unstructured.NestedString(object.Object, "status", canary.field, "currentStepState")
		switch {
		case err != nil || !found:
			continue
		case state != "StepPaused":
			return nil, fmt.Errorf("does not allow to approve, because current %s state is not 'StepPaused'", canary.name)
		}
		// The controller of Rollouts continues when the state is StepReady.
		return json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()},
			"status":   map[string]any{canary.field: map[string]any{"currentStepState": "StepReady"}},
		})
	}
	return nil, errNoProgress
}
