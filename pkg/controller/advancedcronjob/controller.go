package advancedcronjob

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/schedule"
)

// Name is the controller's name in logs, events and metrics.
const Name = "advancedcronjob-controller"

var (
	kind             = v1beta1.SchemeGroupVersion.WithKind("AdvancedCronJob")
	advancedcronjobs = v1beta1.SchemeGroupVersion.WithResource("advancedcronjobs")
)

// tooMany is how many runs may be missed without a warning. It is the limit of CronJobs in Kubernetes.
const tooMany = 100

// Reconciler reconciles AdvancedCronJobs.
type Reconciler struct {
	// children has an entry for each kind of job.
	children []children
	client   client.AdvancedCronJobsGetter
	// guard gets every write, so that no run starts twice from a stale cache.
	guard    engine.Guard
	recorder record.EventRecorder
	clock    clock.PassiveClock
	runs     lastRuns
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	return build(deps).Build()
}

// build returns the controller under construction, for tests.
func build(deps controller.Deps) *controller.Of[*v1beta1.AdvancedCronJob] {
	crons := deps.KruiseInformers.Apps().V1beta1().AdvancedCronJobs()
	r := &Reconciler{client: deps.Kruise.AppsV1beta1(), clock: deps.Clock, runs: lastRuns{at: map[types.UID]time.Time{}}}
	c := controller.For(deps, Name, crons, r.Reconcile)
	// The cron job itself is guarded too: a pass must read the time of the last run that the last pass wrote.
	c.Guards(advancedcronjobs, crons)
	r.guard, r.recorder = c.Guard(), c.Recorder()
	c.Forget(func(cron *v1beta1.AdvancedCronJob) { r.runs.forget(cron.UID) })
	r.children = []children{jobs(deps, c), broadcastJobs(deps, c), imageListPullJobs(deps, c)}
	return c
}

// Reconcile follows the children of a cron job, and starts its run if one is due. The order matters. A run is created first, then its
// time is stored, and only then old children are deleted. After a crash, the time of the last run is thus known from the status or
// from a child.
func (r *Reconciler) Reconcile(ctx context.Context, cron *v1beta1.AdvancedCronJob) (reconcile.Result, error) {
	if cron.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	all, err := r.list(cron)
	if err != nil {
		return reconcile.Result{}, err
	}
	// One time is used for the whole pass, so all its decisions agree.
	now := r.clock.Now()
	// The status is computed even if no run is due, because children end at any time.
	status, finished := statusOf(cron, all)
	r.runs.restore(cron.UID, &status)
	next, started := r.runDue(ctx, cron, &status, all, now)
	// An error of the run does not keep the status from being written.
	if err := r.report(ctx, cron, &status); err != nil {
		return reconcile.Result{}, errors.Join(started, err)
	}
	// The stored list of active children no longer has these, so the event is sent once.
	for _, c := range finished {
		r.recorder.Eventf(cron, corev1.EventTypeNormal, "SawCompletedJob", "Saw completed job: %s, condition: %s",
			c.object.GetName(), c.outcome())
	}
	// The status knows the last run, so its child may go.
	trimmed := r.trim(ctx, cron, all)
	var result reconcile.Result
	if !next.IsZero() {
		// No event starts the pass of the next run. A time that is already over gets the shortest delay instead of zero, which would
		// mean none.
		result.RequeueAfter = max(time.Millisecond, next.Sub(r.clock.Now()))
	}
	return result, errors.Join(started, trimmed)
}

