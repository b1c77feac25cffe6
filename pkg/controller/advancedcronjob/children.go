package advancedcronjob

import (
	"context"
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
)

// child is the job of a run, in the form that all three kinds share. It is read from the cache, or from the answer of a creation.
type child struct {
	kind   schema.GroupVersionKind
	object metav1.Object
	// started is nil until the controller of the child's kind has started it.
	started *metav1.Time
	// finished is true if it ended, and failed if it did not succeed.
	finished, failed bool
}

// outcome returns how a finished child ended.
func (c *child) outcome() string {
	if c.failed {
		return "Failed"
	}
	return "Complete"
}

// reference returns the reference for the list of active children. Its resourceVersion is that of the first report, see statusOf.
func (c *child) reference() corev1.ObjectReference {
	version, kind := c.kind.ToAPIVersionAndKind()
	return corev1.ObjectReference{
		APIVersion: version, Kind: kind, Namespace: c.object.GetNamespace(), Name: c.object.GetName(), UID: c.object.GetUID(),
		ResourceVersion: c.object.GetResourceVersion(),
	}
}

// scheduled returns the time of the child's run, or zero. The annotation is missing in jobs that this controller did not create.
func (c *child) scheduled() time.Time {
	t, err := time.Parse(time.RFC3339, c.object.GetAnnotations()[pub.ScheduledAtKey])
	if err != nil {
		return time.Time{}
	}
	// A schedule without a time zone is computed in the zone of the time that it begins at. The API returns times in this zone, too.
	return t.Local()
}

