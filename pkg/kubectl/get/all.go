package get

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectlget "k8s.io/kubectl/pkg/cmd/get"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/templates"
)

// resources are the resources that get all prints, in this order.
var resources = []schema.GroupResource{
	{Group: "apps.kruise.io", Resource: "clonesets"}, {Group: "apps.kruise.io", Resource: "statefulsets"},
	{Group: "apps.kruise.io", Resource: "daemonsets"}, {Group: "rollouts.kruise.io", Resource: "rollouts"},
	{Group: "apps.kruise.io", Resource: "broadcastjobs"}, {Group: "apps.kruise.io", Resource: "containerrecreaterequests"},
	{Group: "apps.kruise.io", Resource: "advancedcronjobs"}, {Group: "apps.kruise.io", Resource: "resourcedistributions"},
	{Group: "apps.kruise.io", Resource: "uniteddeployments"}, {Group: "apps.kruise.io", Resource: "sidecarsets"},
	{Group: "apps.kruise.io", Resource: "podprobemarkers"}, {Group: "apps.kruise.io", Resource: "imagepulljobs"},
	{Group: "policy.kruise.io", Resource: "podunavailablebudgets"},
}

// NewAll returns the command get all. It takes no arguments besides the flags of all commands.
func NewAll(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:                   "all",
		DisableFlagsInUseLine: true,
		Short:                 "Display the objects of all kinds of Kruise",
		Long:                  "Display the objects of all kinds of Kruise in a namespace. Kinds that the server does not have are left out.",
		Example: templates.Examples(`
			# Display all objects of Kruise in a namespace
			kubectl kruise get all -n default`),
		Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			cmdutil.CheckErr(all(factory, streams))
		},
	}
}

// all prints the objects of each resource with kubectl's own get, so the columns are those of the server. A resource
// without objects is left out with its heading. kubectl's message about missing objects goes to a buffer that nobody
// reads.
func all(factory cmdutil.Factory, streams genericiooptions.IOStreams) error {
	mapper, err := factory.ToRESTMapper()
	if err != nil {
		return err
	}
	for _, resource := range resources {
		if _, err := mapper.ResourceFor(resource.WithVersion("")); meta.IsNoMatchError(err) {
			continue
		}
		// The table is collected first, because a resource without objects gets no heading.
		table := &bytes.Buffer{}
		part := genericiooptions.IOStreams{In: streams.In, Out: table, ErrOut: &bytes.Buffer{}}
		options := kubectlget.NewGetOptions("kubectl kruise", part)
		args := []string{resource.String()}
		if err := options.Complete(factory, kubectlget.NewCmdGet("kubectl kruise", factory, part), args); err != nil {
			return err
		}
		// Discovery is cached for hours, so it can list a kind that the server no longer has.
		if err := utilerrors.FilterOut(options.Run(factory, args), apierrors.IsNotFound); err != nil {
			return fmt.Errorf("get %s: %w", resource, err)
		}
		if table.Len() > 0 {
			_, _ = fmt.Fprintf(streams.Out, "\n%s:\n%s", resource.Resource, table)
		}
	}
	return nil
}
