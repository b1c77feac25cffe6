package advancedcronjob

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/controller/controllertest"
)

type edit = func(*v1beta1.AdvancedCronJobSpec)

// newCron returns an AdvancedCronJob named cron that creates a Job each minute.
func newCron(edits ...edit) *v1beta1.AdvancedCronJob {
	cron := &v1beta1.AdvancedCronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "cron", Namespace: "ns", UID: "cron", CreationTimestamp: metav1.NewTime(controllertest.Now)},
		Spec: v1beta1.AdvancedCronJobSpec{
			Schedule: "* * * * *", TimeZone: new("Etc/UTC"), ConcurrencyPolicy: v1beta1.AllowConcurrent, Paused: new(false),
			SuccessfulJobsHistoryLimit: ptr.To[int32](3), FailedJobsHistoryLimit: ptr.To[int32](1),
			Template: v1beta1.CronJobTemplate{JobTemplate: &batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "cron"}, Annotations: map[string]string{"note": "kept"}},
				Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}, RestartPolicy: corev1.RestartPolicyNever},
				}},
			}},
		},
	}
	for _, edit := range edits {
		edit(&cron.Spec)
	}
	return cron
}

func policy(value v1beta1.ConcurrencyPolicy) edit {
	return func(s *v1beta1.AdvancedCronJobSpec) { s.ConcurrencyPolicy = value }
}

func history(succeeded, failed int32) edit {
	return func(s *v1beta1.AdvancedCronJobSpec) {
		s.SuccessfulJobsHistoryLimit, s.FailedJobsHistoryLimit = &succeeded, &failed
	}
}

func within(seconds int64) edit {
	return func(s *v1beta1.AdvancedCronJobSpec) { s.StartingDeadlineSeconds = &seconds }
}

func paused(value bool) edit {
	return func(s *v1beta1.AdvancedCronJobSpec) { s.Paused = &value }
}

func broadcast(s *v1beta1.AdvancedCronJobSpec) {
	s.Template = v1beta1.CronJobTemplate{BroadcastJobTemplate: &v1beta1.BroadcastJobTemplateSpec{}}
}

func pulls(s *v1beta1.AdvancedCronJobSpec) {
	s.Template = v1beta1.CronJobTemplate{ImageListPullJobTemplate: &v1beta1.ImageListPullJobTemplateSpec{
		Spec: v1beta1.ImageListPullJobSpec{Images: []string{"app:1"}},
	}}
}

type world struct {
	*controllertest.Fixture
	t       *testing.T
	guard   *consistency.Guard
	recheck time.Duration
	// created are the names of all Jobs that were ever created.
	created []string
}

func newWorld(t *testing.T, cron *v1beta1.AdvancedCronJob) *world {
	t.Helper()
	f := controllertest.New(t, "", cron)
	of := build(f.Deps)
	f.Control(of)
	w := &world{Fixture: f, t: t, guard: of.Guard()}
	f.Kube.PrependReactor("create", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		job, ok := action.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
		require.True(t, ok)
		w.created = append(w.created, job.Name)
		return false, nil, nil
	})
	return w
}

func (w *world) step() { w.recheck = w.Step("ns", "cron") }

func (w *world) settle() { w.Settle(w.step) }

// pass lets time pass, and reconciles as often as the controller asks for.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	end := w.Clock.Now().Add(d)
	for {
		w.settle()
		if w.recheck == 0 || w.Clock.Now().Add(w.recheck).After(end) {
			break
		}
		w.Clock.SetTime(w.Clock.Now().Add(w.recheck))
	}
	w.Clock.SetTime(end)
}

func (w *world) cron() *v1beta1.AdvancedCronJob {
	w.t.Helper()
	cron, err := w.Kruise.AppsV1beta1().AdvancedCronJobs("ns").Get(w.t.Context(), "cron", metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return cron
}

func (w *world) edit(edits ...edit) {
	w.t.Helper()
	cron := w.cron()
	for _, edit := range edits {
		edit(&cron.Spec)
	}
	w.Update(cron)
}

func (w *world) jobs() (all []batchv1.Job) {
	w.t.Helper()
	list, err := w.Kube.BatchV1().Jobs("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	w.Kube.ClearActions()
	return list.Items
}

// end lets all Jobs that run end.
func (w *world) end(condition batchv1.JobConditionType) {
	for _, job := range w.jobs() {
		if len(job.Status.Conditions) == 0 {
			job.Status.StartTime = new(metav1.NewTime(w.Clock.Now()))
			job.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue}}
			w.Update(&job)
		}
	}
}

