//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// cronOf returns an AdvancedCronJob of Jobs that run for some seconds, each with the label app=<name>.
func cronOf(name, seconds, spec string) string {
	return replaced(cronManifest, "{name: cron}", "{name: "+name+"}", "{app: cron}", "{app: "+name+"}", "@every 10s", "@every 6s",
		`value: "1"`, `value: "`+seconds+`"`, "  template:\n    jobTemplate:", spec+"  template:\n    jobTemplate:",
		"          spec:\n            termination", "          metadata: {labels: {app: "+name+"}}\n          spec:\n            termination")
}

// createdJobs returns a function that returns the names of the Jobs that were created in the namespace since.
func (e *env) createdJobs() func() []string {
	e.t.Helper()
	w, err := e.core.BatchV1().Jobs(e.namespace).Watch(e.t.Context(), metav1.ListOptions{})
	require.NoError(e.t, err)
	e.t.Cleanup(w.Stop)
	var lock sync.Mutex
	var names []string
	go func() {
		for event := range w.ResultChan() {
			if job, ok := event.Object.(*batchv1.Job); ok && event.Type == watch.Added {
				lock.Lock()
				names = append(names, job.Name)
				lock.Unlock()
			}
		}
	}()
	return func() []string {
		lock.Lock()
		defer lock.Unlock()
		return slices.Clone(names)
	}
}

