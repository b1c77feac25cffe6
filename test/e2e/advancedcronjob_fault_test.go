//go:build e2e && fault

package e2e

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCronJobsOutliveTheirController kills the controllers while Jobs are created every five seconds. No time has two Jobs, although none
// is kept, and all times are those of the schedule. The times that pass without a controller share one Job.
// Case advancedcronjob 13.
func TestCronJobsOutliveTheirController(t *testing.T) {
	e := newEnv(t)
	created := e.createdJobs()
	e.apply(replaced(cronOf("none", "1", "  successfulJobsHistoryLimit: 0\n"), "@every 6s", "@every 5s"))
	for range 3 {
		runs := len(created())
		e.eventually("two more runs", func(c *require.Assertions, _ context.Context) { c.GreaterOrEqual(len(created()), runs+2) })
		e.kill("control-plane=controller-manager")
	}
	e.kubectl("patch", "advancedcronjob", "none", "--type=merge", "-p", `{"spec":{"paused":true}}`)
	e.eventually("no Job is left", func(c *require.Assertions, ctx context.Context) {
		list, err := e.core.BatchV1().Jobs(e.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Empty(list.Items)
	})
	names := created()
	var times []int
	for _, name := range names {
		at, err := strconv.Atoi(strings.TrimPrefix(name, "none-"))
		require.NoError(t, err)
		times = append(times, at)
	}
	t.Logf("runs: %v", times)
	assert.True(t, slices.IsSorted(times), "no run after a later one")
	assert.Len(t, slices.Compact(slices.Clone(times)), len(times), "each run once")
	for i := range times {
		assert.Zero(t, (times[i]-times[0])%5, times[i])
	}
}
