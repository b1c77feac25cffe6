package app

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2/ktesting"

	"kruise.io/kruise/pkg/features"
)

func parse(t *testing.T, env map[string]string, args ...string) (*Options, error) {
	t.Helper()
	o, err := NewOptions(func(key string) string { return env[key] })
	require.NoError(t, err)
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	o.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	o.noteIgnored(fs)
	return o, o.Validate()
}

func TestVersionIsPrinted(t *testing.T) {
	command := NewCommand(func(string) string { return "" })
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs([]string{"--version"})
	require.NoError(t, command.ExecuteContext(t.Context()))
	assert.Regexp(t, `^manager version v\d`, out.String())
}

// Case configuration 1.
func TestEveryFlagOfExistingManifestsIsAccepted(t *testing.T) {
	args := strings.Fields(`--metrics-addr=:1 --health-probe-addr=:2 --allow-privileged=true --enable-leader-election=false
		--leader-election-namespace=ns --leader-election-id=id --leader-election-lease-duration=15s --leader-election-renew-deadline=10s
		--leader-election-retry-period=2s --leader-election-resource-lock=leases --namespace=x --enable-pprof=false --pprof-addr=:3
		--sync-period=10h --rest-config-qps=30 --rest-config-burst=50 --controller-cache-sync-timeout=2m --webhook-initialize-timeout=60s
		--default-ttlseconds-for-always-nodeimage=300 --protection-log-path=/log --ws-enabled-versioned-status=deployment
		--rate-limiter-base-delay=5ms --rate-limiter-max-delay=1000s --rate-limiter-qps=10 --rate-limiter-bucket-size=100
		--expectation-timeout=5m --disable-no-deepcopy --nodeimage-creation-delay=30s --assign-bcj-pods-by-scheduler=true
		--assign-pods-by-scheduler --cloneset-scaling-exclude-preparing-delete=true --feature-gates=CloneSetShortHash=true --v=4
		--logtostderr=true --logging-format=text --cloneset-workers=1 --statefulset-workers=3 --daemonset-workers=3
		--broadcastjob-workers=3 --advancedcronjob-workers=3 --uniteddeployment-workers=3 --sidecarset-workers=3
		--imagepulljob-workers=3 --nodeimage-workers=3 --crr-workers=3 --resourcedistribution-workers=3
		--podunavailablebudget-workers=3 --workloadspread-workers=3 --persistentpodstate-workers=3 --podprobemarker-workers=3
		--nodepodprobe-workers=3 --sidecarterminator-workers=3
		--log_dir=/log --log_file=x --log_file_max_size=9 --skip_headers --skip_log_headers --add_dir_header --one_output
		--alsologtostderr --stderrthreshold=INFO --log_backtrace_at=a.go:1 --vmodule=a=1`)
	o, err := parse(t, nil, args...)
	require.NoError(t, err)
	assert.Equal(t, 1, *o.Workers["cloneset"])
	assert.True(t, o.ScalingExcludePreparingDelete)
	assert.Subset(t, o.ignored, []string{"--allow-privileged", "--logtostderr", "--log-dir"})
	assert.NotContains(t, o.ignored, "--cloneset-workers")
	assert.NotContains(t, o.ignored, "--sidecarset-workers")
	assert.NotContains(t, o.ignored, "--sidecarterminator-workers")
	assert.Equal(t, 3, *o.Workers["sidecarterminator"])
	assert.Equal(t, []int{10, 4}, []int{*o.Workers["ephemeraljob"], *o.Workers["container-launch-priority"]})
}

