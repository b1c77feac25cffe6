package uniteddeployment

import (
	"context"
	"errors"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Name is the controller's name in logs, events and metrics.
const Name = "uniteddeployment-controller"

// kind is what owner references name, and resource is what the guard waits for.
var (
	kind     = v1beta1.SchemeGroupVersion.WithKind("UnitedDeployment")
	resource = v1beta1.SchemeGroupVersion.WithResource("uniteddeployments")
)

// Reconciler reconciles UnitedDeployments. All fields are set before the controller starts, and only read afterwards.
type Reconciler struct {
	// adapters are the kinds of workloads. The template selects one of them. The others are needed to delete workloads of a former
	// kind.
	adapters []*adapter
	// server writes Pods and revisions. The adapters write workloads.
	server engine.Server
	// revisions lists the revisions that a UnitedDeployment controls.
	revisions func(owner metav1.Object) ([]*appsv1.ControllerRevision, error)
	// orphanRevisions lists revisions without a controller, and fresh reads a UnitedDeployment from the API server.
	orphanRevisions func(namespace string, selector labels.Selector) ([]*appsv1.ControllerRevision, error)
	fresh           func(ctx context.Context, namespace, name string) (*v1beta1.UnitedDeployment, error)
	// statuses writes the status at the pace of large workloads. guard stops a pass whose caches do not show the writes of the last
	// one. Here it also covers the status, because the conditions of the subsets decide the next pass.
	statuses *controller.StatusWriter[*v1beta1.UnitedDeployment, v1beta1.UnitedDeploymentStatus]
	guard    engine.Guard
	recorder record.EventRecorder
	clock    clock.PassiveClock
}

// New returns the controller. It adds indexes to informers, so it must be called before they start. It returns an error if an informer
// rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	return build(deps).Build()
}

