package chart

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	controller "kruise.io/kruise/cmd/controller/app"
	nodeagent "kruise.io/kruise/cmd/node-agent/app"
)

// TestProgramsKnowTheirFlags parses what the chart renders with the programs' own flags. The apiserver's are left to the
// e2e tests: its program takes minutes to link.
// Case install 1.
func TestProgramsKnowTheirFlags(t *testing.T) {
	t.Setenv("NODE_NAME", "node-1")
	gates := []string{"--set-string", `featureGates=KruiseDaemon=true\,PodWebhook=false`, "--set", "daemon.socketFile=a.sock"}
	for name, args := range map[string][]string{
		"defaults": nil, "everything": append(everything(), gates...), "1.4 values": {"-f", "testdata/values-1.4.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			specs := pods(t, render(t, args...))

			agent, err := nodeagent.NewOptions()
			require.NoError(t, err)
			flags := pflag.NewFlagSet("kruise-daemon", pflag.ContinueOnError)
			agent.AddFlags(flags)
			require.NoError(t, flags.Parse(specs["kruise-daemon"].Containers[0].Args))
			assert.NoError(t, agent.Validate())

			manager, err := controller.NewOptions(func(string) string { return "" })
			require.NoError(t, err)
			flags = pflag.NewFlagSet("manager", pflag.ContinueOnError)
			manager.AddFlags(flags)
			require.NoError(t, flags.Parse(specs["kruise-controller-manager"].Containers[0].Args))
			assert.NoError(t, manager.Validate())
			assert.Equal(t, name == "everything", manager.EnablePprof)
		})
	}
}