// Case configuration 2.
// Case feature-gates 7.
// Case install 4.
func TestRefused(t *testing.T) {
	tests := map[string]struct{ arg, message string }{
		"unknown flag":      {"--nosuch", "unknown flag: --nosuch"},
		"an old lock":       {"--leader-election-resource-lock=configmaps", `"configmaps" is not supported: set it to "leases"`},
		"is not a duration": {"--sync-period=10", `--sync-period: "10" is not a duration`},
		"no workers":        {"--cloneset-workers=0", "--cloneset-workers: 0 is too few"},
		"a negative rate":   {"--rest-config-qps=-2", "or --rest-config-qps to -1 for no limit"},
		"a negative delay":  {"--nodeimage-creation-delay=-1s", "--nodeimage-creation-delay: -1s is negative"},
		"too long a time":   {"--default-ttlseconds-for-always-nodeimage=2678401", "use a value from 0 to 2678400"},
		"unknown gates":     {"--feature-gates=Nope=true", "Nope"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, nil, tc.arg)
			assert.ErrorContains(t, err, tc.message)
		})
	}
}

// If KruiseDaemon is off, no controller acts on NodeImages and jobs.
// Case image-predownload 40.
func TestPullControllersNeedTheNodeAgent(t *testing.T) {
	for name, tc := range map[string]struct {
		gates string
		want  []string
	}{
		"on":            {"", []string{"nodeimage-controller", "imagepulljob-controller", "imagelistpulljob-controller"}},
		"no agent":      {"KruiseDaemon=false", nil},
		"no jobs":       {"ImagePullJobGate=false", []string{"nodeimage-controller"}},
		"forced by use": {"ImagePullJobGate=false,PreDownloadImageForInPlaceUpdate=true", []string{"nodeimage-controller", "imagepulljob-controller", "imagelistpulljob-controller"}},
	} {
		t.Run(name, func(t *testing.T) {
			var made []string
			for _, c := range newConfig(t, tc.gates).controllers {
				if strings.Contains(c.Name(), "image") {
					made = append(made, c.Name())
				}
			}
			assert.Equal(t, tc.want, made)
		})
	}
}

// Case jobsidecarterminator 9.
func TestSidecarsOfJobsNeedTheGateAndTheAgent(t *testing.T) {
	for gates, want := range map[string]bool{
		"": false, "SidecarTerminator=true": true, "SidecarTerminator=true,KruiseDaemon=false": false,
	} {
		var made []string
		for _, c := range newConfig(t, gates).controllers {
			made = append(made, c.Name())
		}
		assert.Equal(t, want, slices.Contains(made, "sidecarterminator-controller"), gates)
	}
}

// Case install 15.
func TestOnlyNamedKindsHaveAController(t *testing.T) {
	all := []string{
		"cloneset-controller", "statefulset-controller", "containerrecreaterequest-controller", "podreadiness-controller",
		"podcreation-controller", "reviewendpoints-controller", "container-launch-priority-controller", "podunavailablebudget-controller", "nodeimage-controller", "imagepulljob-controller", "imagelistpulljob-controller",
		"ephemeraljob-controller", "sidecarset-controller", "daemonset-controller", "broadcastjob-controller", "advancedcronjob-controller",
		"uniteddeployment-controller",
		"workloadspread-controller", "persistentpodstate-controller", "podprobemarker-controller", "nodepodprobe-controller", "resourcedistribution-controller",
	}
	for value, want := range map[string][]string{
		"":         all,
		"CloneSet": {"cloneset-controller", "podreadiness-controller", "podcreation-controller", "reviewendpoints-controller", "container-launch-priority-controller"},
		"StatefulSet, ImagePullJob,NodeImage": {
			"statefulset-controller", "podreadiness-controller", "podcreation-controller", "reviewendpoints-controller", "container-launch-priority-controller",
			"nodeimage-controller", "imagepulljob-controller",
		},
	} {
		t.Run(value, func(t *testing.T) {
			var made []string
			for _, c := range newConfigWith(t, map[string]string{"CUSTOM_RESOURCE_ENABLE": value}, "PodUnavailableBudgetUpdateGate=true").controllers {
				made = append(made, c.Name())
			}
			assert.Equal(t, want, made)
		})
	}
	o, err := parse(t, map[string]string{"CUSTOM_RESOURCE_ENABLE": "CloneSet"})
	require.NoError(t, err)
	assert.False(t, o.Features.Enabled(features.PodWebhook))
}

