package monitoring

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/util/teststorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// mostSamples is the limit of a query in a Prometheus without flags.
const mostSamples = 50_000_000

// monitors are the names of the monitors that scrape a container.
var monitors = map[string]string{"apiserver": "kruise-apiserver", "manager": "controller-manager-metrics-monitor", "daemon": "kruise-daemon"}

// scrape is a file of a recording, see test/recording.
type scrape struct {
	container, pod, path string
	// at is the time of the scrape in Unix milliseconds.
	at int64
}

// scrapes returns the files of a recording, the oldest first.
func scrapes(t *testing.T, dir string) (all []scrape) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.txt.gz"))
	require.NoError(t, err)
	for _, path := range paths {
		parts := strings.Split(filepath.ToSlash(path), "/")
		parts = parts[len(parts)-3:]
		at, err := strconv.ParseInt(strings.TrimSuffix(parts[2], ".txt.gz"), 10, 64)
		require.NoError(t, err, path)
		all = append(all, scrape{container: parts[0], pod: parts[1], path: path, at: at})
	}
	slices.SortFunc(all, func(a, b scrape) int { return int(a.at - b.at) })
	return all
}

// text returns the answer of the program. It is empty if the scrape failed.
func (s *scrape) text(t *testing.T) []byte {
	t.Helper()
	zipped, err := os.Open(s.path)
	require.NoError(t, err)
	defer func() { require.NoError(t, zipped.Close()) }()
	reader, err := gzip.NewReader(zipped)
	require.NoError(t, err)
	text, err := io.ReadAll(reader)
	require.NoError(t, err)
	return text
}

// honoured returns the monitors of the chart that keep the labels of a program where they have the names of labels of the target.
func honoured(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../artifacts/monitoring.yaml")
	require.NoError(t, err)
	type endpoint struct {
		HonorLabels bool `yaml:"honorLabels"`
	}
	honoured := map[string]bool{}
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var monitor struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct{ Endpoints []endpoint }
		}
		if err := documents.Decode(&monitor); errors.Is(err, io.EOF) {
			return honoured
		}
		if monitor.Kind == "ServiceMonitor" {
			honoured[monitor.Metadata.Name] = slices.ContainsFunc(monitor.Spec.Endpoints, func(e endpoint) bool { return e.HonorLabels })
		}
	}
}

// withTarget adds the labels of the target, as a monitor does. A label of the program that has the same name is renamed, unless the
// monitor honours it.
func (s *scrape) withTarget(of labels.Labels, honours bool) labels.Labels {
	builder := labels.NewBuilder(of)
	for name, value := range map[string]string{"namespace": "kruise-system", "pod": s.pod, "container": s.container, "job": s.container, "instance": s.pod} {
		if exposed := of.Get(name); exposed != "" {
			if honours {
				continue
			}
			builder.Set("exported_"+name, exposed)
		}
		builder.Set(name, value)
	}
	return builder.Labels()
}

// load is how busy the machine was at a time.
type load struct {
	at time.Time
	// average is the load average of a minute for each CPU. late is the longest delay of a tick of the recorder.
	average float64
	late    time.Duration
}

// loads returns what the file load.txt of a recording says, the oldest first. A recording without the file has none.
func loads(t *testing.T, dir string) (all []load) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "load.txt"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var at, cpus, late int64
		var average float64
		_, err := fmt.Sscan(line, &at, &average, &cpus, &late)
		require.NoError(t, err, line)
		all = append(all, load{time.UnixMilli(at), average / float64(cpus), time.Duration(late) * time.Millisecond})
	}
	return all
}

// overloaded reports whether a recording proves that the machine was overloaded in most of a period: more than eight programs waited for
// each CPU, or a program stood still for a second.
func overloaded(all []load, from, to time.Time) bool {
	busy, known := 0, 0
	for _, l := range all {
		if l.at.Before(from) || l.at.After(to) {
			continue
		}
		known++
		if l.average > 8 || l.late >= time.Second {
			busy++
		}
	}
	return 2*busy > known
}

