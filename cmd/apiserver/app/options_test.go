package app

import (
	"bytes"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/klog/v2/ktesting"

	"kruise.io/kruise/pkg/features"
)

func TestVersionIsPrinted(t *testing.T) {
	command, err := NewCommand()
	require.NoError(t, err)
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs([]string{"--version"})
	require.NoError(t, command.ExecuteContext(t.Context()))
	assert.Regexp(t, `^kruise-apiserver version v\d`, out.String())
}

func TestBadFlagsAreNamed(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"defaults":                  {nil, ""},
		"no data directory":         {[]string{"--data-dir="}, "--data-dir is empty"},
		"limit too low":             {[]string{"--max-object-bytes=1"}, "--max-object-bytes 1: use 65536 to 2031616"},
		"limit too high":            {[]string{"--max-object-bytes=3000000"}, "--max-object-bytes 3000000"},
		"lock timeout":              {[]string{"--data-dir-lock-timeout=-1s"}, "--data-dir-lock-timeout -1s: use 0s or more"},
		"quota":                     {[]string{"--data-quota-bytes=5"}, "--data-quota-bytes 5"},
		"TLS without an etcd":       {[]string{"--etcd-cafile=x"}, `--etcd-cafile "x" has no effect without --etcd-servers`},
		"an external etcd":          {[]string{"--etcd-servers=http://x"}, ""},
		"quota of an external etcd": {[]string{"--etcd-servers=http://x", "--data-quota-bytes=0"}, `--data-quota-bytes "0" has no effect with --etcd-servers`},
		"directory beside an etcd": {
			[]string{"--etcd-servers=http://x", "--data-dir=/var/lib/kruise/store"}, `--data-dir "/var/lib/kruise/store" has no effect with --etcd-servers`,
		},
		"lock beside an etcd": {
			[]string{"--etcd-servers=http://x", "--data-dir-lock-timeout=5s"}, `--data-dir-lock-timeout "5s" has no effect with --etcd-servers`,
		},
		"an etcd of its own by kind": {[]string{"--etcd-servers-overrides=/x#http://y"}, "all kinds share one store"},
		"half a certificate":         {[]string{"--tls-cert-file=x"}, "--tls-private-key-file"},
		"account without namespace":  {[]string{"--daemon-service-account=kruise-daemon"}, "use <namespace>/<name>"},
		"pull secrets' namespace":    {[]string{"--pull-secrets-namespace=A"}, `--pull-secrets-namespace "A"`},
		"no account":                 {[]string{"--daemon-service-account="}, ""},
		"service name":               {[]string{"--service-name=A"}, `--service-name "A"`},
		"port":                       {[]string{"--secure-port=0"}, "--secure-port 0"},
		"no protection log":          {[]string{"--protection-log-path="}, "--protection-log-path is empty"},
		"writes per second":          {[]string{"--user-writes-per-second=-1"}, "--user-writes-per-second is -1: set a positive number"},
		"unknown plugin":             {[]string{"--enable-admission-plugins=Nope"}, `"Nope" is unknown`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options, err := NewOptions()
			require.NoError(t, err)
			err = parse(options, test.args)
			if err == nil {
				err = utilerrors.NewAggregate(options.Validate())
			}
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestWatchesEndSoon(t *testing.T) {
	for want, args := range map[time.Duration][]string{
		2 * time.Second: nil, time.Minute: {"--shutdown-watch-termination-grace-period=1m"},
	} {
		options, err := NewOptions()
		require.NoError(t, err)
		require.NoError(t, parse(options, args))
		assert.Equal(t, want, options.Server.ShutdownWatchTerminationGracePeriod)
	}
}

func TestForcedGatesAreLogged(t *testing.T) {
	logged := func(args ...string) string {
		options, err := NewOptions()
		require.NoError(t, err)
		require.NoError(t, parse(options, args))
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		options.Gates.warn(logger)
		buffer, ok := logger.GetSink().(ktesting.Underlier)
		require.True(t, ok)
		return buffer.GetBuffer().String()
	}
	assert.Contains(t, logged("--feature-gates=PodWebhook=false"), `gate="WorkloadSpread" value=false by="PodWebhook" byValue=false`)
	assert.NotContains(t, logged(), "WorkloadSpread")
}

func TestGatesOfBothKinds(t *testing.T) {
	options, err := NewOptions()
	require.NoError(t, err)
	require.NoError(t, parse(options, []string{"--feature-gates=CloneSetShortHash=true,APIResponseCompression=true"}))
	assert.True(t, options.Gates.Kruise.Enabled(features.CloneSetShortHash))

	options, err = NewOptions()
	require.NoError(t, err)
	assert.ErrorContains(t, parse(options, []string{"--feature-gates=Nope=true"}), "unrecognized feature gate: Nope")
}

func parse(options *Options, args []string) error {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	for _, set := range options.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	return options.Complete()
}
