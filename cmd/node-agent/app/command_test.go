package app

import (
	"bytes"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// TestVersionNeedsNothingElse runs --version without the environment variables that the agent requires.
func TestVersionNeedsNothingElse(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	command, err := NewCommand()
	require.NoError(t, err)
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs([]string{"--version"})
	require.NoError(t, command.ExecuteContext(t.Context()))
	assert.Regexp(t, `^kruise-daemon version v\d`, out.String())
}

// Case node-agent 1.
func TestCommand(t *testing.T) {
	tests := map[string]struct {
		node string
		args []string
		want []string
	}{
		"NODE_NAME unset":            {"", nil, []string{"NODE_NAME", "spec.nodeName"}},
		"unknown flag":               {"node-1", []string{"--bogus"}, []string{"unknown flag: --bogus"}},
		"unknown feature gate":       {"node-1", []string{"--feature-gates=Unknown=true"}, []string{"unrecognized feature gate: Unknown"}},
		"argument":                   {"node-1", []string{"bogus"}, []string{"bogus"}},
		"address without port":       {"node-1", []string{"--addr=localhost"}, []string{"--addr=localhost", "host:port"}},
		"socket file out of run dir": {"node-1", []string{"--socket-file=/run/foo.sock"}, []string{"--socket-file=/run/foo.sock", "relative"}},
		"negative rate":              {"node-1", []string{"--rest-config-qps=-1"}, []string{"--rest-config-qps=-1", "0 or more"}},
		"all mistakes at once": {
			"", []string{"--addr=x", "--rest-config-burst=-2"}, []string{"NODE_NAME", "--addr=x", "--rest-config-burst=-2"},
		},
		"missing kubeconfig": {"node-1", []string{"--kubeconfig=/does/not/exist"}, []string{"/does/not/exist"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NODE_NAME", test.node)
			require.NoError(t, logsapi.ResetForTest(nil))
			command, err := NewCommand()
			require.NoError(t, err)
			var out bytes.Buffer
			command.SetOut(&out)
			command.SetErr(&out)
			command.SetArgs(test.args)
			err = command.ExecuteContext(t.Context())
			for _, want := range test.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

// TestFlagsOfOtherManifests uses every flag that manifests of older agents contain.
func TestFlagsOfOtherManifests(t *testing.T) {
	t.Setenv("NODE_NAME", "node-1")
	options, err := NewOptions()
	require.NoError(t, err)
	flags := pflag.NewFlagSet("kruise-daemon", pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	options.AddFlags(flags)
	require.NoError(t, flags.Parse([]string{
		"--addr=:1", "--enable-pprof=false", "--pprof-addr=:10222", "--socket-file=containerd/containerd.sock",
		"--plugin-config-file=/kruise/CredentialProviderPlugin.yaml", "--plugin-bin-dir=/kruise/plugins",
		"--max-workers-for-pull-image=-1", "--rest-config-qps=0", "--rest-config-burst=0",
		"--feature-gates=DaemonWatchingPod=true,KruiseDaemon=false", "--v=4",
		"--logtostderr=true", "--alsologtostderr", "--stderrthreshold=INFO", "--log_dir=/log", "--skip_headers",
	}))
	require.NoError(t, options.Validate())
	assert.Equal(t, "node-1", options.NodeName)
	assert.Equal(t, ":1", options.Addr)
	assert.Equal(t, "containerd/containerd.sock", options.SocketFile)
	assert.Equal(t, -1, options.MaxPulls)
	assert.Equal(t, "/kruise/plugins", options.PluginBinDir)
}

func TestDefaults(t *testing.T) {
	options, err := NewOptions()
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:10221", options.Addr, "metrics need no authentication")
	assert.Equal(t, "/hostvarrun", options.RunDir)
	assert.False(t, options.EnablePprof)
}
