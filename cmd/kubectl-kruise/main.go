// Command kubectl-kruise is the plugin of kubectl for the kinds of this project: kubectl kruise.
package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"kruise.io/kruise/pkg/kubectl"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	command, err := kubectl.NewCommand(os.Args, streams)
	if err != nil {
		cmdutil.CheckErr(err)
	}
	// kubectl's commands end the process themselves on errors. RunNoErrOutput leaves the printing of other errors to
	// CheckErr, so that all look alike.
	if err := cli.RunNoErrOutput(command); err != nil {
		cmdutil.CheckErr(err)
	}
}