// With Replace, the Pod of the previous run is ended. With Forbid, no run starts beside another one, and the last missed one starts when
// that one ends. Without history, each time has one run, and no Job is left.
// Cases advancedcronjob 7, 8, 10.
func TestCronJobsLimitTheirRuns(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	created := e.createdJobs()
	of := func(name string) (names []string) {
		for _, job := range created() {
			if strings.HasPrefix(job, name+"-") {
				names = append(names, job)
			}
		}
		return names
	}
	e.apply(cronOf("replace", "600", "  concurrencyPolicy: Replace\n"))
	e.apply(cronOf("forbid", "600", "  concurrencyPolicy: Forbid\n"))
	e.apply(cronOf("none", "1", "  successfulJobsHistoryLimit: 0\n"))

	e.eventually("three runs", func(c *require.Assertions, _ context.Context) { c.GreaterOrEqual(len(of("replace")), 3) })
	e.kubectl("patch", "advancedcronjob", "replace", "--type=merge", "-p", `{"spec":{"paused":true}}`)
	e.eventually("the last run is left", func(c *require.Assertions, ctx context.Context) {
		list, err := e.core.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=replace"})
		c.NoError(err)
		c.Len(list.Items, 1)
		c.Equal(corev1.PodRunning, list.Items[0].Status.Phase)
		runs := of("replace")
		c.Equal(runs[len(runs)-1], metav1.GetControllerOf(&list.Items[0]).Name)
	})
	e.said("JobAlreadyActive", "concurrency policy is Forbid")
	require.Len(t, of("forbid"), 1)
	e.kubectl("delete", "job", of("forbid")[0])
	e.eventually("the next run starts", func(c *require.Assertions, _ context.Context) { c.Len(of("forbid"), 2) })
	for _, name := range []string{"replace", "forbid"} {
		e.kubectl("delete", "advancedcronjob", name)
	}
	e.eventually("four runs", func(c *require.Assertions, _ context.Context) { c.GreaterOrEqual(len(of("none")), 4) })
	e.kubectl("patch", "advancedcronjob", "none", "--type=merge", "-p", `{"spec":{"paused":true}}`)
	e.eventually("no Job is left", func(c *require.Assertions, ctx context.Context) {
		list, err := e.core.BatchV1().Jobs(e.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Empty(list.Items)
	})
	for _, name := range []string{"replace", "forbid", "none"} {
		names := slices.Sorted(slices.Values(of(name)))
		assert.Equal(t, slices.Compact(slices.Clone(names)), names, "each run once")
	}
}

// The runs of an AdvancedCronJob are BroadcastJobs that run on nodes, or ImageListPullJobs that nodes carry out.
// Case advancedcronjob 1.
func TestCronJobsOfOtherKindsRun(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	node := e.choose("node-1")[0]
	e.apply(replaced(`apiVersion: apps.kruise.io/v1beta1
kind: AdvancedCronJob
metadata: {name: nodes}
spec:
  schedule: "@every 5s"
  template:
    broadcastJobTemplate:
      metadata: {labels: {app: nodes}}
      spec:
        template:
          metadata: {labels: {app: nodes}}
          spec:
            nodeSelector: {NODES: chosen}
            tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]
            containers:
            - {name: main, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent, args: [sleep, "1"]}
---
apiVersion: apps.kruise.io/v1beta1
kind: AdvancedCronJob
metadata: {name: images}
spec:
  schedule: "@every 5s"
  concurrencyPolicy: Forbid
  template:
    imageListPullJobTemplate:
      metadata: {labels: {app: images}}
      spec:
        images: ["kruise.local/demo:v1", "kruise.local/demo:v2"]
        selector: {names: [NODE]}
        completionPolicy: {type: Always}
`, "NODES", e.nodeLabel(), "NODE", node))
	apps := e.kruise.AppsV1beta1()
	var jobs, pulls []metav1.Object
	e.eventually("two runs of both kinds succeed", func(c *require.Assertions, ctx context.Context) {
		jobs, pulls = nil, nil
		broadcasts, err := apps.BroadcastJobs(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=nodes"})
		c.NoError(err)
		for i := range broadcasts.Items {
			if job := &broadcasts.Items[i]; job.Status.Phase == v1beta1.BroadcastJobCompleted && job.Status.Succeeded == 1 {
				jobs = append(jobs, job)
			}
		}
		lists, err := apps.ImageListPullJobs(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=images"})
		c.NoError(err)
		for i := range lists.Items {
			if list := &lists.Items[i]; list.Status.CompletionTime != nil && list.Status.Succeeded == 2 {
				pulls = append(pulls, list)
			}
		}
		c.GreaterOrEqual(len(jobs), 2)
		c.GreaterOrEqual(len(pulls), 2)
	})
	for name, runs := range map[string][]metav1.Object{"nodes": jobs, "images": pulls} {
		cron, err := apps.AdvancedCronJobs(e.namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, map[string]v1beta1.TemplateKind{
			"nodes": v1beta1.TemplateKindBroadcastJob, "images": v1beta1.TemplateKindImageListPullJob,
		}[name], cron.Status.Type)
		for _, run := range runs {
			due, err := time.Parse(time.RFC3339, run.GetAnnotations()[pub.ScheduledAtKey])
			require.NoError(t, err)
			assert.Equal(t, sprintf("%s-%d", name, due.Unix()), run.GetName())
			assert.Equal(t, cron.UID, metav1.GetControllerOf(run).UID)
		}
	}
}

// With a starting deadline of 0 seconds, a run that became due during a pause is skipped when the pause ends, with an event. Later runs
// start at their times. Another AdvancedCronJob shows when that run is late. The pause ends between two due times: a run that is due just
// then is not late, and the controller says nothing about those before it.
// Case advancedcronjob 14.
func TestRunsThatAreLateAreSkipped(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const period = 30 * time.Second
	created := e.createdJobs()
	every := "@every " + period.String()
	e.apply(replaced(cronOf("late", "1", "  paused: true\n  startingDeadlineSeconds: 0\n"), "@every 6s", every))
	e.apply(replaced(cronOf("clock", "2", ""), "@every 6s", every))
	late, err := e.kruise.AppsV1beta1().AdvancedCronJobs(e.namespace).Get(t.Context(), "late", metav1.GetOptions{})
	require.NoError(t, err)
	e.eventually("a run of the other one has ended", func(c *require.Assertions, ctx context.Context) {
		list, err := e.core.BatchV1().Jobs(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=clock"})
		c.NoError(err)
		c.NotEmpty(list.Items)
		c.NotNil(list.Items[0].Status.CompletionTime)
		sinceDue := time.Since(late.CreationTimestamp.Time) % period
		c.True(sinceDue > period/10 && sinceDue < period/2, "the next run is due too soon: the last one was due %s ago", sinceDue)
	})
	resumed := time.Now()
	e.kubectl("patch", "advancedcronjob", "late", "--type=merge", "-p", `{"spec":{"paused":false}}`)
	var runs []string
	e.eventually("a run starts", func(c *require.Assertions, _ context.Context) {
		runs = slices.DeleteFunc(created(), func(job string) bool { return !strings.HasPrefix(job, "late-") })
		c.NotEmpty(runs)
	})
	due, err := strconv.ParseInt(strings.TrimPrefix(runs[0], "late-"), 10, 64)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, due, resumed.Unix(), "no run that was late when the pause ended")
	e.said("MissSchedule", "Missed scheduled time to start a job")
}
