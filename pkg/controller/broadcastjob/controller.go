package broadcastjob

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/nodefit"
)

// Name is the controller's name in logs, events and metrics.
const Name = "broadcastjob-controller"

var (
	kind          = v1beta1.SchemeGroupVersion.WithKind("BroadcastJob")
	broadcastjobs = v1beta1.SchemeGroupVersion.WithResource("broadcastjobs")
)

// Options are the options of this controller.
type Options struct {
	// BindPods sets spec.nodeName of new Pods. Otherwise the scheduler binds them to the node that their affinity names.
	BindPods bool
}

// Reconciler reconciles BroadcastJobs.
type Reconciler struct {
	// engine executes all writes to Pods.
	engine  *engine.Engine
	options Options
	nodes   corelisters.NodeLister
	// nodesFor lists the nodes that a Pod may select, through an index. nodes finds a node that a Pod names.
	nodesFor func(*nodefit.Requirements) ([]*corev1.Node, error)
	client   client.BroadcastJobsGetter
	// guard gets the writes of this package: the pause and, through statuses, the status.
	guard    engine.Guard
	recorder record.EventRecorder
	clock    clock.PassiveClock
	statuses *statusWriter
}

// statusWriter writes the statuses of BroadcastJobs.
type statusWriter = controller.StatusWriter[*v1beta1.BroadcastJob, v1beta1.BroadcastJobStatus]

// newStatusWriter returns the writer of statuses. pace is shared by all jobs, and keeps its times by UID.
func newStatusWriter(jobs client.BroadcastJobsGetter, guard engine.Guard, pace *engine.Pace) *statusWriter {
	return &statusWriter{
		Resource: broadcastjobs.GroupResource(), Guard: guard, Pace: pace,
		Client: func(namespace string) controller.StatusClient[*v1beta1.BroadcastJob] {
			return jobs.BroadcastJobs(namespace)
		},
		Of: func(job *v1beta1.BroadcastJob) *v1beta1.BroadcastJobStatus { return &job.Status },
	}
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the reconciler and its skeleton, so that tests can use the reconciler without a queue.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.BroadcastJob]) {
	core, jobs := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1().BroadcastJobs()
	r := &Reconciler{
		options: options, nodes: core.Nodes().Lister(), client: deps.Kruise.AppsV1beta1(), clock: deps.Clock,
	}
	c := controller.For(deps, Name, jobs, r.Reconcile)
	c.Guards(broadcastjobs, jobs)
	r.guard, r.recorder = c.Guard(), c.Recorder()
	r.statuses = newStatusWriter(r.client, r.guard, engine.NewPace(deps.Clock))
	// There is no cache of revisions, because a job has one template for its whole life. There is no budget, because no Pod is
	// updated.
	r.engine = &engine.Engine{
		Server: engine.NewServer(deps.Kube), Guard: c.Guard(), Recorder: r.recorder, Clock: deps.Clock,
		Caches: engine.Caches{
			Pods: controller.OwnedIn[*corev1.Pod](c.Owns(engine.PodResource, core.Pods())), Pod: controller.NamedIn[*corev1.Pod](core.Pods()),
		},
	}
	r.nodesFor = c.OnNodes(jobs, core.Nodes(), requires, concerns)
	c.Forget(func(job *v1beta1.BroadcastJob) {
		r.engine.Forget(job.UID)
		r.statuses.Pace.Forget(job.UID)
	})
	return r, c
}

// requires returns what the Pods of the job require of a node.
func requires(job *v1beta1.BroadcastJob) *nodefit.Requirements {
	return nodefit.Require(&corev1.Pod{Spec: job.Spec.Template.Spec})
}

// fits reports whether a Pod may run on the node. Other Pods, and the conditions of the node, do not count. A DaemonSet does not
// check Unschedulable and Fits. A job does, because its Pods must start to end.
func fits(required *nodefit.Requirements, node *corev1.Node) bool {
	fit := required.Of(node)
	return fit.Selected && !fit.NoSchedule && !fit.NoExecute && !fit.Unschedulable && fit.Fits
}