func TestOverloadIsProvenByMostOfAPeriod(t *testing.T) {
	dir := t.TempDir()
	require.Empty(t, loads(t, dir))
	// The first column is a time in ms, then come the load average, the CPUs and the delay in ms.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "load.txt"), []byte("1000 3.5 2 20\n2000 17.5 2 0\n3000 1 2 1000\n4000 1 2 999\n5000 16 2 0\n"), 0o600))
	all := loads(t, dir)
	require.Len(t, all, 5)
	for period, want := range map[[2]int64]bool{
		{0, 500}: false, {1000, 1000}: false, {2000, 2000}: true, {3000, 3000}: true, {4000, 5000}: false, {1000, 3000}: true, {1000, 2000}: false,
	} {
		assert.Equal(t, want, overloaded(all, time.UnixMilli(period[0]), time.UnixMilli(period[1])), period)
	}
}

// replay is the recording in a store of Prometheus.
type replay struct {
	// loads are how busy the machine was.
	loads   []load
	storage *teststorage.TestStorage
	// passes are the times of the scrapes. All programs are scraped at the same time.
	passes []time.Time
	// succeeded counts the scrapes of each container that the program answered.
	succeeded map[string]int
	// honours has the monitors that keep the labels of the program.
	honours map[string]bool
	// shown are the series of the last pass, by Pod and hash.
	shown map[string]map[uint64]labels.Labels
}

func newReplay(t *testing.T, dir string) *replay {
	t.Helper()
	all := scrapes(t, dir)
	require.NotEmpty(t, all, "the recording in %s is empty", dir)
	r := &replay{loads: loads(t, dir), storage: promqltest.LoadedStorage(t, ""), succeeded: map[string]int{}, honours: honoured(t)}
	t.Cleanup(func() { require.NoError(t, r.storage.Close()) })
	for i := 0; i < len(all); {
		pass := all[i].at
		var present []scrape
		for ; i < len(all) && all[i].at == pass; i++ {
			present = append(present, all[i])
		}
		r.append(t, pass, present)
		r.passes = append(r.passes, time.UnixMilli(pass))
	}
	return r
}

// append stores the scrapes of one pass. Series that are there no more become stale, as in Prometheus.
func (r *replay) append(t *testing.T, at int64, present []scrape) {
	t.Helper()
	appender := r.storage.Appender(t.Context())
	gone := r.shown
	r.shown = map[string]map[uint64]labels.Labels{}
	for _, scrape := range present {
		text := scrape.text(t)
		if len(text) > 0 {
			r.succeeded[scrape.container]++
		}
		now := map[uint64]labels.Labels{}
		for samples := textparse.NewPromParser(text, labels.NewSymbolTable(), false); ; {
			entry, err := samples.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, scrape.path)
			if entry != textparse.EntrySeries {
				continue
			}
			var exposed labels.Labels
			samples.Labels(&exposed)
			_, _, number := samples.Series()
			series := scrape.withTarget(exposed, r.honours[monitors[scrape.container]])
			_, err = appender.Append(0, series, at, number)
			require.NoError(t, err, series)
			now[series.Hash()] = series
			delete(gone[scrape.pod], series.Hash())
		}
		r.shown[scrape.pod] = now
	}
	for _, missing := range gone {
		for _, series := range missing {
			_, err := appender.Append(0, series, at, math.Float64frombits(value.StaleNaN))
			require.NoError(t, err, series)
		}
	}
	require.NoError(t, appender.Commit())
}

func (r *replay) start() time.Time { return r.passes[0] }

func (r *replay) end() time.Time { return r.passes[len(r.passes)-1] }

