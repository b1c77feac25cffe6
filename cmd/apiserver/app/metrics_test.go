package app

import (
	"net"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apiserver/certificates"
	"kruise.io/kruise/pkg/apiserver/store"
	"kruise.io/kruise/test/emptyhost"
	"kruise.io/kruise/test/exposed"
)

// Case metrics 13.
// Dashboards and alerts of users name these metrics. The server is built as the program builds it, and does not run.
func TestMetrics(t *testing.T) {
	embedded, err := store.Start(t.Context(), store.Config{Dir: t.TempDir(), QuotaBytes: 64 << 20, MaxRequestBytes: 1 << 20})
	require.NoError(t, err)
	defer embedded.Stop()
	options, err := NewOptions()
	require.NoError(t, err)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, set := range options.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	require.NoError(t, flags.Parse([]string{
		"--kubeconfig=" + emptyhost.Kubeconfig(t), "--etcd-servers=" + embedded.Endpoint, "--bind-address=127.0.0.1",
		"--authentication-skip-lookup", "--cert-dir=" + t.TempDir(),
	}))
	require.NoError(t, options.Complete())
	var listen net.ListenConfig
	options.SecureServing.Listener, err = listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, options.SecureServing.Listener.Close()) }()
	config, err := options.Config(t.Context())
	require.NoError(t, err)
	server, err := config.Complete().New()
	require.NoError(t, err)
	server.Destroy()
	certificates.New(certificates.Config{})
	_, err = embedded.Space()
	require.NoError(t, err)

	found := exposed.Metrics(t)
	exposed.Contract(t, found,
		"apiserver_request_total counter code,component,dry_run,group,resource,scope,subresource,verb,version",
		"apiserver_request_duration_seconds histogram component,dry_run,group,resource,scope,subresource,verb,version",
		"apiserver_current_inflight_requests gauge request_kind",
		"apiserver_storage_size_bytes gauge storage_cluster_id",
		"apiserver_admission_controller_admission_duration_seconds histogram name,operation,rejected,type",
		"etcd_request_duration_seconds histogram group,operation,resource",
		"pod_unavailable_budget counter kind_namespace_name,username",
		"namespace_deletion_protection counter name,username",
		"crd_deletion_protection counter name,username",
		"workload_deletion_protection counter kind_namespace_name,username",
		"controller_runtime_webhook_requests_total counter code,webhook",
		"controller_runtime_webhook_latency_seconds histogram webhook",
		"kruise_store_size_bytes gauge",
		"kruise_store_closed gauge reason",
	)
	exposed.Compare(t, "kruise-apiserver", found)
}
