package ephemeraljob

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/passes"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

// Name is the controller's name in logs, events and metrics.
const Name = "ephemeraljob-controller"

// defaultTTL is how long a finished job stays if it has no ttlSecondsAfterFinished, in seconds. Half an hour leaves users time to
// read the result.
const defaultTTL int32 = 1800

// mostRefused limits the memory for refused Pods.
const mostRefused = 10_000

// Reconciler reconciles EphemeralJobs.
type Reconciler struct {
	// kube patches Pods, and kruise writes jobs.
	kube   kubernetes.Interface
	kruise versioned.Interface
	// selected lists Pods by the labels that the job selects, through an index.
	selected controller.SelectedPods
	// guard gets the patches of Pods, so that no pass counts a Pod as untouched that already has the containers.
	guard    engine.Guard
	recorder record.EventRecorder
	clock    clock.PassiveClock
	// pace lets one pass cover many changes of Pods.
	pace *engine.Pace
	// refused has the Pods whose patch the server has refused for good. It is only a cache: after a restart, they are tried first again.
	refused *lru.Cache
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	_, c := build(deps)
	return c.Build()
}

// build makes the reconciler and its skeleton, so that tests can use the reconciler without a queue.
func build(deps controller.Deps) (*Reconciler, *controller.Of[*v1alpha1.EphemeralJob]) {
	pods, jobs := deps.KubeInformers.Core().V1().Pods(), deps.KruiseInformers.Apps().V1alpha1().EphemeralJobs()
	r := &Reconciler{kube: deps.Kube, kruise: deps.Kruise, recorder: deps.Recorder(Name), clock: deps.Clock, pace: engine.NewPace(deps.Clock),
		refused: lru.New(mostRefused)}
	c := controller.For(deps, Name, jobs, r.Reconcile)
	c.Guards(engine.PodResource, pods)
	r.guard, r.selected = c.Guard(), c.PodsByLabels(pods)
	c.Forget(func(job *v1alpha1.EphemeralJob) { r.pace.Forget(job.UID) })
	// Pods are not owned by jobs. The index of selectors finds the jobs of a Pod without a scan.
	c.Watch(pods, c.Selecting(jobs, unfinished), matters)
	return r, c
}

// unfinished returns the selector of a job that can still change. It returns nil for a finished job, so events of Pods no longer find
// it.
func unfinished(job *v1alpha1.EphemeralJob) *metav1.LabelSelector {
	if job.Status.CompletionTime != nil {
		return nil
	}
	return job.Spec.Selector
}

// matters reports whether a change of a Pod affects jobs. Other changes, such as the readiness of the Pod's own containers, do not
// change what observe counts.
func matters(before, after metav1.Object) bool {
	b, okBefore := before.(*corev1.Pod)
	a, okAfter := after.(*corev1.Pod)
	return okBefore && okAfter && (b.UID != a.UID || podstate.Active(b) != podstate.Active(a) ||
		!apiequality.Semantic.DeepEqual(b.Labels, a.Labels) ||
		len(b.Spec.EphemeralContainers) != len(a.Spec.EphemeralContainers) ||
		!apiequality.Semantic.DeepEqual(b.Status.EphemeralContainerStatuses, a.Status.EphemeralContainerStatuses))
}

// Reconcile adds the containers of a job to more Pods and updates its status. It deletes a finished job after its TTL.
func (r *Reconciler) Reconcile(ctx context.Context, job *v1alpha1.EphemeralJob) (reconcile.Result, error) {
	switch {
	case job.DeletionTimestamp != nil:
		return reconcile.Result{}, r.release(ctx, job)
	case job.Status.CompletionTime != nil:
		// A job without the field keeps it empty, so the default is set here.
		ttl := defaultTTL
		if job.Spec.TTLSecondsAfterFinished != nil {
			ttl = *job.Spec.TTLSecondsAfterFinished
		}
		return controller.DeleteExpired(ctx, r.kruise.AppsV1alpha1().EphemeralJobs(job.Namespace), job,
			job.Status.CompletionTime, &ttl, r.clock.Now())
	}
	// The Pods that may run the containers at once change about as often as that.
	pods := min(int(job.Status.Match), int(ptr.Deref(job.Spec.Parallelism, 1)))
	if wait := r.pace.PassIn(job.UID, pods); wait > 0 {
		return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
	}
	defer r.pace.Passed(job.UID, pods)
	return r.sync(ctx, job)
}

// release removes the finalizer that jobs of other releases have, because nothing can be cleaned up. Containers that were added stay
// in their Pods.
func (r *Reconciler) release(ctx context.Context, job *v1alpha1.EphemeralJob) error {
	if !slices.Contains(job.Finalizers, pub.EphemeralContainersCleanupFinalizer) {
		return nil
	}
	freed := job.DeepCopy()
	freed.Finalizers = slices.DeleteFunc(freed.Finalizers, func(name string) bool { return name == pub.EphemeralContainersCleanupFinalizer })
	_, err := r.kruise.AppsV1alpha1().EphemeralJobs(job.Namespace).Update(ctx, freed, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove finalizer: %w", err)
	}
	return nil
}

// sync reports what the Pods show, and then starts more Pods. The status comes first, so startTime and the result are stored before
// the Pods change. Pods are then chosen by the stored spec, which may be newer than the cached one.
func (r *Reconciler) sync(ctx context.Context, job *v1alpha1.EphemeralJob) (reconcile.Result, error) {
	pods, err := r.selected(job.Namespace, selectorindex.Parse(job.Spec.Selector))
	if err != nil {
		return reconcile.Result{}, err
	}
	// The same observation is used for the status and for the choice of Pods, so both agree.
	seen := observe(job, pods)
	stored, err := controller.UpdateStatus(ctx, r.kruise.AppsV1alpha1().EphemeralJobs(job.Namespace), job,
		func(fresh *v1alpha1.EphemeralJob) error {
			fresh.Status = status(fresh, seen, r.clock.Now())
			return nil
		})
	// A nil object means that the job was deleted.
	if err != nil || stored == nil || stored.Status.CompletionTime != nil {
		return reconcile.Result{}, err
	}
	r.putRefusedLast(stored, seen.untouched)
	left, err := r.inject(ctx, stored, next(&stored.Spec, seen))
	if left {
		return reconcile.Result{RequeueAfter: passes.Continue}, err
	}
	return reconcile.Result{RequeueAfter: deadlineIn(stored, r.clock.Now())}, err
}

// deadlineIn returns the time until the deadline of a started job, or zero if the job has no deadline. A job whose
// deadline has passed without effect is paused or invalid, and waits for a change of its spec.
func deadlineIn(job *v1alpha1.EphemeralJob, now time.Time) time.Duration {
	if left, limited := timeLeft(job, now); limited && left > 0 {
		return left
	}
	return 0
}