// recorded returns the recording that the environment names.
func recorded(t *testing.T) *replay {
	t.Helper()
	dir := os.Getenv("METRICS_RECORDING")
	if dir == "" {
		t.Skip("METRICS_RECORDING names no recording. hack/test-e2e.sh makes one")
	}
	r := newReplay(t, dir)
	t.Logf("%v from %v, scrapes that succeeded: %v", r.end().Sub(r.start()).Round(time.Second), r.start().UTC().Format(time.TimeOnly), r.succeeded)
	for container := range monitors {
		require.Positive(t, r.succeeded[container], "no scrape of %s succeeded", container)
	}
	return r
}

// deserved are the alerts that look back longer than the suite takes. The suite pulls images that do not exist, so the share of failed
// pulls of the last half hour is large from then on. TestAlertsFireInTheirSituation shows when this alert fires, and when not.
var deserved = map[string]bool{"KruiseImagePullsFail": true}

// latency are the alerts about slow answers, and the time that their queries look back. On an overloaded machine they fire rightly.
var latency = map[string]time.Duration{"KruiseAPIServerSlow": 5 * time.Minute, "KruiseReviewsSlow": 5 * time.Minute}

// Case metrics 17. The suite stops programs, breaks images and holds rollouts, each for a short time. Nobody has to be woken for it. An
// alert about latency is only logged if the recording proves that the machine was overloaded while the answers were slow. Otherwise it
// fails the test too.
func TestAlertsAreSilentThroughTheSuite(t *testing.T) {
	r := recorded(t)
	query := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 0, mostSamples), r.storage)
	for _, rule := range alerts(t) {
		expression, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
		require.NoError(t, err)
		alert := rules.NewAlertingRule(rule.Alert, expression, time.Duration(rule.For), time.Duration(rule.KeepFiringFor),
			labels.FromMap(rule.Labels), labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
		pending := 0
		for _, at := range r.passes {
			_, err := alert.Eval(t.Context(), 0, at, query, nil, 0)
			require.NoError(t, err, rule.Alert)
			alert.SetEvaluationTimestamp(at)
			if alert.State() == rules.StatePending {
				pending++
			}
			for _, active := range alert.ActiveAlerts() {
				if active.State != rules.StateFiring || deserved[rule.Alert] {
					continue
				}
				text := fmt.Sprintf("%s fires after %v: %s", rule.Alert, at.Sub(r.start()), active.Annotations)
				if back, ok := latency[rule.Alert]; ok && overloaded(r.loads, active.ActiveAt.Add(-back), at) {
					t.Logf("the machine is overloaded: %s", text)
					continue
				}
				assert.Fail(t, text)
			}
		}
		if pending > 0 {
			t.Logf("%s was pending at %d of %d evaluations", rule.Alert, pending, len(r.passes))
		}
	}
}

// quiet are the queries that show nothing while all is well, and what they would show.
var quiet = map[string]string{
	`sum(rate(kruise_manager_lost_write_total[$__rate_interval]))`: "writes that a restored backup lost",
	`count by (runtime) (kruise_node_agent_cri_up == 0)`:           "nodes whose runtime does not answer",
}

// Case metrics 17. Every query of the dashboards has data at some time in the suite, except those about what must not happen.
func TestDashboardsShowTheSuite(t *testing.T) {
	r := recorded(t)
	engine := promqltest.NewTestEngine(t, false, 0, mostSamples)
	names := strings.NewReplacer("$__rate_interval", "2m", "$__range", "15m", "$namespace", "e2e-.*", "$kind", ".*", "$name", ".*")
	for _, dashboard := range slices.Sorted(maps.Keys(dashboards(t))) {
		for _, expression := range dashboards(t)[dashboard] {
			query, err := engine.NewRangeQuery(t.Context(), r.storage, promql.NewPrometheusQueryOpts(false, 0),
				names.Replace(expression), r.start(), r.end(), 30*time.Second)
			require.NoError(t, err, expression)
			result := query.Exec(t.Context())
			require.NoError(t, result.Err, expression)
			matrix, err := result.Matrix()
			require.NoError(t, err)
			if _, ok := quiet[expression]; !ok {
				assert.NotEmpty(t, matrix, "%s: %s has no data", dashboard, expression)
			}
			query.Close()
		}
	}
}