// concerns reports whether the change of a node changes what the job does there. A job that ended ignores all nodes.
func concerns(job *v1beta1.BroadcastJob, before, after *corev1.Node) bool {
	if ended(job) {
		return false
	}
	required := requires(job)
	// A node that was created again under its name is another one.
	if before != nil && after != nil && before.UID != after.UID {
		return true
	}
	was, is := before != nil && fits(required, before), after != nil && fits(required, after)
	// A Pod can tolerate more than the template, so it may have run on a node that the template did not fit. See countPod.
	return was != is || before != nil && !is
}

// ended reports whether the job creates no Pods any more. This follows from the stored phase alone, so it is also true after a
// restart of the controller.
func ended(job *v1beta1.BroadcastJob) bool {
	return job.Status.Phase == v1beta1.BroadcastJobCompleted || job.Status.Phase == v1beta1.BroadcastJobFailed
}

// Reconcile runs a pass over the job. A job that ended is deleted after its TTL. A job that is being deleted is left to garbage
// collection.
func (r *Reconciler) Reconcile(ctx context.Context, job *v1beta1.BroadcastJob) (reconcile.Result, error) {
	if job.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	if !ended(job) {
		// The first pass and a change of the pause never wait.
		if wait := r.statuses.Pace.PassIn(job.UID, int(job.Status.Desired)); wait > 0 && job.Status.StartTime != nil && !r.resumed(job) {
			return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
		}
	}
	// The Pods are read for a job that ended, too: one can still run.
	view, err := r.observe(job)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !ended(job) {
		return r.pass(ctx, job, view)
	}
	// A creation whose answer was lost can arrive after the end of the job. The TTL counts only when no Pod runs any more.
	outcome := r.engine.Execute(ctx, view, deleteAll(view.Pods))
	if err := errors.Join(outcome.Scale, outcome.Update); err != nil || outcome.Recheck > 0 {
		// Not all Pods are deleted, for example because a budget refused it. The next pass continues.
		return reconcile.Result{RequeueAfter: outcome.Recheck}, err
	}
	return controller.DeleteExpired(ctx, r.client.BroadcastJobs(job.Namespace), job, job.Status.CompletionTime,
		job.Spec.CompletionPolicy.TTLSecondsAfterFinished, r.clock.Now())
}

// resumed reports whether the user paused or resumed the job since the last pass. The phase in the status is what the last pass
// decided.
func (*Reconciler) resumed(job *v1beta1.BroadcastJob) bool {
	return job.Spec.Paused != (job.Status.Phase == v1beta1.BroadcastJobPaused)
}

// observe reads the Pods of the job. They are found by their owner: a job keeps its Pods whatever their labels become. The revision
// exists in memory only. It is how the engine passes the template to new Pods.
func (r *Reconciler) observe(job *v1beta1.BroadcastJob) (*engine.View, error) {
	data, err := history.Data(&job.Spec.Template)
	if err != nil {
		return nil, err
	}
	return r.engine.Observe(&engine.Target{
		Object: job, Kind: kind, Selector: labels.Everything(), Policy: pub.ReCreatePodUpdatePolicy,
		Identity: engine.PlaceIdentity(job.Name),
		// These labels let users select the Pods of a job. The controller itself finds them by their owner.
		Stamp: func(pod *corev1.Pod, _ string) {
			metav1.SetMetaDataLabel(&pod.ObjectMeta, pub.BroadcastJobNameKey, job.Name)
			metav1.SetMetaDataLabel(&pod.ObjectMeta, pub.BroadcastJobControllerUIDKey, string(job.UID))
		},
		Describe:  describe,
		Revisions: engine.Revisions{Format: history.PodTemplates, Content: history.Content{Data: data}},
	})
}

// describe returns the events about Pods. One message differs from that of other workloads by a letter, and clients know it so.
func describe(result *engine.Result) (reason, message string) {
	reason, message = controller.DescribePod(result)
	if reason == "SuccessfulDelete" {
		message = strings.Replace(message, "Deleted pod", "Delete pod", 1)
	}
	return reason, message
}
