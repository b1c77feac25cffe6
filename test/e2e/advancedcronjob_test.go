//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
)

const cronManifest = `apiVersion: apps.kruise.io/v1beta1
kind: AdvancedCronJob
metadata: {name: cron}
spec:
  schedule: "@every 10s"
  template:
    jobTemplate:
      metadata:
        labels: {app: cron}
      spec:
        template:
          spec:
            terminationGracePeriodSeconds: 1
            containers:
            - name: main
              image: kruise.local/demo:v1
              imagePullPolicy: IfNotPresent
              env: [{name: RUN_SECONDS, value: "1"}]
`

// TestCronJobRuns checks that each time has one Job, that the history is limited, and that a pause stops runs.
// Cases advancedcronjob 9, 16, 17, 18.
func TestCronJobRuns(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(cronManifest)
	crons, jobs := e.kruise.AppsV1beta1().AdvancedCronJobs(e.namespace), e.core.BatchV1().Jobs(e.namespace)
	e.eventually("three Jobs are complete", func(c *require.Assertions, ctx context.Context) {
		list, err := jobs.List(ctx, metav1.ListOptions{LabelSelector: "app=cron"})
		c.NoError(err)
		done := 0
		for _, job := range list.Items {
			due, err := time.Parse(time.RFC3339, job.Annotations[pub.ScheduledAtKey])
			c.NoError(err)
			c.Equal(fmt.Sprintf("cron-%d", due.Unix()), job.Name)
			c.False(job.CreationTimestamp.Time.Before(due))
			c.Less(job.CreationTimestamp.Sub(due), 20*time.Second, "a time that was missed is not made up for when the next one is due")
			c.Equal("AdvancedCronJob", metav1.GetControllerOf(&job).Kind)
			if job.Status.Succeeded == 1 {
				done++
			}
		}
		c.GreaterOrEqual(done, 3)
	})
	pause := func(value bool) {
		t.Helper()
		_, err := crons.Patch(t.Context(), "cron", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"paused":%t}}`, value), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	pause(true)
	paused := time.Now()
	e.eventually("no Job runs, and three are kept", func(c *require.Assertions, ctx context.Context) {
		cron, err := crons.Get(ctx, "cron", metav1.GetOptions{})
		c.NoError(err)
		c.Empty(cron.Status.Active)
		list, err := jobs.List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Len(list.Items, 3)
	})
	cron, err := crons.Get(t.Context(), "cron", metav1.GetOptions{})
	require.NoError(t, err)
	last := cron.Status.LastScheduleTime
	require.NotNil(t, last)
	// A run that becomes due before the controller has seen the pause may start. Without the pause, a second one would.
	<-time.After(time.Until(paused.Add(22 * time.Second)))
	cron, err = crons.Get(t.Context(), "cron", metav1.GetOptions{})
	require.NoError(t, err)
	assert.False(t, cron.Status.LastScheduleTime.After(paused.Add(10*time.Second)), "no run became due during the pause and started")
	last = cron.Status.LastScheduleTime
	pause(false)
	e.eventually("a run starts at once", func(c *require.Assertions, ctx context.Context) {
		cron, err := crons.Get(ctx, "cron", metav1.GetOptions{})
		c.NoError(err)
		c.True(cron.Status.LastScheduleTime.After(last.Time))
	})
	e.kubectl("delete", "advancedcronjob", "cron")
	e.eventually("the Jobs are collected", func(c *require.Assertions, ctx context.Context) {
		list, err := jobs.List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Empty(list.Items)
	})
}
