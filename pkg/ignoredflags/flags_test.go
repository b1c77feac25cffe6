package ignoredflags_test

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cliflag "k8s.io/component-base/cli/flag"

	"kruise.io/kruise/pkg/ignoredflags"
)

func TestFlagsAreAcceptedAndNamed(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	effective := fs.String("log-dir", "", "")
	ignoredflags.Add(fs, ignoredflags.Klog())
	ignoredflags.Add(fs, []ignoredflags.Flag{{Name: "old", Default: "false"}, {Name: "older", Default: "2m"}})
	require.NoError(t, fs.Parse([]string{"--logtostderr", "--skip_headers=true", "--old", "--log_dir=/x"}))
	assert.Equal(t, "/x", *effective, "a flag that the program has keeps its effect")
	assert.Equal(t, []string{"--logtostderr", "--skip-headers"}, ignoredflags.Given(fs, []ignoredflags.Flag{
		{Name: "logtostderr"}, {Name: "alsologtostderr"}, {Name: "skip-headers"}, {Name: "unknown"},
	}))
	assert.True(t, fs.Lookup("old").Hidden)
	require.ErrorContains(t, fs.Parse([]string{"--older"}), "needs an argument")
	require.ErrorContains(t, fs.Parse([]string{"--unknown"}), "unknown flag")
}
