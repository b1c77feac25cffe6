package create

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	kubectlcreate "k8s.io/kubectl/pkg/cmd/create"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/kubectl/pkg/util"

	"kruise.io/kruise/pkg/kubectl/cluster"
)

// fieldManager is the owner of the fields of new objects.
const fieldManager = "kubectl kruise-create"

// options are the flags that all subcommands have, and what follows from them. complete sets the second group.
type options struct {
	genericiooptions.IOStreams
	print      *genericclioptions.PrintFlags
	manager    string
	validation string
	save       bool
	// wait is set only by subcommands whose work ends.
	wait   bool
	dryRun cmdutil.DryRunStrategy

	cluster *cluster.Cluster
	name    string
	command []string
}

// newCommand returns a subcommand. make returns the object to create; it may read the cluster, and is called after
// the flags are complete. The command also accepts its name in lower case.
func newCommand(factory cmdutil.Factory, streams genericiooptions.IOStreams, command *cobra.Command,
	make func(ctx context.Context, o *options) (runtime.Object, error),
) (*cobra.Command, *options) {
	o := &options{IOStreams: streams, print: genericclioptions.NewPrintFlags("created").WithTypeSetter(scheme.Scheme)}
	command.DisableFlagsInUseLine = true
	command.Aliases = append(command.Aliases, strings.ToLower(command.Name()))
	command.Run = func(command *cobra.Command, args []string) {
		cmdutil.CheckErr(o.complete(factory, command, args))
		object, err := make(command.Context(), o)
		cmdutil.CheckErr(err)
		cmdutil.CheckErr(o.create(command.Context(), object))
	}
	o.print.AddFlags(command)
	cmdutil.AddApplyAnnotationFlags(command)
	cmdutil.AddValidateFlags(command)
	cmdutil.AddDryRunFlag(command)
	cmdutil.AddFieldManagerFlagVar(command, &o.manager, fieldManager)
	return command, o
}

// complete reads the flags and connects to the cluster. It sends no request.
func (o *options) complete(factory cmdutil.Factory, command *cobra.Command, args []string) (err error) {
	if o.name, err = kubectlcreate.NameFromCommandArgs(command, args); err != nil {
		return err
	}
	o.command = args[1:]
	o.save = cmdutil.GetFlagBool(command, cmdutil.ApplyAnnotationsFlag)
	if o.dryRun, err = cmdutil.GetDryRunStrategy(command); err != nil {
		return err
	}
	if o.validation, err = cmdutil.GetValidationDirective(command); err != nil {
		return err
	}
	o.cluster, err = cluster.New(factory)
	return err
}

// create creates an object and prints it. If asked to, it waits until the object's work has ended. A dry run of the
// client sends nothing; one of the server is sent as such.
func (o *options) create(ctx context.Context, object runtime.Object) error {
	if err := util.CreateOrUpdateAnnotation(o.save, object, scheme.DefaultJSONEncoder()); err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	created := &unstructured.Unstructured{Object: content}
	// A new object has no status. The typed object would send an empty one.
	delete(created.Object, "status")
	objects := o.objects(created.GroupVersionKind())
	if o.dryRun != cmdutil.DryRunClient {
		request := metav1.CreateOptions{FieldManager: o.manager, FieldValidation: o.validation}
		if o.dryRun == cmdutil.DryRunServer {
			request.DryRun = []string{metav1.DryRunAll}
		}
		if created, err = objects.Create(ctx, created, request); err != nil {
			return err
		}
	}
	cmdutil.PrintFlagsWithDryRunStrategy(o.print, o.dryRun)
	printer, err := o.print.ToPrinter()
	if err != nil {
		return err
	}
	// A dry run has no progress to wait for.
	if err := printer.PrintObj(created, o.Out); err != nil || !o.wait || o.dryRun != cmdutil.DryRunNone {
		return err
	}
	return o.follow(ctx, objects, created)
}

// objects returns a client for a kind. All kinds of this package have a regular plural.
func (o *options) objects(kind schema.GroupVersionKind) dynamic.ResourceInterface {
	plural := strings.ToLower(kind.Kind) + "s"
	return o.cluster.Dynamic.Resource(kind.GroupVersion().WithResource(plural)).Namespace(o.cluster.Namespace)
}

// follow prints the progress of an object until its work has ended. It fails if the work failed, or if the object is
// deleted before. A line is printed only if it differs from the last one.
func (o *options) follow(ctx context.Context, objects dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	selector := fields.OneTermEqualSelector("metadata.name", object.GetName()).String()
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return objects.Watch(ctx, options)
		},
	}, o.cluster.Dynamic)
	// UntilWithSync lists and watches again if the server closes the watch, so a long wait survives that.
	last := ""
	_, err := watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{}, nil, func(event watch.Event) (bool, error) {
		current, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Deleted {
			return false, fmt.Errorf("%s was deleted before it ended", object.GetName())
		}
		line, ended, failed := progress(current)
		if line != last {
			_, _ = fmt.Fprintln(o.Out, line)
			last = line
		}
		if failed {
			return false, fmt.Errorf("%s failed", object.GetName())
		}
		return ended, nil
	})
	return err
}