// children are the jobs of one kind. They hide the type of the kind, so the rest of the package has no code for each kind.
type children struct {
	template v1beta1.TemplateKind
	resource schema.GroupVersionResource
	// list returns the cached children of a cron job.
	list func(owner metav1.Object) ([]*child, error)
	// create creates the job of a run with the metadata.
	create func(ctx context.Context, cron *v1beta1.AdvancedCronJob, meta metav1.ObjectMeta) (*child, error)
	// get reads a child from the server, for a creation whose answer was lost.
	get    func(ctx context.Context, namespace, name string) (*child, error)
	delete func(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error
}

// writer is the part of a typed client that writes the jobs of a namespace.
type writer[T metav1.Object] interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// childrenOf returns the children of a kind. wrap reads how far a job is, and build makes the job of a run. It makes the guard track
// the kind, so a pass never misses a child that the last pass created.
func childrenOf[T controller.Object](
	c *controller.Of[*v1beta1.AdvancedCronJob], informer controller.Informer, resource schema.GroupVersionResource,
	template v1beta1.TemplateKind, jobs func(namespace string) writer[T], wrap func(T) *child,
	build func(cron *v1beta1.AdvancedCronJob, meta metav1.ObjectMeta) T,
) children {
	indexer := c.Owns(resource, informer)
	// wrapped adds what wrap cannot know: the kind, which typed objects of clients do not carry, and the object itself.
	wrapped := func(job T, err error) (*child, error) {
		if err != nil {
			return nil, err
		}
		made := wrap(job)
		made.kind, made.object = resource.GroupVersion().WithKind(string(template)), job
		return made, nil
	}
	return children{
		template: template, resource: resource,
		list: func(owner metav1.Object) (all []*child, err error) {
			// Children are found by the UID of the cron job. A cron job that was created again under its name has none of the old
			// ones.
			found, err := controller.ByOwner[T](indexer, owner)
			for _, job := range found {
				made, _ := wrapped(job, nil)
				all = append(all, made)
			}
			return all, err
		},
		create: func(ctx context.Context, cron *v1beta1.AdvancedCronJob, meta metav1.ObjectMeta) (*child, error) {
			return wrapped(jobs(meta.Namespace).Create(ctx, build(cron, meta), metav1.CreateOptions{}))
		},
		get: func(ctx context.Context, namespace, name string) (*child, error) {
			return wrapped(jobs(namespace).Get(ctx, name, metav1.GetOptions{}))
		},
		delete: func(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
			return jobs(namespace).Delete(ctx, name, options)
		},
	}
}

// jobs returns the children that are Jobs of Kubernetes. A Job is finished when it has the condition Complete or Failed with status
// True.
func jobs(deps controller.Deps, c *controller.Of[*v1beta1.AdvancedCronJob]) children {
	return childrenOf(c, deps.KubeInformers.Batch().V1().Jobs(), batchv1.SchemeGroupVersion.WithResource("jobs"), v1beta1.TemplateKindJob,
		func(namespace string) writer[*batchv1.Job] { return deps.Kube.BatchV1().Jobs(namespace) },
		func(job *batchv1.Job) *child {
			made := &child{started: job.Status.StartTime}
			for i := range job.Status.Conditions {
				condition := &job.Status.Conditions[i]
				// Other conditions, such as Suspended or FailureTarget, are not the end.
				ended := condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed
				if ended && condition.Status == corev1.ConditionTrue {
					made.finished, made.failed = true, condition.Type == batchv1.JobFailed
				}
			}
			return made
		},
		func(cron *v1beta1.AdvancedCronJob, meta metav1.ObjectMeta) *batchv1.Job {
			template := cron.Spec.Template.JobTemplate
			return &batchv1.Job{ObjectMeta: withTemplate(meta, &template.ObjectMeta), Spec: *template.Spec.DeepCopy()}
		})
}

// broadcastJobs returns the children that are BroadcastJobs. They are finished by the same conditions as Jobs.
func broadcastJobs(deps controller.Deps, c *controller.Of[*v1beta1.AdvancedCronJob]) children {
	return childrenOf(c, deps.KruiseInformers.Apps().V1beta1().BroadcastJobs(), v1beta1.SchemeGroupVersion.WithResource("broadcastjobs"),
		v1beta1.TemplateKindBroadcastJob,
		func(namespace string) writer[*v1beta1.BroadcastJob] {
			return deps.Kruise.AppsV1beta1().BroadcastJobs(namespace)
		},
		func(job *v1beta1.BroadcastJob) *child {
			made := &child{started: job.Status.StartTime}
			for i := range job.Status.Conditions {
				condition := &job.Status.Conditions[i]
				ended := condition.Type == v1beta1.JobComplete || condition.Type == v1beta1.JobFailed
				if ended && condition.Status == corev1.ConditionTrue {
					made.finished, made.failed = true, condition.Type == v1beta1.JobFailed
				}
			}
			return made
		},
		func(cron *v1beta1.AdvancedCronJob, meta metav1.ObjectMeta) *v1beta1.BroadcastJob {
			template := cron.Spec.Template.BroadcastJobTemplate
			return &v1beta1.BroadcastJob{ObjectMeta: withTemplate(meta, &template.ObjectMeta), Spec: *template.Spec.DeepCopy()}
		})
}

// imageListPullJobs returns the children that are ImageListPullJobs. One image that failed on any node makes the run a failed one.
func imageListPullJobs(deps controller.Deps, c *controller.Of[*v1beta1.AdvancedCronJob]) children {
	return childrenOf(c, deps.KruiseInformers.Apps().V1beta1().ImageListPullJobs(),
		v1beta1.SchemeGroupVersion.WithResource("imagelistpulljobs"), v1beta1.TemplateKindImageListPullJob,
		func(namespace string) writer[*v1beta1.ImageListPullJob] {
			return deps.Kruise.AppsV1beta1().ImageListPullJobs(namespace)
		},
		func(job *v1beta1.ImageListPullJob) *child {
			return &child{
				started: job.Status.StartTime, finished: job.Status.CompletionTime != nil, failed: len(job.Status.FailedImageStatuses) > 0,
			}
		},
		func(cron *v1beta1.AdvancedCronJob, meta metav1.ObjectMeta) *v1beta1.ImageListPullJob {
			template := cron.Spec.Template.ImageListPullJobTemplate
			return &v1beta1.ImageListPullJob{ObjectMeta: withTemplate(meta, &template.ObjectMeta), Spec: *template.Spec.DeepCopy()}
		})
}

// withTemplate adds the labels and annotations of a template to the metadata of a job. The annotations of the cron job win, because
// scheduled reads one of them. The maps are copies: the template belongs to the cache.
func withTemplate(meta metav1.ObjectMeta, template *metav1.ObjectMeta) metav1.ObjectMeta {
	meta.Labels = maps.Clone(template.Labels)
	annotations := maps.Clone(template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, meta.Annotations)
	meta.Annotations = annotations
	return meta
}

// templateOf returns the kind of the jobs that the cron job creates. It returns "" for a template without a kind, which validation
// refuses.
func templateOf(cron *v1beta1.AdvancedCronJob) v1beta1.TemplateKind {
	switch template := &cron.Spec.Template; {
	case template.JobTemplate != nil:
		return v1beta1.TemplateKindJob
	case template.BroadcastJobTemplate != nil:
		return v1beta1.TemplateKindBroadcastJob
	case template.ImageListPullJobTemplate != nil:
		return v1beta1.TemplateKindImageListPullJob
	default:
		return ""
	}
}

// list returns all children of the cron job. Children of every kind are listed, whatever the template is now.
func (r *Reconciler) list(cron *v1beta1.AdvancedCronJob) (all []*child, err error) {
	for i := range r.children {
		found, err := r.children[i].list(cron)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// of returns the children of a kind, or nil for an unknown kind.
func (r *Reconciler) of(template v1beta1.TemplateKind) *children {
	for i := range r.children {
		if r.children[i].template == template {
			return &r.children[i]
		}
	}
	return nil
}

// create creates the child of a run. A child that an earlier attempt created counts as created. The name contains the time of the
// run, so a creation that is repeated after a crash, or with a stale cache, finds the first child instead of making a second one.
func (r *Reconciler) create(ctx context.Context, cron *v1beta1.AdvancedCronJob, due time.Time) (*child, error) {
	kinds := r.of(templateOf(cron))
	if kinds == nil {
		return nil, fmt.Errorf("%s has no template", cron.Name)
	}
	meta := metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", cron.Name, due.Unix()), Namespace: cron.Namespace,
		Annotations:     map[string]string{pub.ScheduledAtKey: due.UTC().Format(time.RFC3339)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, kind)},
	}
	created, err := kinds.create(ctx, cron, meta)
	if apierrors.IsAlreadyExists(err) {
		// The cache may not show the child yet, so it is read from the server.
		found, getErr := kinds.get(ctx, meta.Namespace, meta.Name)
		// A job of the same name with another owner is no child. The error of the creation is then reported.
		if getErr == nil && metav1.IsControlledBy(found.object, cron) {
			return found, nil
		}
	}
	if err != nil {
		// While the namespace is being deleted, every creation fails, and no user needs an event about it.
		if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			r.recorder.Eventf(cron, corev1.EventTypeWarning, "FailedCreate", "Error creating job: %v", err)
		}
		return nil, fmt.Errorf("create %s %s: %w", kinds.template, meta.Name, err)
	}
	// The next pass waits until the cache shows the child.
	r.guard.Wrote(cron.UID, kinds.resource.GroupResource(), created.object.GetResourceVersion())
	r.recorder.Eventf(cron, corev1.EventTypeNormal, "SuccessfulCreate", "Created job %s", meta.Name)
	return created, nil
}

// delete deletes a child. Its Pods go with it. Propagation is set, because the default of a Job's API would leave its Pods. With the
// UID as precondition, a child of the same name that was created meanwhile stays.
func (r *Reconciler) delete(ctx context.Context, cron *v1beta1.AdvancedCronJob, c *child) error {
	kinds := r.of(v1beta1.TemplateKind(c.kind.Kind))
	uid, background := c.object.GetUID(), metav1.DeletePropagationBackground
	err := kinds.delete(ctx, c.object.GetNamespace(), c.object.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background,
	})
	// The child is already deleted, or another one has its name.
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		r.recorder.Eventf(cron, corev1.EventTypeWarning, "FailedDelete", "Deleted job: %v", err)
		return fmt.Errorf("delete %s %s: %w", c.kind.Kind, c.object.GetName(), err)
	}
	r.guard.Deleted(cron.UID, kinds.resource.GroupResource(), c.object)
	r.recorder.Eventf(cron, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted job %s", c.object.GetName())
	return nil
}
