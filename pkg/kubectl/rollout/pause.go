package rollout

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
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
		cmdutil.CheckErr(each(command.Context(), factory, streams, print, &resource.FilenameOptions{}, args,
			patching(errors.New("the Rollout cannot be read"), pause(paused))))
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

// pause returns a function that returns the patch that pauses or resumes a Rollout.
func pause(paused bool) func(*unstructured.Unstructured) ([]byte, error) {
	return func(object *unstructured.Unstructured) ([]byte, error) {
		switch is, _, _ := unstructured.NestedBool(object.Object, "spec", "strategy", "paused"); {
		case is && paused:
			return nil, errors.New("is already paused")
		case !is && !paused:
			return nil, errors.New("is not paused")
		}
		return json.Marshal(map[string]any{"spec": map[string]any{"strategy": map[string]any{"paused": paused}}})
	}
}
