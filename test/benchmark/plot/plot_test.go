package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sample = `{"of": "objects", "series": [
 {"chart": "median latency", "name": "get", "unit": "ms", "points": [{"count": 1000, "value": 2}, {"count": 3000, "value": 3}],
  "growth": {"exponent": 0.37, "last": 0.37}},
 {"chart": "store", "name": "file", "unit": "MiB", "total": true, "points": [{"count": 1000, "value": 0}, {"count": 3000, "value": 30},
  {"count": 9000, "value": 80}]},
 {"chart": "median latency", "name": "patch", "unit": "ms", "points": [{"count": 1000, "value": 5}, {"count": 3000, "value": 5}]},
 {"chart": "median latency", "name": "once", "unit": "ms", "points": [{"count": 1000, "value": 5}]},
 {"chart": "none", "name": "zero", "unit": "s", "points": [{"count": 1000, "value": 0}]}
]}`

func drawn(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "objects.json"), []byte(sample), 0o600))
	require.NoError(t, run(dir))
	return dir
}

func TestEachChartHasItsSeriesUnitsAndSlopes(t *testing.T) {
	dir := drawn(t)
	latency, err := os.ReadFile(filepath.Join(dir, "objects-median-latency.svg"))
	require.NoError(t, err)
	for _, text := range []string{"get: count^0.37", ">patch<", ">ms<", ">objects<", ">1000<", ">3000<", ">median latency<"} {
		assert.Contains(t, string(latency), text)
	}
	assert.NotContains(t, string(latency), "file")
	assert.NotContains(t, string(latency), "once", "one value is no line")
	store, err := os.ReadFile(filepath.Join(dir, "objects-store.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(store), "file", "a value of zero is left out, the others are drawn")
	assert.NoFileExists(t, filepath.Join(dir, "objects-none.svg"), "nothing is above zero")
}

func TestSameFiguresGiveTheSameFiles(t *testing.T) {
	first, err := os.ReadFile(filepath.Join(drawn(t), "objects-median-latency.svg"))
	require.NoError(t, err)
	second, err := os.ReadFile(filepath.Join(drawn(t), "objects-median-latency.svg"))
	require.NoError(t, err)
	assert.Equal(t, string(first), string(second))
}

func TestDirectoryWithoutFiguresIsAnError(t *testing.T) {
	assert.ErrorContains(t, run(t.TempDir()), "has no figures")
}

func TestTicksAreInsideTheAxis(t *testing.T) {
	var labels []string
	for _, tick := range (valueTicks{}).Ticks(0.4, 30) {
		assert.GreaterOrEqual(t, tick.Value, 0.4)
		assert.LessOrEqual(t, tick.Value, 30.0)
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	assert.Equal(t, []string{"0.5", "1", "2", "5", "10", "20"}, labels)
}
