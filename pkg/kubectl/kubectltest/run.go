package kubectltest

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"kruise.io/kruise/pkg/kubectl"
)

// Result is what a command printed, and its exit code.
type Result struct {
	Out, Err string
	Code     int
}

// exit ends a command that fails, as the end of the process does.
type exit struct {
	message string
	code    int
}

// Run runs the plugin with arguments against the server. Tests that call it must not run in parallel: kubectl ends a failed command
// through a global variable.
func Run(t *testing.T, server *Server, args ...string) Result {
	t.Helper()
	return Watch(t, server, io.Discard, args...)
}

// Watch is Run, and also writes what the command prints to a writer as it comes, for commands that a test must end
// itself.
func Watch(t *testing.T, server *Server, live io.Writer, args ...string) (result Result) {
	t.Helper()
	// The command must not use a kubeconfig or preferences of the machine.
	t.Setenv("KUBECONFIG", os.DevNull)
	t.Setenv("KUBECTL_KUBERC", "false")
	// kubectl ends the process on an error. Here it panics with the message and the code instead, which the deferred
	// function below turns into the Result.
	cmdutil.BehaviorOnFatal(func(message string, code int) { panic(exit{message, code}) })
	defer cmdutil.DefaultBehaviorOnFatal()
	out, errOut := &bytes.Buffer{}, &bytes.Buffer{}
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.MultiWriter(out, live), ErrOut: errOut}
	full := append([]string{"kubectl-kruise", "--server", server.URL, "--cache-dir", t.TempDir()}, args...)
	command, err := kubectl.NewCommand(full, streams)
	require.NoError(t, err)
	command.SetOut(out)
	command.SetErr(errOut)
	defer func() {
		result.Out, result.Err = out.String(), errOut.String()
		if ended := recover(); ended != nil {
			failed, ok := ended.(exit)
			if !ok {
				panic(ended)
			}
			result.Err += failed.message
			result.Code = failed.code
		}
	}()
	cmdutil.CheckErr(command.ExecuteContext(t.Context()))
	return result
}