func nameAt(t time.Time) string { return fmt.Sprintf("cron-%d", t.Unix()) }

func (w *world) eventsLike(prefix string) (found []string) {
	for _, event := range w.Events() {
		if strings.HasPrefix(event, prefix) {
			found = append(found, event)
		}
	}
	return found
}

// Cases advancedcronjob 2, 17: each minute a Job with the template's metadata is created, and the status follows it.
func TestJobEachMinute(t *testing.T) {
	w := newWorld(t, newCron())
	w.pass(time.Minute)
	due := controllertest.Now.Add(time.Minute)
	w.settle()
	all := w.jobs()
	require.Len(t, all, 1)
	job := all[0]
	assert.Equal(t, nameAt(due), job.Name)
	assert.Equal(t, map[string]string{"app": "cron"}, job.Labels)
	assert.Equal(t, map[string]string{"note": "kept", "apps.kruise.io/scheduled-at": "2026-01-01T12:01:00Z"}, job.Annotations)
	ref := metav1.GetControllerOf(&job)
	assert.Equal(t, "apps.kruise.io/v1beta1/AdvancedCronJob/cron", ref.APIVersion+"/"+ref.Kind+"/"+string(ref.UID))
	status := w.cron().Status
	assert.Equal(t, v1beta1.TemplateKindJob, status.Type)
	assert.True(t, due.Equal(status.LastScheduleTime.Time))
	require.Len(t, status.Active, 1)
	assert.Equal(t, corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: job.Name, UID: job.UID}, status.Active[0])
	assert.Equal(t, time.Minute, w.recheck)
	w.end(batchv1.JobComplete)
	w.settle()
	assert.Empty(t, w.cron().Status.Active)
	assert.Contains(t, w.Events(), "Normal SawCompletedJob Saw completed job: "+job.Name+", condition: Complete")
	w.pass(3 * time.Minute)
	w.settle()
	assert.Len(t, w.jobs(), 4)
}

// Case advancedcronjob 1: the other templates.
func TestOtherKindsOfRuns(t *testing.T) {
	for template, edit := range map[v1beta1.TemplateKind]edit{
		v1beta1.TemplateKindBroadcastJob: broadcast, v1beta1.TemplateKindImageListPullJob: pulls,
	} {
		t.Run(string(template), func(t *testing.T) {
			w := newWorld(t, newCron(edit))
			w.pass(time.Minute)
			w.settle()
			status := w.cron().Status
			assert.Equal(t, template, status.Type)
			require.Len(t, status.Active, 1)
			assert.Equal(t, string(template), status.Active[0].Kind)
			assert.Equal(t, nameAt(controllertest.Now.Add(time.Minute)), status.Active[0].Name)
			now := metav1.NewTime(w.Clock.Now())
			if template == v1beta1.TemplateKindBroadcastJob {
				job, err := w.Kruise.AppsV1beta1().BroadcastJobs("ns").Get(t.Context(), status.Active[0].Name, metav1.GetOptions{})
				require.NoError(t, err)
				job.Status.Conditions = []v1beta1.JobCondition{{Type: v1beta1.JobFailureTarget, Status: corev1.ConditionTrue}}
				w.Update(job)
				w.settle()
				require.Len(t, w.cron().Status.Active, 1, "its Pods are not deleted yet")
				job.Status.Conditions[0].Type = v1beta1.JobFailed
				w.Update(job)
			} else {
				job, err := w.Kruise.AppsV1beta1().ImageListPullJobs("ns").Get(t.Context(), status.Active[0].Name, metav1.GetOptions{})
				require.NoError(t, err)
				job.Status.CompletionTime = &now
				w.Update(job)
			}
			w.Kruise.ClearActions()
			w.settle()
			assert.Empty(t, w.cron().Status.Active)
		})
	}
}

// Case advancedcronjob 7: with Forbid, a run is skipped while another one goes on, and starts late when that one ends.
func TestForbidSkipsARun(t *testing.T) {
	w := newWorld(t, newCron(policy(v1beta1.ForbidConcurrent)))
	w.pass(3*time.Minute + 10*time.Second)
	w.settle()
	require.Len(t, w.jobs(), 1)
	w.end(batchv1.JobComplete)
	w.settle()
	assert.Equal(t, []string{nameAt(controllertest.Now.Add(time.Minute)), nameAt(controllertest.Now.Add(3 * time.Minute))}, w.created)
}

