package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/scheme"
)

// UndoRollouts makes rollout undo of kubectl accept Rollouts of the group rollouts.kruise.io: it undoes their workloads, or moves their
// traffic back with the flag --fast. Files and selectors are left to kubectl, which refuses Rollouts in them.
func UndoRollouts(command *cobra.Command, factory cmdutil.Factory, streams genericiooptions.IOStreams) {
	fast, other := false, command.Run
	command.Flags().BoolVar(&fast, "fast", fast, "Move the traffic of a Rollout in a blue-green release back at once, and keep the new Pods.")
	command.Run = func(command *cobra.Command, args []string) {
		if fast {
			cmdutil.CheckErr(undoAtOnce(command, factory, streams, args))
			return
		}
		named, err := namesRollouts(factory, args)
		// kubectl reports an error of the lookup.
		if named && err == nil {
			args, err = workloads(factory, args)
			cmdutil.CheckErr(err)
		}
		other(command, args)
	}
}

// undoAtOnce runs rollout undo --fast. Flags that choose a revision or a preview mean nothing here, and are refused.
func undoAtOnce(command *cobra.Command, factory cmdutil.Factory, streams genericiooptions.IOStreams, args []string) error {
	for _, flag := range []string{"to-revision", "dry-run", "selector"} {
		if command.Flags().Changed(flag) {
			return fmt.Errorf("--fast cannot be used with --%s", flag)
		}
	}
	print := genericclioptions.NewPrintFlags("rolled back").WithTypeSetter(scheme.Scheme)
	*print.OutputFormat = cmdutil.GetFlagString(command, "output")
	files := &resource.FilenameOptions{
		Filenames: cmdutil.GetFlagStringSlice(command, "filename"), Kustomize: cmdutil.GetFlagString(command, "kustomize"),
		Recursive: cmdutil.GetFlagBool(command, "recursive"),
	}
	return each(command.Context(), factory, streams, print, files, args, patching(errOnlyRollouts, stepBack, "status"))
}

// namesRollouts reports whether one of the arguments names Rollouts, as TYPE/NAME or as a TYPE before the names.
func namesRollouts(factory cmdutil.Factory, args []string) (bool, error) {
	for i, arg := range args {
		if i > 0 && !strings.Contains(arg, "/") {
			continue
		}
		if all, err := onlyRollouts(factory, []string{arg}); all || err != nil {
			return all, err
		}
	}
	return false, nil
}

// workloads returns the arguments with the workloads in place of the Rollouts, each once: the second undo of a workload would bring back
// what the first one has undone.
func workloads(factory cmdutil.Factory, args []string) (names []string, _ error) {
	namespace, _, err := factory.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	mapper, err := factory.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	infos, err := factory.NewBuilder().Unstructured().NamespaceParam(namespace).DefaultNamespace().ResourceTypeOrNameArgs(true, args...).
		Latest().Flatten().Do().Infos()
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		name, err := workloadOf(info, mapper)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// workloadOf returns an object as TYPE/NAME, or the workload of a Rollout. The reference is in one of two places, depending on the
// version of the Rollout.
func workloadOf(info *resource.Info, mapper meta.RESTMapper) (string, error) {
	mapping, name := info.Mapping, info.Name
	if object, ok := info.Object.(*unstructured.Unstructured); ok && mapping.Resource.GroupResource() == rollouts {
		ref, _, _ := unstructured.NestedStringMap(object.Object, "spec", "workloadRef")
		if ref == nil {
			ref, _, _ = unstructured.NestedStringMap(object.Object, "spec", "objectRef", "workloadRef")
		}
		if name = ref["name"]; name == "" {
			return "", fmt.Errorf("rollout %s has no workload to undo", info.Name)
		}
		kind := schema.FromAPIVersionAndKind(ref["apiVersion"], ref["kind"])
		var err error
		if mapping, err = mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			return "", fmt.Errorf("find the kind of the workload: %w", err)
		}
	}
	return mapping.Resource.GroupResource().String() + "/" + name, nil
}
