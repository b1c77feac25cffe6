// Command apiserver serves the Kruise API to kube-apiserver's aggregation layer.
package main

import (
	"fmt"
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // Registers --logging-format=json.
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // Registers client metrics.
	_ "k8s.io/component-base/metrics/prometheus/version"  // Registers the version metric.

	"kruise.io/kruise/cmd/apiserver/app"
)

func main() {
	os.Exit(run())
}

// run returns the exit code, so that deferred calls run before the process exits.
func run() int {
	command, err := app.NewCommand()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	command.SetContext(genericapiserver.SetupSignalContext())
	return cli.Run(command)
}