// Case configuration 7.
func TestLeaseIsInTheNamespaceOfThePod(t *testing.T) {
	o, err := parse(t, map[string]string{"POD_NAMESPACE": "foo", "KRUISE_DAEMON_CONFIG_NS": "secrets"})
	require.NoError(t, err)
	assert.Equal(t, "foo", o.Election.Namespace)
	assert.Equal(t, "secrets", o.PullSecretsNamespace)
	o, err = parse(t, nil)
	require.NoError(t, err)
	assert.Equal(t, "kruise-system", o.Election.Namespace)
	assert.Equal(t, "kruise-daemon-config", o.PullSecretsNamespace)
}

// Case configuration 10.
func TestRateLimitsOfClients(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: "http://127.0.0.1:1"}},
		Contexts: map[string]*clientcmdapi.Context{"c": {Cluster: "c"}}, CurrentContext: "c",
	}, kubeconfig))
	for arg, want := range map[string]float32{"": 30, "--rest-config-qps=7": 7, "--rest-config-qps=0": rest.DefaultQPS, "--rest-config-qps=-1": 0} {
		t.Run(arg, func(t *testing.T) {
			o, err := parse(t, nil, slices.DeleteFunc([]string{"--kubeconfig=" + kubeconfig, arg}, func(arg string) bool { return arg == "" })...)
			require.NoError(t, err)
			config, err := o.clientConfig()
			require.NoError(t, err)
			client, err := kubernetes.NewForConfig(config)
			require.NoError(t, err)
			limiter := client.CoreV1().RESTClient().GetRateLimiter()
			if want == 0 {
				assert.Nil(t, limiter, "no limit")
				return
			}
			require.NotNil(t, limiter)
			assert.InDelta(t, want, limiter.QPS(), 0)
		})
	}
}

func TestOneWarningNamesIgnoredFlags(t *testing.T) {
	log := warnings(t, nil, "--allow-privileged", "--ws-enabled-versioned-status=job",
		"--feature-gates=PodWebhook=false,StatefulSetStartOrdinal=true,EnableExternalCerts=true")
	assert.Equal(t, 1, strings.Count(log, `flags=["--allow-privileged","--ws-enabled-versioned-status"]`), log)
	assert.Contains(t, log, `gate="WorkloadSpread" value=false by="PodWebhook" byValue=false`)
	assert.Contains(t, log, `gates=["EnableExternalCerts"]`)
}

// warnings parses flags, and returns what the program logs about them.
func warnings(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	o, err := parse(t, env, args...)
	require.NoError(t, err)
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	require.NoError(t, o.warn(logger))
	return logger.GetSink().(ktesting.Underlier).GetBuffer().String()
}

// Case configuration 1.
func TestLocksWithALeaseAreAccepted(t *testing.T) {
	for lock, warned := range map[string]bool{"leases": false, "configmapsleases": true, "endpointsleases": true} {
		log := warnings(t, nil, "--leader-election-resource-lock="+lock)
		assert.Equal(t, warned, strings.Contains(log, `set --leader-election-resource-lock to leases value="`+lock+`"`), log)
	}
}

// Case configuration 11a.
func TestOneWarningNamesIgnoredVariables(t *testing.T) {
	log := warnings(t, map[string]string{"CERTS_RENEW_BEFORE": "30d", "WEBHOOK_PORT": "9876", "POD_NAMESPACE": "ns"})
	assert.Equal(t, 1, strings.Count(log, `variables=["WEBHOOK_PORT","CERTS_RENEW_BEFORE"]`), log)
	assert.NotContains(t, warnings(t, nil), "variables")
}

func TestCommandNeedsNoArguments(t *testing.T) {
	command := NewCommand(func(string) string { return "" })
	assert.Error(t, cobra.NoArgs(command, []string{"x"}))
	assert.Equal(t, "manager", command.Name())
}
