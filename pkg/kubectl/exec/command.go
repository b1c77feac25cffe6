package exec

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectlexec "k8s.io/kubectl/pkg/cmd/exec"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/polymorphichelpers"
	"k8s.io/kubectl/pkg/scheme"

	"kruise.io/kruise/pkg/apis/pub"
)

// NewCommand returns kubectl's exec with the flag --sidecar. It runs before kubectl's own function, and sets the flag
// --container. If the Pod has no hot upgrade of the sidecar, kubectl chooses the container as usual.
func NewCommand(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	command := kubectlexec.NewCmdExec(factory, streams)
	run, sidecar := command.Run, ""
	command.Flags().StringVarP(&sidecar, "sidecar", "S", "", "Name of a sidecar of a hot upgrade. The command runs in its working container.")
	command.Run = func(command *cobra.Command, args []string) {
		// Without a Pod before the dash, kubectl reports the mistake.
		if sidecar != "" && len(args) > 0 && command.ArgsLenAtDash() != 0 {
			pod, err := find(command, factory, args[0])
			cmdutil.CheckErr(err)
			args[0] = "pod/" + pod.Name
			if container := Working(pod, sidecar); container != "" {
				_, _ = fmt.Fprintf(streams.ErrOut, "Enter working container %s of SidecarSet.\n", container)
				cmdutil.CheckErr(command.Flags().Set("container", container))
			}
		}
		run(command, args)
	}
	return command
}

// find returns the Pod that kubectl would choose. The Pod is fixed before the container is looked up, so both belong
// together.
func find(command *cobra.Command, factory cmdutil.Factory, name string) (*corev1.Pod, error) {
	namespace, _, err := factory.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	timeout, err := cmdutil.GetPodRunningTimeoutFlag(command)
	if err != nil {
		return nil, err
	}
	object, err := factory.NewBuilder().WithScheme(scheme.Scheme, scheme.Scheme.PrioritizedVersionsAllGroups()...).
		NamespaceParam(namespace).DefaultNamespace().ResourceNames("pods", name).Do().Object()
	if err != nil {
		return nil, err
	}
	return polymorphichelpers.AttachablePodForObjectFn(factory, object, timeout)
}

// Working returns the container of a hot upgrade that works, or "". An annotation that cannot be read counts as
// missing.
func Working(pod *corev1.Pod, sidecar string) string {
	containers := map[string]string{}
	if err := json.Unmarshal([]byte(pod.Annotations[pub.SidecarSetWorkingContainersKey]), &containers); err != nil {
		return ""
	}
	return containers[sidecar]
}