// Case advancedcronjob 8: with Replace, the run that goes on is deleted.
func TestReplaceDeletesTheOldRun(t *testing.T) {
	w := newWorld(t, newCron(policy(v1beta1.ReplaceConcurrent)))
	w.pass(2 * time.Minute)
	w.settle()
	all := w.jobs()
	require.Len(t, all, 1)
	assert.Equal(t, nameAt(controllertest.Now.Add(2*time.Minute)), all[0].Name)
	assert.Len(t, w.cron().Status.Active, 1)
}

// Case advancedcronjob 9: the oldest finished runs go.
func TestHistoryIsLimited(t *testing.T) {
	w := newWorld(t, newCron(history(3, 1)))
	for i := range 12 {
		w.pass(time.Minute)
		w.settle()
		if i%3 == 0 {
			w.end(batchv1.JobFailed)
		} else {
			w.end(batchv1.JobComplete)
		}
		w.settle()
	}
	counts := map[batchv1.JobConditionType]int{}
	for _, job := range w.jobs() {
		counts[job.Status.Conditions[0].Type]++
	}
	assert.Equal(t, map[batchv1.JobConditionType]int{batchv1.JobComplete: 3, batchv1.JobFailed: 1}, counts)
	assert.Contains(t, w.created[len(w.created)-1], w.jobs()[len(w.jobs())-1].Name)
}

// Case advancedcronjob 10: without any history, each time has one run, for more than a hundred times.
func TestRunsWithoutHistory(t *testing.T) {
	w := newWorld(t, newCron(history(0, 0)))
	for range 120 {
		w.pass(time.Minute)
		w.settle()
		w.end(batchv1.JobComplete)
		w.settle()
		assert.Empty(t, w.jobs())
	}
	assert.Len(t, w.created, 120)
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(w.created))), 120)
	assert.True(t, controllertest.Now.Add(2*time.Hour).Equal(w.cron().Status.LastScheduleTime.Time))
}

// Cases advancedcronjob 11, 18: a paused cron job starts nothing, and one run at once when it is resumed.
func TestPausedCronJobStartsNothing(t *testing.T) {
	w := newWorld(t, newCron())
	w.pass(time.Minute)
	w.settle()
	w.edit(paused(true))
	w.pass(2*time.Minute + 30*time.Second)
	w.end(batchv1.JobComplete)
	w.settle()
	assert.Len(t, w.created, 1)
	assert.Empty(t, w.cron().Status.Active, "the status follows the children")
	assert.True(t, controllertest.Now.Add(time.Minute).Equal(w.cron().Status.LastScheduleTime.Time))
	w.edit(paused(false))
	w.settle()
	assert.Equal(t, nameAt(controllertest.Now.Add(3*time.Minute)), w.created[1])
	w.pass(30 * time.Second)
	w.settle()
	assert.Len(t, w.created, 3)
}

// Case advancedcronjob 13: a controller that restarts right after a creation starts no second run.
func TestRestartStartsNoSecondRun(t *testing.T) {
	w := newWorld(t, newCron())
	w.settle()
	w.Clock.SetTime(controllertest.Now.Add(time.Minute))
	w.Observe()
	_, err := w.Pass("ns", "cron")
	require.NoError(t, err)
	require.Len(t, w.jobs(), 1)
	require.NotNil(t, w.cron().Status.LastScheduleTime, "with the creation")
	w.guard.Forget("cron")
	_, err = w.Pass("ns", "cron") // The caches show neither the Job nor the status.
	require.NoError(t, err)
	assert.Len(t, w.jobs(), 1)
	w.settle()
	assert.Len(t, w.jobs(), 1)
}

// The status cannot be written, and the Job of the run has ended and was deleted before the next attempt.
func TestRunWhoseStatusIsNotWrittenStartsOnce(t *testing.T) {
	w := newWorld(t, newCron())
	w.settle()
	away := true
	w.Kruise.PrependReactor("update", "advancedcronjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away, nil, apierrors.NewServiceUnavailable("away")
	})
	w.Clock.SetTime(controllertest.Now.Add(time.Minute))
	for range 3 {
		w.Observe()
		_, err := w.Pass("ns", "cron")
		require.Error(t, err)
		for _, job := range w.jobs() {
			require.NoError(t, w.Kube.BatchV1().Jobs("ns").Delete(t.Context(), job.Name, metav1.DeleteOptions{}))
		}
	}
	away = false
	w.settle()
	assert.Equal(t, at(1), w.created)
	assert.Equal(t, controllertest.Now.Add(time.Minute).Unix(), w.cron().Status.LastScheduleTime.Unix())
}

