package figures

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	memory  = Chart{Name: "memory", Unit: "MiB", Total: true}
	latency = Chart{Name: "latency", Unit: "ms"}
)

func series(chart Chart, of func(count float64) float64) *Series {
	f := &Figures{Of: "objects"}
	for _, count := range []int{1000, 3000, 10000, 30000} {
		f.Add(chart, "x", count, of(float64(count)))
	}
	return f.Series[0]
}

func TestExponentIsThatOfThePower(t *testing.T) {
	for _, exponent := range []float64{0, 0.5, 1, 2} {
		s := series(memory, func(count float64) float64 { return math.Pow(count, exponent) })
		assert.InDelta(t, exponent, s.Growth.Exponent, 0.01, "over all counts")
		assert.InDelta(t, exponent, s.Growth.Last, 0.01, "between the last two")
	}
}

func TestConstantPartMattersLeastAtTheEnd(t *testing.T) {
	s := series(memory, func(count float64) float64 { return 100 + count/100 })
	assert.Less(t, s.Growth.Exponent, s.Growth.Last)
	assert.Less(t, s.Growth.Last, 1.0)
}

func TestVerdictNamesWhatGrowsTooFast(t *testing.T) {
	linear := func(count float64) float64 { return count }
	assert.NotContains(t, series(memory, linear).Verdict(), "FASTER")
	assert.Contains(t, series(memory, func(count float64) float64 { return count * math.Sqrt(count) }).Verdict(), "FASTER THAN THE COUNT")
	assert.Contains(t, series(latency, linear).Verdict(), "GROWS")
	assert.NotContains(t, series(latency, func(float64) float64 { return 7 }).Verdict(), "GROWS")
}

func TestOneValueHasNoGrowth(t *testing.T) {
	f := &Figures{}
	f.Add(latency, "get", 1000, 2)
	assert.Nil(t, f.Series[0].Growth)
	assert.Empty(t, f.Series[0].Verdict())
}

func TestPrintLeavesMissingValuesEmpty(t *testing.T) {
	f := &Figures{Of: "objects"}
	f.Add(latency, "get", 1000, 2.345678)
	f.Add(latency, "get", 3000, 1234.5)
	f.Add(memory, "heap", 3000, 70)
	var text bytes.Buffer
	require.NoError(t, f.Print(&text))
	assert.Equal(t, ""+
		"       objects  unit  1000  3000                                 grows as\n"+
		"  latency: get    ms  2.35  1235  count^5.70, at the end count^5.70 GROWS\n"+
		"  memory: heap   MiB          70                                         \n", text.String())
}

func TestWriteNamesTheFileAfterWhatWasCounted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	f := &Figures{Of: "objects"}
	f.Add(latency, "get", 1000, 2)
	require.NoError(t, f.Write(dir))
	text, err := os.ReadFile(filepath.Join(dir, "objects.json"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"of":"objects","machine":"","command":"",
		"series":[{"chart":"latency","name":"get","unit":"ms","points":[{"count":1000,"value":2}]}]}`, string(text))
}
