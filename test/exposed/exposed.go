package exposed

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Metric is what the registry knows of a metric without any of its values.
type Metric struct {
	Name, Type string
	// Labels are sorted and separated by commas.
	Labels string
}

// String returns the form of the lists in testdata.
func (m Metric) String() string { return strings.TrimRight(m.Name+" "+m.Type+" "+m.Labels, " ") }

// Metrics returns the metrics of the default registry, sorted by name.
func Metrics(t *testing.T) (found []Metric) {
	t.Helper()
	registry := underlying(t)
	types := gathered(t)
	for _, description := range descriptionsOf(registry) {
		metric := parse(t, description)
		if metric.Type = typeOf(registry, description); metric.Type == "" {
			metric.Type = cmp.Or(typeByName(metric.Name), types[metric.Name], "untyped")
		}
		found = append(found, metric)
	}
	slices.SortFunc(found, func(a, b Metric) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(found)
}

// underlying returns the registry of the Prometheus library, which can describe what it contains. The registry of Kubernetes
// embeds it and shows only a part of its methods.
func underlying(t *testing.T) *prometheus.Registry {
	t.Helper()
	embedded := reflect.ValueOf(legacyregistry.DefaultGatherer).Elem().FieldByName("PromRegistry")
	registry, ok := reflect.TypeAssert[*prometheus.Registry](embedded)
	require.True(t, ok)
	return registry
}

func descriptionsOf(registry *prometheus.Registry) (all []*prometheus.Desc) {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		registry.Describe(descriptions) // It locks the registry until the last one is received.
	}()
	for description := range descriptions {
		all = append(all, description)
	}
	return all
}

// gathered returns the types of the metrics that have values.
func gathered(t *testing.T) map[string]string {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	types := map[string]string{}
	for _, family := range families {
		types[family.GetName()] = strings.ToLower(family.GetType().String())
	}
	return types
}

var described = regexp.MustCompile(
	`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: "(?:[^"\\]|\\.)*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// parse reads the text of a description. It has no accessors.
func parse(t *testing.T, description *prometheus.Desc) Metric {
	t.Helper()
	parts := described.FindStringSubmatch(description.String())
	require.NotNil(t, parts, description.String())
	name, err := strconv.Unquote(parts[1])
	require.NoError(t, err)
	var labels []string
	for pair := range strings.SplitSeq(parts[2], ",") {
		key, _, _ := strings.Cut(pair, "=")
		labels = append(labels, key)
	}
	labels = append(labels, strings.Split(parts[3], ",")...)
	labels = slices.DeleteFunc(labels, func(label string) bool { return label == "" })
	slices.Sort(labels)
	return Metric{Name: name, Labels: strings.Join(labels, ",")}
}

// same is a collector with one description. The registry refuses it and returns the collector that has the same description.
type same struct{ description *prometheus.Desc }

func (s same) Describe(all chan<- *prometheus.Desc) { all <- s.description }
func (s same) Collect(chan<- prometheus.Metric)     {}

// typeOf returns the type of the collector that has exactly this description, or an empty string for collectors of many metrics.
func typeOf(registry *prometheus.Registry, description *prometheus.Desc) string {
	var registered prometheus.AlreadyRegisteredError
	if !errors.As(registry.Register(same{description}), &registered) {
		return ""
	}
	name := strings.ToLower(fmt.Sprintf("%T", registered.ExistingCollector))
	for _, known := range []string{"counter", "gauge", "histogram", "summary"} {
		if strings.Contains(name, known) {
			return known
		}
	}
	return ""
}

// typeByName returns the type that the naming of Prometheus says. A collector of many metrics, such as that of gRPC, shows a type only
// after the first use of a metric, which may come before or after a test looks.
func typeByName(name string) string {
	if strings.HasSuffix(name, "_total") {
		return "counter"
	}
	return ""
}

// Compare compares the metrics with the list of a program. With the variable UPDATE_GOLDEN, it writes the list. Metrics of the
// Go runtime and those that are absent on other systems are not listed.
func Compare(t *testing.T, program string, metrics []Metric) {
	t.Helper()
	var text strings.Builder
	for _, metric := range metrics {
		if !strings.HasPrefix(metric.Name, "go_") {
			text.WriteString(metric.String() + "\n")
		}
	}
	path := filepath.Join("..", "..", "..", "test", "exposed", "testdata", program+".txt")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String(), "run the test with UPDATE_GOLDEN=1 if the change is intended")
}

// Contract checks that the metrics contain rows of the form "name type label,label".
func Contract(t *testing.T, metrics []Metric, rows ...string) {
	t.Helper()
	have := map[string]string{}
	for _, metric := range metrics {
		have[metric.Name] = metric.String()
	}
	for _, row := range rows {
		name, _, _ := strings.Cut(row, " ")
		assert.Equal(t, row, have[name])
	}
}
