package hostcontroller

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSum(t *testing.T) {
	m := Metrics(`# HELP requests_total x
requests_total{code="200",method="GET"} 3
requests_total{code="404",method="GET"} 1
requests_total{code="201",method="POST"} 2
requests_total_other{method="GET"} 100
seconds_total 1.5
`)
	assert.InDelta(t, 6, m.Sum("requests_total"), 0)
	assert.InDelta(t, 4, m.Sum("requests_total", `method="GET"`), 0)
	assert.InDelta(t, 3, m.Sum("requests_total", `method="GET"`, `code="200"`), 0)
	assert.InDelta(t, 1.5, m.Sum("seconds_total"), 0)
	assert.Zero(t, m.Sum("none"))
}

func TestCPUGrowsWithWork(t *testing.T) {
	before, err := CPU(os.Getpid())
	require.NoError(t, err)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); { // Spinning is its purpose.
		after, err := CPU(os.Getpid())
		require.NoError(t, err)
		if after >= before+0.05 {
			return
		}
	}
	assert.Fail(t, "ten seconds of work took less than 50 ms of CPU")
}
