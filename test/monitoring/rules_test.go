package monitoring

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// evening is how long each situation lasts, and interval how often rules are evaluated.
	evening  = 3 * time.Hour
	interval = time.Minute
)

// firing returns the alerts that fire at the end of a situation, sorted.
func firing(t *testing.T, situation string) (names []string) {
	t.Helper()
	storage := promqltest.LoadedStorage(t, situation)
	defer func() { require.NoError(t, storage.Close()) }()
	query := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery), storage)
	for _, rule := range alerts(t) {
		expression, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
		require.NoError(t, err)
		alert := rules.NewAlertingRule(rule.Alert, expression, time.Duration(rule.For), time.Duration(rule.KeepFiringFor),
			labels.FromMap(rule.Labels), labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
		for at := time.Duration(0); at <= evening; at += interval {
			_, err := alert.Eval(t.Context(), 0, time.Unix(0, 0).Add(at), query, nil, 0)
			require.NoError(t, err, rule.Alert)
			alert.SetEvaluationTimestamp(time.Unix(0, 0).Add(at))
		}
		if alert.State() == rules.StateFiring {
			names = append(names, rule.Alert)
		}
	}
	slices.Sort(names)
	return names
}

// healthy is a cluster in which all is well: there is work, and once in a while something fails.
const healthy = `
load 1m
  kruise_store_generation{instance="api-0"} 1+6x180
  kruise_store_closed{instance="api-0",reason="Wiped"} 0x180
  kruise_store_closed{instance="api-0",reason="Empty"} 0x180
  kruise_store_full{instance="api-0"} 0x180
  kruise_store_in_use_bytes{instance="api-0"} 4e8x180
  kruise_store_quota_bytes{instance="api-0"} 1e9x180
  kruise_serving_certificate_expiration_timestamp_seconds{instance="api-0"} 7e6x180
  kruise_clock_offset_seconds{instance="api-0",pod="api-0"} 0x180
  kruise_clock_offset_seconds{instance="manager-0",pod="manager-0"} 1x180
  kruise_garbage_collection_refused_total{instance="api-0"} 0x180
  apiserver_request_total{instance="api-0",group="apps.kruise.io",verb="GET",code="200"} 0+600x180
  apiserver_request_total{instance="api-0",group="apps.kruise.io",verb="GET",code="503"} 0+1x180
  apiserver_request_sli_duration_seconds_bucket{instance="api-0",group="apps.kruise.io",verb="GET",le="0.1"} 0+600x180
  apiserver_request_sli_duration_seconds_bucket{instance="api-0",group="apps.kruise.io",verb="GET",le="1"} 0+600x180
  apiserver_request_sli_duration_seconds_bucket{instance="api-0",group="apps.kruise.io",verb="GET",le="2"} 0+601x180
  apiserver_request_sli_duration_seconds_bucket{instance="api-0",group="apps.kruise.io",verb="GET",le="+Inf"} 0+601x180
  controller_runtime_webhook_requests_total{instance="api-0",webhook="podreviews",code="200"} 0+600x180
  controller_runtime_webhook_latency_seconds_bucket{instance="api-0",webhook="podreviews",le="0.1"} 0+600x180
  controller_runtime_webhook_latency_seconds_bucket{instance="api-0",webhook="podreviews",le="3"} 0+600x180
  controller_runtime_webhook_latency_seconds_bucket{instance="api-0",webhook="podreviews",le="+Inf"} 0+600x180
  pod_unavailable_budget{instance="api-0",kind_namespace_name="CloneSet_shop_web",username="drain"} 0x60 1x120
  kruise_manager_is_leader{instance="manager-0"} 1x180
  kruise_manager_is_leader{instance="manager-1"} 0x180
  kruise_manager_lost_write_total{instance="manager-0",controller="cloneset-controller"} 0x180
  cloneset_scale_expectation_leakage{instance="manager-0",namespace="shop",name="web"} 0x180
  controller_runtime_reconcile_total{instance="manager-0",controller="cloneset-controller",result="success"} 0+60x180
  controller_runtime_reconcile_total{instance="manager-0",controller="cloneset-controller",result="error"} 0+1x180
  controller_runtime_reconcile_errors_total{instance="manager-0",controller="cloneset-controller"} 0+1x180
  workqueue_queue_duration_seconds_bucket{instance="manager-0",name="cloneset-controller",le="0.1"} 0+60x180
  workqueue_queue_duration_seconds_bucket{instance="manager-0",name="cloneset-controller",le="100"} 0+60x180
  workqueue_queue_duration_seconds_bucket{instance="manager-0",name="cloneset-controller",le="+Inf"} 0+60x180
  workqueue_longest_running_processor_seconds{instance="manager-0",name="cloneset-controller"} 1x180
  kruise_rollouts{instance="manager-0",kind="CloneSet",state="progressing"} 1x180
  kruise_rollouts{instance="manager-0",kind="CloneSet",state="deadline_exceeded"} 0x180
  kruise_rollout_target_pods{instance="manager-0",kind="CloneSet",namespace="shop",name="web"} 2000x180
  kruise_rollout_updated_pods{instance="manager-0",kind="CloneSet",namespace="shop",name="web"} 0+10x180
  kruise_rollout_available_pods{instance="manager-0",kind="CloneSet",namespace="shop",name="web"} 0+10x180
  kruise_rollout_paused{instance="manager-0",kind="CloneSet",namespace="shop",name="web"} 0x180
  kruise_sidecarset_uninjected_pods{instance="manager-0",sidecarset="log"} 0x180
  kruise_node_agents{instance="manager-0",state="ready"} 10x180
  kruise_node_agents{instance="manager-0",state="not_ready"} 0x60 1x5 0x115
  kruise_node_agents{instance="manager-1",state="not_ready"} 0x180
  kruise_node_agent_cri_up{instance="node-0",runtime="containerd"} 1x180
  kruise_node_agent_image_pull_total{instance="node-0",result="succeeded"} 0+1x180
  kruise_node_agent_image_pull_total{instance="node-0",result="failed"} 0x100 1x80
  kruise_node_agent_probe_total{instance="node-0",result="succeeded"} 0+60x180
  kruise_node_agent_probe_late_total{instance="node-0"} 0+1x180
`