// Case advancedcronjob 14: a run that is later than its deadline is skipped.
func TestLateRunIsSkipped(t *testing.T) {
	for name, test := range map[string]struct {
		limit  int64
		late   time.Duration
		starts bool
	}{
		"on time":         {0, 0, true},
		"same second":     {0, 900 * time.Millisecond, true},
		"a second late":   {0, time.Second, false},
		"within its time": {30, 30 * time.Second, true},
		"over its time":   {30, 31 * time.Second, false},
		"any time":        {math.MaxInt64, 31 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newCron(within(test.limit)))
			w.settle()
			w.Clock.SetTime(controllertest.Now.Add(10*time.Minute + test.late))
			w.settle()
			if !test.starts {
				assert.Empty(t, w.created)
				assert.NotEmpty(t, w.eventsLike("Warning MissSchedule"))
				return
			}
			assert.Equal(t, []string{nameAt(controllertest.Now.Add(10 * time.Minute))}, w.created)
		})
	}
}

// After a long time, the last missed run starts, and a warning says that there were many.
func TestManyMissedRuns(t *testing.T) {
	w := newWorld(t, newCron())
	w.settle()
	w.Clock.SetTime(controllertest.Now.Add(3 * time.Hour))
	w.settle()
	assert.Equal(t, []string{nameAt(controllertest.Now.Add(3 * time.Hour))}, w.created)
	assert.Len(t, w.eventsLike("Warning TooManyMissedTimes"), 1)
	w.pass(time.Minute)
	w.settle()
	assert.Len(t, w.created, 2)
}

// A clock that jumps in both directions starts no run twice, whatever happens to the children.
func TestJumpingClockStartsNoRunTwice(t *testing.T) {
	total := 0
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, newCron(history(0, 0)))
		for range 60 {
			switch random.IntN(5) {
			case 0:
				w.Clock.SetTime(w.Clock.Now().Add(time.Duration(random.IntN(600)-300) * time.Second))
			case 1:
				w.guard.Forget("cron") // The controller restarts.
			case 2:
				w.end(batchv1.JobComplete)
			default:
				w.Clock.SetTime(w.Clock.Now().Add(20 * time.Second))
			}
			w.settle()
		}
		total += len(w.created)
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(w.created))), len(w.created), "seed %d", seed)
	}
	assert.Greater(t, total, 500)
}

func TestRefusedRunIsRetried(t *testing.T) {
	w := newWorld(t, newCron())
	w.settle()
	refuse := true
	w.Kube.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refuse, nil, apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "", errors.New("exceeded quota"))
	})
	w.Clock.SetTime(controllertest.Now.Add(time.Minute))
	w.Observe()
	_, err := w.Pass("ns", "cron")
	require.Error(t, err)
	assert.Nil(t, w.cron().Status.LastScheduleTime)
	assert.NotEmpty(t, w.eventsLike("Warning FailedCreate Error creating job: "))
	refuse = false
	w.settle()
	assert.Len(t, w.jobs(), 1)
}

// A cron job of the same name does not count the children of a deleted one.
func TestChildrenOfAnotherCronJobDoNotCount(t *testing.T) {
	w := newWorld(t, newCron(policy(v1beta1.ForbidConcurrent)))
	w.pass(time.Minute)
	w.settle()
	require.NoError(t, w.Kruise.Tracker().Delete(advancedcronjobs, "ns", "cron"))
	again := newCron(policy(v1beta1.ForbidConcurrent))
	again.UID, again.CreationTimestamp = "again", metav1.NewTime(w.Clock.Now())
	w.Add(again)
	w.pass(time.Minute)
	w.settle()
	assert.Len(t, w.created, 2)
	assert.Len(t, w.cron().Status.Active, 1)
}

func TestEveryCountsFromTheLastRun(t *testing.T) {
	w := newWorld(t, newCron(func(s *v1beta1.AdvancedCronJobSpec) { s.Schedule, s.TimeZone = "@every 45s", nil }))
	w.pass(2*time.Minute + time.Second)
	w.settle()
	assert.Equal(t, []string{nameAt(controllertest.Now.Add(45 * time.Second)), nameAt(controllertest.Now.Add(90 * time.Second))}, w.created)
	assert.Equal(t, 14*time.Second, w.recheck)
}

func TestUnreadableScheduleIsReported(t *testing.T) {
	w := newWorld(t, newCron(func(s *v1beta1.AdvancedCronJobSpec) { s.Schedule = "TZ=" }))
	w.settle()
	assert.NotEmpty(t, w.eventsLike("Warning UnparseableSchedule"))
	assert.Zero(t, w.recheck)
}
