package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/scheme"
)

// PauseRollouts makes rollout pause of kubectl, or rollout resume, accept Rollouts of the group rollouts.kruise.io. kubectl has no type
// for them, and sends a strategic merge patch, which kube-apiserver does not accept for custom resources. Files and selectors are left to
// kubectl, which refuses Rollouts in them.
func PauseRollouts(command *cobra.Command, factory cmdutil.Factory, streams genericiooptions.IOStreams, paused bool) {
	other := command.Run
	command.Run = func(command *cobra.Command, args []string) {
		ours := !slices.ContainsFunc([]string{"filename", "kustomize", "selector"}, command.Flags().Changed)
		if ours {
			// kubectl reports an error of the lookup.
			all, err := onlyRollouts(factory, args)
			ours = all && err == nil
		}
		if !ours {
			other(command, args)
			return
		}
		operation := "resumed"
		if paused {
			operation = "paused"
		}
		print := genericclioptions.NewPrintFlags(operation).WithTypeSetter(scheme.Scheme)
		*print.OutputFormat = cmdutil.GetFlagString(command, "output")
		cmdutil.CheckErr(each(command.Context(), factory, streams, print, &resource.FilenameOptions{}, args, pause(paused)))
	}
}

// onlyRollouts reports whether all arguments name Rollouts, as TYPE/NAME or as a TYPE before the names.
func onlyRollouts(factory cmdutil.Factory, args []string) (bool, error) {
	if len(args) == 0 {
		return false, nil
	}
	mapper, err := factory.ToRESTMapper()
	if err != nil {
		return false, err
	}
	for i, arg := range args {
		name, _, hasName := strings.Cut(arg, "/")
		if i > 0 && !hasName {
			continue
		}
		_, wanted := schema.ParseResourceArg(strings.ToLower(name))
		found, err := mapper.ResourceFor(wanted.WithVersion(""))
		if err != nil || found.GroupResource() != rollouts {
			return false, err
		}
	}
	return true, nil
}

// pause returns a function that pauses or resumes one Rollout.
func pause(paused bool) func(context.Context, dynamic.Interface, *resource.Info) error {
	return func(ctx context.Context, client dynamic.Interface, info *resource.Info) error {
		object, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return errors.New("the Rollout cannot be read")
		}
		switch is, _, _ := unstructured.NestedBool(object.Object, "spec", "strategy", "paused"); {
		case is && paused:
			return errors.New("is already paused")
		case !is && !paused:
			return errors.New("is not paused")
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"strategy": map[string]any{"paused": paused}}})
		if err != nil {
			return err
		}
		_, err = client.Resource(info.Mapping.Resource).Namespace(info.Namespace).
			Patch(ctx, info.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-rollout"})
		return err
	}
}