// build makes the Reconciler and what it watches: UnitedDeployments, their workloads and revisions, and the Pods of the workloads.
func build(deps controller.Deps) *controller.Of[*v1beta1.UnitedDeployment] {
	united, pods := deps.KruiseInformers.Apps().V1beta1().UnitedDeployments(), deps.KubeInformers.Core().V1().Pods()
	r := &Reconciler{server: engine.NewServer(deps.Kube), clock: deps.Clock}
	c := controller.For(deps, Name, united, r.Reconcile)
	r.guard, r.recorder = c.Guard(), c.Recorder()
	// It finds UnitedDeployments by the labels of a Pod or of a workload, through an index.
	selecting := c.Selecting(united, func(u *v1beta1.UnitedDeployment) *metav1.LabelSelector { return u.Spec.Selector })
	r.adapters = adapters(deps, c, selecting)
	// The workloads and the revisions are guarded by Owns.
	c.Guards(resource, united)
	c.Guards(engine.PodResource, pods)
	watchPods(c, pods, selecting)
	revisions := c.Owns(engine.RevisionResource, deps.KubeInformers.Apps().V1().ControllerRevisions())
	r.orphanRevisions = c.OrphanRevisions(deps.KubeInformers.Apps().V1().ControllerRevisions())
	r.fresh = func(ctx context.Context, namespace, name string) (*v1beta1.UnitedDeployment, error) {
		return deps.Kruise.AppsV1beta1().UnitedDeployments(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	r.revisions = func(owner metav1.Object) ([]*appsv1.ControllerRevision, error) {
		return controller.ByOwner[*appsv1.ControllerRevision](revisions, owner)
	}
	r.statuses = &controller.StatusWriter[*v1beta1.UnitedDeployment, v1beta1.UnitedDeploymentStatus]{
		Resource: resource.GroupResource(), Guard: r.guard, Pace: engine.NewPace(deps.Clock),
		Client: func(namespace string) controller.StatusClient[*v1beta1.UnitedDeployment] {
			return deps.Kruise.AppsV1beta1().UnitedDeployments(namespace)
		},
		Of: func(united *v1beta1.UnitedDeployment) *v1beta1.UnitedDeploymentStatus { return &united.Status },
	}
	// Nothing else is kept in memory for a UnitedDeployment.
	c.Forget(func(united *v1beta1.UnitedDeployment) {
		r.statuses.Pace.Forget(united.UID)
		r.statuses.Rewordings.Forget(united.UID)
	})
	return c
}

// watchPods reconciles the UnitedDeployments that select a Pod of a subset, when this changes what they count or decide. The owner of
// such a Pod is a workload, so the UnitedDeployment is found by its selector. The label of the subset, which every such Pod has,
// excludes other Pods first, because they are far more.
func watchPods(c *controller.Of[*v1beta1.UnitedDeployment], pods controller.Informer, selecting reconcile.Mapper) {
	c.Watch(pods, func(pod metav1.Object) []types.NamespacedName {
		if _, found := pod.GetLabels()[pub.SubsetNameKey]; !found {
			return nil
		}
		return selecting(pod)
	}, matters)
}

// matters reports whether a change of a Pod changes what a UnitedDeployment counts or decides. Objects that are no Pods always do.
func matters(before, after metav1.Object) bool {
	a, okA := before.(*corev1.Pod)
	b, okB := after.(*corev1.Pod)
	if !okA || !okB {
		return true
	}
	// Labels have the revision and the reservation. The node and the condition PodScheduled decide whether the Pod waits for a node.
	return !maps.Equal(a.Labels, b.Labels) || a.Status.Phase != b.Status.Phase || a.Spec.NodeName != b.Spec.NodeName ||
		podstate.Ready(a) != podstate.Ready(b) || (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) ||
		scheduling(a) != scheduling(b)
}

// scheduling returns the status and the reason of the condition PodScheduled as one value to compare, or "".
func scheduling(pod *corev1.Pod) string {
	if c := podstate.Condition(pod, corev1.PodScheduled); c != nil {
		return string(c.Status) + c.Reason
	}
	return ""
}

// Reconcile keeps the workloads of a UnitedDeployment, and reports on them, unless its pace asks to wait. A change by the user never
// waits. If the UnitedDeployment is being deleted, the garbage collector deletes the workloads, so nothing is done here.
func (r *Reconciler) Reconcile(ctx context.Context, united *v1beta1.UnitedDeployment) (reconcile.Result, error) {
	if united.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	if united.Generation == united.Status.ObservedGeneration {
		if wait := r.statuses.Pace.PassIn(united.UID, podsOf(&united.Status)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
		}
	}
	defer r.statuses.Pace.Passed(united.UID, podsOf(&united.Status))
	return r.pass(ctx, united)
}

// pass is one reconcile: register the revision, observe, judge, allocate and execute, and report. The revision comes first, because
// judge and the workloads use its label. An error before execute writes no workload. After that, each part that can run
// does run, and the status reports what failed.
func (r *Reconciler) pass(ctx context.Context, united *v1beta1.UnitedDeployment) (reconcile.Result, error) {
	p := &pass{
		united: united, now: r.clock.Now(), total: totalOf(united), using: r.using(&united.Spec.Template),
	}
	p.reword = func(since time.Time) bool { return r.statuses.Rewordings.Due(united.UID, since, p.now) }
	if p.using == nil {
		return reconcile.Result{}, nil // Validation refuses a UnitedDeployment without a template.
	}
	var err error
	if p.revisions, p.collisions, err = r.register(ctx, united); err != nil {
		return reconcile.Result{}, r.stop(united, eventRevision, err)
	}
	p.update = p.revisions[len(p.revisions)-1]
	p.label = labelOf(p.update.Name)
	if err := r.observe(ctx, p); err != nil {
		return reconcile.Result{}, r.stop(united, eventFind, err)
	}
	p.judge()
	if err := r.storeUnschedulable(ctx, p); err != nil {
		return reconcile.Result{}, err
	}
	failed := r.execute(ctx, p)
	status := p.status(failed)
	// The pace may delay the status. Then a pass is due when the delay is over.
	wait, err := r.statuses.Report(ctx, p.united, status, podsOf(status), p.urgent(status))
	p.again(wait)
	// Only a pass without failures deletes old revisions.
	if err = errors.Join(failed.provision, failed.update, err); err == nil {
		err = r.trim(ctx, p, status.CurrentRevision)
	}
	return reconcile.Result{RequeueAfter: p.wait}, err
}

// stop reports an error that ends a pass as an event and returns it. It returns nil if the UnitedDeployment was deleted: then there is
// nothing to retry.
func (r *Reconciler) stop(united *v1beta1.UnitedDeployment, reason string, err error) error {
	if errors.Is(err, errDeleted) {
		return nil
	}
	r.recorder.Eventf(united, corev1.EventTypeWarning, reason, "%v", err)
	return err
}

// execute allocates the replicas and writes the workloads. Replicas that cannot be allocated are no error of the pass: only a change of
// the spec helps, and this starts another pass. In that case no workload changes, and the status says why.
func (r *Reconciler) execute(ctx context.Context, p *pass) failures {
	if err := p.allocate(); err != nil {
		r.recorder.Eventf(p.united, corev1.EventTypeWarning, eventReplicas, "Specified subset replicas is ineffective: %v", err)
		p.keep()
		return failures{allocation: err}
	}
	p.remark()
	return failures{
		provision: errors.Join(r.label(ctx, p), r.provision(ctx, p)),
		update:    errors.Join(r.update(ctx, p), r.unblock(ctx, p)),
	}
}
