package monitoring

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const files = "../../artifacts/helm/kruise/files/monitoring"

// alerts returns the rules of the chart. Prometheus itself reads them.
func alerts(t *testing.T) (all []rulefmt.Rule) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(files, "rules.yaml"))
	require.NoError(t, err)
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	require.Empty(t, errs)
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

// dashboards returns the queries of each dashboard.
func dashboards(t *testing.T) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(files, "dashboards", "*.json"))
	require.NoError(t, err)
	require.Len(t, paths, 2)
	queries := map[string][]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var content any
		require.NoError(t, json.Unmarshal(text, &content), path)
		queries[filepath.Base(path)] = expressions(content)
	}
	return queries
}

// expressions returns the value of every field "expr" below a value of JSON.
func expressions(value any) (all []string) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if text, ok := inner.(string); ok && key == "expr" {
				all = append(all, text)
				continue
			}
			all = append(all, expressions(inner)...)
		}
	case []any:
		for _, inner := range value {
			all = append(all, expressions(inner)...)
		}
	}
	return all
}

// exposed returns the names of the series of our programs.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("../exposed/testdata/*.txt")
	require.NoError(t, err)
	require.Len(t, paths, 3)
	names := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			names[fields[0]] = true
			if fields[1] == "histogram" {
				names[fields[0]+"_bucket"], names[fields[0]+"_sum"], names[fields[0]+"_count"] = true, true, true
			}
		}
	}
	return names
}

// series returns the names of the series that a query reads. Variables of Grafana are replaced as Grafana replaces them.
func series(t *testing.T, query string) (names []string) {
	t.Helper()
	query = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$namespace", "shop", "$kind", "CloneSet", "$name", "web").Replace(query)
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	require.NoError(t, err, query)
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			names = append(names, selector.Name)
		}
		return nil
	})
	require.NotEmpty(t, names, query)
	return names
}

// Case metrics 17.
func TestQueriesUseOnlyExposedMetrics(t *testing.T) {
	known := exposed(t)
	check := func(query string) {
		for _, name := range series(t, query) {
			assert.True(t, known[name], "%s: no program exposes %s", query, name)
		}
	}
	for _, rule := range alerts(t) {
		check(rule.Expr)
	}
	for name, queries := range dashboards(t) {
		assert.Greater(t, len(queries), 3, name)
		for _, query := range queries {
			check(query)
		}
	}
}

// Every alert says what is wrong, how urgent it is, and where the page is that says what to do.
func TestAlertsHaveARunbook(t *testing.T) {
	pages, err := filepath.Glob("../../docs/runbooks/Kruise*.md")
	require.NoError(t, err)
	unused := map[string]bool{}
	for _, page := range pages {
		unused[filepath.Base(page)] = true
	}
	for _, rule := range alerts(t) {
		assert.Contains(t, []string{"critical", "warning"}, rule.Labels["severity"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["description"], rule.Alert)
		assert.GreaterOrEqual(t, time.Duration(rule.For), time.Minute, "%s: one missed scrape must not page", rule.Alert)
		page := rule.Alert + ".md"
		assert.Equal(t, "docs/runbooks/"+page, rule.Annotations["runbook_url"])
		assert.True(t, unused[page], "%s has no page or two rules have the same name", rule.Alert)
		delete(unused, page)
		text, err := os.ReadFile(filepath.Join("../../docs/runbooks", page))
		require.NoError(t, err)
		for _, heading := range []string{"# " + rule.Alert + "\n", "\n## What it means\n", "\n## What to do\n"} {
			assert.Contains(t, string(text), heading, page)
		}
	}
	assert.Empty(t, unused, "pages without an alert")
}