// change replaces the values of series, or removes them if there are none. New series are added.
type change map[string]string

func (c change) applied() string {
	var out strings.Builder
	out.WriteString("load 1m\n")
	left := maps.Clone(c)
	for line := range strings.Lines(strings.TrimPrefix(healthy, "\nload 1m\n")) {
		name, values, _ := strings.Cut(strings.TrimSpace(line), " ")
		if changed, ok := c[name]; ok {
			values = changed
			delete(left, name)
		}
		if values != "" {
			out.WriteString("  " + name + " " + values + "\n")
		}
	}
	for name, values := range left {
		out.WriteString("  " + name + " " + values + "\n")
	}
	return out.String()
}

const (
	rollout = `{instance="manager-0",kind="CloneSet",namespace="shop",name="web"}`
	queue   = `{instance="manager-0",name="cloneset-controller"`
	reviews = `{instance="api-0",webhook="podreviews"`
)

// situations are changes of the healthy cluster, and the alerts that fire then.
var situations = map[string]struct {
	change change
	want   []string
}{
	"all is well": {nil, nil},
	"no apiserver runs": {change{
		`kruise_store_generation{instance="api-0"}`: "1+6x60 _x120",
	}, []string{"KruiseAPIServerDown"}},
	"an apiserver was away for a short time": {change{`kruise_store_generation{instance="api-0"}`: "1+6x170 _x7 1+6x3"}, nil},
	"the store was wiped": {change{
		`kruise_store_closed{instance="api-0",reason="Wiped"}`: "0x170 1x10",
	}, []string{"KruiseStoreClosed"}},
	"the store is open again": {change{`kruise_store_closed{instance="api-0",reason="Wiped"}`: "0x100 1x70 0x10"}, nil},
	"the store fills up":      {change{`kruise_store_in_use_bytes{instance="api-0"}`: "8e8x180"}, []string{"KruiseStoreFillsUp"}},
	"the store is full": {change{
		`kruise_store_in_use_bytes{instance="api-0"}`: "9e8x180", `kruise_store_full{instance="api-0"}`: "0x170 1x10",
	}, []string{"KruiseStoreFillsUp", "KruiseStoreFull"}},
	"an external store": {change{
		`kruise_store_in_use_bytes{instance="api-0"}`: "", `kruise_store_full{instance="api-0"}`: "", `kruise_store_quota_bytes{instance="api-0"}`: "",
	}, nil},
	"requests fail": {change{
		`apiserver_request_total{instance="api-0",group="apps.kruise.io",verb="GET",code="503"}`: "0+100x180",
	}, []string{"KruiseAPIServerErrors"}},
	"requests of other groups fail": {change{
		`apiserver_request_total{instance="host-0",group="apps",verb="GET",code="503"}`: "0+100x180",
	}, nil},
	"requests are slow": {change{
		`apiserver_request_sli_duration_seconds_bucket{instance="api-0",group="apps.kruise.io",verb="GET",le="2"}`:    "0+620x180",
		`apiserver_request_sli_duration_seconds_bucket{instance="api-0",group="apps.kruise.io",verb="GET",le="+Inf"}`: "0+620x180",
	}, []string{"KruiseAPIServerSlow"}},
	"watches are long": {change{
		`apiserver_request_sli_duration_seconds_bucket{instance="api-0",group="apps.kruise.io",verb="WATCH",le="1"}`:    "0x180",
		`apiserver_request_sli_duration_seconds_bucket{instance="api-0",group="apps.kruise.io",verb="WATCH",le="+Inf"}`: "0+600x180",
	}, nil},
	"reviews fail": {change{
		`controller_runtime_webhook_requests_total` + reviews + `,code="500"}`: "0+60x180",
	}, []string{"KruiseReviewsFail"}},
	"reviews are slow": {change{
		`controller_runtime_webhook_latency_seconds_bucket` + reviews + `,le="3"}`:    "0+640x180",
		`controller_runtime_webhook_latency_seconds_bucket` + reviews + `,le="+Inf"}`: "0+640x180",
	}, []string{"KruiseReviewsSlow"}},
	"the certificate expires": {change{
		`kruise_serving_certificate_expiration_timestamp_seconds{instance="api-0"}`: "500000x180",
	}, []string{"KruiseServingCertificateExpires"}},
	"the certificate is that of the user": {change{
		`kruise_serving_certificate_expiration_timestamp_seconds{instance="api-0"}`: "0x180",
	}, nil},
	"the clock of a manager is behind": {change{
		`kruise_clock_offset_seconds{instance="manager-0",pod="manager-0"}`: "0x60 30x120",
	}, []string{"KruiseClockIsWrong"}},
	"the clock of an apiserver is ahead": {change{
		`kruise_clock_offset_seconds{instance="api-0",pod="api-0"}`: "0x60 -30x120",
	}, []string{"KruiseClockIsWrong"}},
	"the clock of a manager was wrong for a moment": {change{
		`kruise_clock_offset_seconds{instance="manager-0",pod="manager-0"}`: "0x60 30x5 0x115",
	}, nil},
	"the garbage collector deletes": {change{
		`kruise_garbage_collection_refused_total{instance="api-0"}`: "0x170 5x10",
	}, []string{"KruiseGarbageCollectionRefused"}},
	"no manager leads": {change{
		`kruise_manager_is_leader{instance="manager-0"}`: "1x60 0x120",
	}, []string{"KruiseManagerHasNoLeader"}},
	"no manager runs": {change{
		`kruise_manager_is_leader{instance="manager-0"}`: "1x60 _x120", `kruise_manager_is_leader{instance="manager-1"}`: "0x60 _x120",
	}, []string{"KruiseManagerHasNoLeader"}},
	"the other manager leads": {change{
		`kruise_manager_is_leader{instance="manager-0"}`: "1x60 _x120", `kruise_manager_is_leader{instance="manager-1"}`: "0x62 1x118",
	}, nil},
	"two managers lead": {change{
		`kruise_manager_is_leader{instance="manager-1"}`: "1x180",
	}, []string{"KruiseManagerHasTwoLeaders"}},
	"reconciles fail": {change{
		`controller_runtime_reconcile_errors_total{instance="manager-0",controller="cloneset-controller"}`: "0+10x180",
	}, []string{"KruiseReconcilesFail"}},
	"a queue is slow": {change{
		`workqueue_queue_duration_seconds_bucket` + queue + `,le="0.1"}`: "0+10x180",
	}, []string{"KruiseQueueIsSlow"}},
	"a queue of another program is slow": {change{
		`workqueue_queue_duration_seconds_bucket{instance="host-0",name="job",le="100"}`:  "0+10x180",
		`workqueue_queue_duration_seconds_bucket{instance="host-0",name="job",le="+Inf"}`: "0+10x180",
		`workqueue_longest_running_processor_seconds{instance="host-0",name="job"}`:       "0+60x180",
	}, nil},
	"a reconcile hangs": {change{
		`workqueue_longest_running_processor_seconds` + queue + `}`: "0+60x180",
	}, []string{"KruiseReconcileHangs"}},
	"a cache is behind": {change{
		`cloneset_scale_expectation_leakage{instance="manager-0",namespace="shop",name="web"}`: "0x120 0+1x60",
	}, []string{"KruiseCacheIsBehind"}},
	"a backup was restored": {change{
		`kruise_manager_lost_write_total{instance="manager-0",controller="cloneset-controller"}`: "0x170 3x10",
	}, []string{"KruiseStoreLostWrites"}},
	"a rollout exceeds its deadline": {change{
		`kruise_rollouts{instance="manager-0",kind="CloneSet",state="deadline_exceeded"}`: "0x100 1x80",
	}, []string{"KruiseRolloutDeadlineExceeded"}},
	"a rollout is stuck": {change{
		`kruise_rollout_updated_pods` + rollout: "0+10x60 600x120", `kruise_rollout_available_pods` + rollout: "0+10x60 600x120",
	}, []string{"KruiseRolloutIsStuck"}},
	"a rollout waits for a partition": {change{
		`kruise_rollout_target_pods` + rollout:  "600x180",
		`kruise_rollout_updated_pods` + rollout: "0+10x60 600x120", `kruise_rollout_available_pods` + rollout: "0+10x60 600x120",
	}, nil},
	"a rollout is paused": {change{
		`kruise_rollout_updated_pods` + rollout: "0+10x60 600x120", `kruise_rollout_available_pods` + rollout: "0+10x60 600x120",
		`kruise_rollout_paused` + rollout: "0x60 1x120",
	}, nil},
	"a rollout began a short time ago": {change{
		`kruise_rollout_target_pods{instance="manager-0",kind="CloneSet",namespace="shop",name="cart"}`:    "_x160 3x20",
		`kruise_rollout_updated_pods{instance="manager-0",kind="CloneSet",namespace="shop",name="cart"}`:   "_x160 0x20",
		`kruise_rollout_available_pods{instance="manager-0",kind="CloneSet",namespace="shop",name="cart"}`: "_x160 0x20",
		`kruise_rollout_paused{instance="manager-0",kind="CloneSet",namespace="shop",name="cart"}`:         "_x160 0x20",
	}, nil},
	"Pods lack their sidecars": {change{
		`kruise_sidecarset_uninjected_pods{instance="manager-0",sidecarset="log"}`: "0x120 2x60",
	}, []string{"KruiseSidecarsMissing"}},
	"a budget refuses a drain": {change{
		`pod_unavailable_budget{instance="api-0",kind_namespace_name="CloneSet_shop_web",username="drain"}`: "0x60 0+1x120",
	}, []string{"KruiseBudgetRefusesForLong"}},
	"an agent is not ready": {change{
		`kruise_node_agents{instance="manager-0",state="not_ready"}`: "0x120 1x60",
	}, []string{"KruiseNodeAgentsNotReady"}},
	"a runtime does not answer": {change{
		`kruise_node_agent_cri_up{instance="node-0",runtime="containerd"}`: "1x160 0x20",
	}, []string{"KruiseRuntimeDoesNotAnswer"}},
	"pulls fail": {change{
		`kruise_node_agent_image_pull_total{instance="node-0",result="failed"}`: "0+1x180",
	}, []string{"KruiseImagePullsFail"}},
	"probes are late": {change{`kruise_node_agent_probe_late_total{instance="node-0"}`: "0+30x180"}, []string{"KruiseProbesAreLate"}},
}

// Case metrics 17.
func TestAlertsFireInTheirSituation(t *testing.T) {
	for name, situation := range situations {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, situation.want, firing(t, situation.change.applied()))
		})
	}
}

func TestEveryAlertHasASituation(t *testing.T) {
	fired := map[string]bool{}
	for _, situation := range situations {
		for _, alert := range situation.want {
			fired[alert] = true
		}
	}
	for _, rule := range alerts(t) {
		assert.True(t, fired[rule.Alert], rule.Alert)
	}
}