// runDue starts the last run that is due, and returns the time of the next one. It records the run in the status. Of several missed
// runs only the last one starts, as in Kubernetes. The zero time means that no other run is known.
func (r *Reconciler) runDue(
	ctx context.Context, cron *v1beta1.AdvancedCronJob, status *v1beta1.AdvancedCronJobStatus, all []*child, now time.Time,
) (next time.Time, err error) {
	// A pause keeps the time of the last run, so the last missed run starts when the pause ends.
	if cron.Spec.Paused != nil && *cron.Spec.Paused {
		return time.Time{}, nil
	}
	// Validation refuses such schedules, but this machine may not know the time zone.
	times, err := schedule.Parse(cron.Spec.Schedule, cron.Spec.TimeZone)
	if err != nil {
		// No retry can cure it.
		r.recorder.Eventf(cron, corev1.EventTypeWarning, "UnparseableSchedule", "unparseable schedule: %v", err)
		return time.Time{}, nil
	}
	// Runs count from the last one, or from the creation before the first one.
	base := cron.CreationTimestamp.Time
	if last := status.LastScheduleTime; last != nil {
		base = last.Time
	}
	// A clock that was set back gives a base in the future, so no run is due until the clock has passed it.
	due := times.Last(base, now)
	next = times.Following(base, now)
	if due.IsZero() {
		return next, nil
	}
	// The count stops one above the limit, because a cron job of each minute can have missed millions of runs.
	if missed := times.Missed(earliest(cron, base, now), now, tooMany+1); missed > tooMany {
		r.recorder.Eventf(cron, corev1.EventTypeWarning, "TooManyMissedTimes",
			"too many missed start times: only the last run starts; check that the controller runs and that the clocks are right")
	}
	// lastScheduleTime stays that of the last run that started.
	if late(cron, due, now) {
		// The event is sent once: a later pass finds the same run only if a child or the object changes meanwhile.
		r.recorder.Eventf(cron, corev1.EventTypeWarning, "MissSchedule", "Missed scheduled time to start a job: %s",
			due.UTC().Format(time.RFC1123Z))
		return next, nil
	}
	return next, r.start(ctx, cron, status, all, due)
}

// earliest returns the time after which missed runs count: those that are over their deadline were given up before. They do not count
// for the warning.
func earliest(cron *v1beta1.AdvancedCronJob, base, now time.Time) time.Time {
	if limit := cron.Spec.StartingDeadlineSeconds; limit != nil && seconds(now.Sub(base)) > *limit {
		return now.Add(-time.Duration(*limit) * time.Second)
	}
	return base
}

// late reports whether a run is later than the user allows, in whole seconds. Whole seconds are used because a reconcile always comes
// some milliseconds after the time of the run.
func late(cron *v1beta1.AdvancedCronJob, due, now time.Time) bool {
	limit := cron.Spec.StartingDeadlineSeconds
	return limit != nil && seconds(now.Truncate(time.Second).Sub(due)) > *limit
}

// seconds returns whole seconds. A deadline is compared as such, because the longest ones are longer than a Duration.
func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// start starts a run, as far as the runs that go on allow. A run that Forbid skips stays due: lastScheduleTime is not changed, so the
// last skipped run starts when the other one ends.
func (r *Reconciler) start(
	ctx context.Context, cron *v1beta1.AdvancedCronJob, status *v1beta1.AdvancedCronJobStatus, all []*child, due time.Time,
) error {
	if len(status.Active) > 0 && cron.Spec.ConcurrencyPolicy == v1beta1.ForbidConcurrent {
		r.recorder.Eventf(cron, corev1.EventTypeNormal, "JobAlreadyActive",
			"Not starting job because prior execution is running and concurrency policy is Forbid")
		return nil
	}
	if cron.Spec.ConcurrencyPolicy == v1beta1.ReplaceConcurrent {
		// The old runs are only being deleted when the new one is created. Their Pods can still run for their grace period.
		for _, c := range all {
			if c.finished || c.object.GetDeletionTimestamp() != nil {
				continue
			}
			// The new run must not start beside one that stays.
			if err := r.delete(ctx, cron, c); err != nil {
				return err
			}
		}
	}
	created, err := r.create(ctx, cron, due)
	if err != nil {
		return err
	}
	r.runs.remember(cron.UID, due)
	status.Active = append(status.Active, created.reference())
	// The same pass writes the status. If that fails, runs knows the time. After a crash, the annotation of the child tells it.
	status.LastScheduleTime = timeOf(due)
	return nil
}
