package imagepulljob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/delay"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
)

// copies manages the Secrets in the namespace that node agents may read. There is one copy for each Secret that a job names. It
// records the jobs that use it. Agents have no access to the namespaces of users.
type copies struct {
	kube kubernetes.Interface
	// indexer is the cache of the copies. Sources are read by name and never cached, because a cache would need permission to list
	// all Secrets.
	indexer   cache.Indexer
	jobs      listers.ImagePullJobLister
	namespace string
	guard     *consistency.Guard
	clock     clock.PassiveClock

	// lock guards checked and unused.
	lock sync.Mutex
	// checked holds the result of the last read of a job's sources, by the UID of the job.
	checked map[types.UID]check
	// unused holds since when a copy has no users, by its name.
	unused map[string]idle
}

// idle is a version of a copy without users, and when it was seen first. Another version means that a job used the copy meanwhile, so
// the time begins again.
type idle struct {
	resourceVersion string
	since           time.Time
}

// check is the result of one read of a job's sources: when it was, the references to the copies, the Secrets that cannot be used, and
// why none is used, for the status.
type check struct {
	at      time.Time
	refs    []v1beta1.ReferenceObject
	missing []string
	problem string
}

// sync creates and updates the copies of the Secrets that a job names. It returns references to the copies, the names of Secrets
// that are missing now, if they differ from those of the last check, and a problem for the status of the job. It reads the sources
// again once per secretsCheck.
func (c *copies) sync(
	ctx context.Context, job *v1beta1.ImagePullJob,
) (refs []v1beta1.ReferenceObject, missing []string, problem string, err error) {
	names := namesOf(job)
	// Agents may read these Secrets already, so they are used as they are.
	if job.Namespace == c.namespace {
		for _, name := range names {
			refs = append(refs, c.reference(name))
		}
		return refs, nil, "", nil
	}
	if len(names) == 0 {
		return nil, nil, "", nil
	}
	// last is the zero value for the first check of a job, also after a restart of the controller.
	last := c.last(job.UID)
	now := c.clock.Now()
	// The last result is used only while all its copies still exist. A negative age comes from a clock that was set back.
	if age := now.Sub(last.at); age >= 0 && age < secretsCheck && c.hold(last.refs, job) {
		return last.refs, nil, last.problem, nil
	}
	// The first read of a job comes from etcd, so a Secret that was created just before the job is found.
	found, err := c.copyAll(ctx, job, names, last.at.IsZero())
	if err != nil {
		return nil, nil, "", err
	}
	kept := names
	if found.problem != "" {
		kept = nil
	}
	// The job may have stopped naming a Secret.
	if err := c.release(ctx, job, kept); err != nil {
		return nil, nil, "", err
	}
	c.keep(job.UID, found)
	// The user knows them already, so there is no second event.
	if slices.Equal(found.missing, last.missing) {
		return found.refs, nil, found.problem, nil
	}
	return found.refs, found.missing, found.problem, nil
}

// copyAll reads the Secrets that a job names, and copies those that exist and hold credentials. A Secret that cannot be used is no
// error: it is missing, and is read again at the next check. If the copies would be too large, it makes none.
func (c *copies) copyAll(ctx context.Context, job *v1beta1.ImagePullJob, names []string, first bool) (check, error) {
	found := check{at: c.clock.Now()}
	sources, missing, err := c.read(ctx, job.Namespace, names, first)
	if err != nil {
		return check{}, err
	}
	found.missing = missing
	if found.problem, err = c.tooLarge(job, sources); err != nil || found.problem != "" {
		return found, err
	}
	for _, source := range sources {
		// The copy exists before any NodeImage names it.
		copied, err := c.ensure(ctx, source, job)
		if err != nil {
			return check{}, err
		}
		found.refs = append(found.refs, c.reference(copied))
	}
	return found, nil
}

// reference returns a reference to a copy. It lasts as long as the image's entry in a NodeImage. The party that adds the
// reference must also remove it.
func (c *copies) reference(name string) v1beta1.ReferenceObject {
	return v1beta1.ReferenceObject{Namespace: c.namespace, Name: name, Mode: v1beta1.BatchReferenceMode}
}

// hold reports whether all copies exist and name the job as a user. A copy that was deleted by hand is thus made again at once.
func (c *copies) hold(refs []v1beta1.ReferenceObject, job *v1beta1.ImagePullJob) bool {
	for _, ref := range refs {
		item, found, err := c.indexer.GetByKey(ref.Namespace + "/" + ref.Name)
		copied, ok := item.(*corev1.Secret)
		if err != nil || !found || !ok || !refersTo(copied, keyOf(job)) {
			return false
		}
	}
	return true
}

// ensure makes sure that a copy of the source exists, holds the source's data, and names the job as a user. It returns the
// copy's name.
func (c *copies) ensure(ctx context.Context, source *corev1.Secret, job *v1beta1.ImagePullJob) (string, error) {
	// The cache is up to date with this job's own writes, but not with those of other jobs.
	existing, err := c.copyOf(keyOf(source), keyOf(job))
	if err != nil {
		return "", err
	}
	if existing == nil || existing.Type != source.Type {
		if existing, err = c.create(ctx, source, existing, job); err != nil {
			return "", err
		}
	}
	return existing.Name, c.change(ctx, existing, job, func(copied *corev1.Secret) {
		refresh(copied, source, keyOf(job))
		if users := referencesOf(copied.Annotations[referencesKey]); len(users) > maxReferences {
			setReferences(copied, slices.DeleteFunc(users, c.finished))
		}
	})
}

// maxReferences is how many jobs a copy can name before those that have finished are removed. Annotations have a maximum size.
const maxReferences = 100

// finished reports whether a job has finished. A job that is not in the cache may be new.
func (c *copies) finished(key string) bool {
	job := c.user(key)
	return job != nil && job.Status.CompletionTime != nil
}

// user returns a job that a copy names, or nil if it is not in the cache.
func (c *copies) user(key string) *v1beta1.ImagePullJob {
	namespace, name, _ := strings.Cut(key, "/")
	job, err := c.jobs.ImagePullJobs(namespace).Get(name)
	if err != nil {
		return nil
	}
	return job
}

// create creates the copy of a source, or returns the one that another job has created just now. The type of a Secret cannot change. So
// if the source was created again with another type, the outdated copy is deleted, and the new one has its users. outdated may be nil.
func (c *copies) create(ctx context.Context, source, outdated *corev1.Secret, job *v1beta1.ImagePullJob) (*corev1.Secret, error) {
	client := c.kube.CoreV1().Secrets(c.namespace)
	wanted := newCopy(c.namespace, source, keyOf(job))
	if outdated != nil {
		if err := c.remove(ctx, outdated); err != nil {
			return nil, err
		}
		setReferences(wanted, append(referencesOf(outdated.Annotations[referencesKey]), keyOf(job)))
	}
	created, err := client.Create(ctx, wanted, metav1.CreateOptions{})
	switch {
	case err == nil:
		klog.FromContext(ctx).V(2).Info("Copied a pull secret", "source", klog.KObj(source), "copy", klog.KObj(created))
		c.guard.Wrote(job.UID, secrets, created.ResourceVersion)
		return created, nil
	case !apierrors.IsAlreadyExists(err):
		return nil, fmt.Errorf("copy Secret %s: %w", keyOf(source), err)
	}
	existing, err := client.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get Secret %s/%s: %w", c.namespace, wanted.Name, err)
	}
	// A Secret of a user, or a copy of another source with the same hash, must not be overwritten.
	if sourceOf(existing) != keyOf(source) {
		return nil, fmt.Errorf("copy Secret %s: Secret %s/%s exists and is not a copy of it; delete or rename it", keyOf(source), c.namespace,
			wanted.Name)
	}
	return existing, nil
}

// holdsCredentials reports whether Secrets of the type hold registry credentials. Others are never copied: a user who may create a
// job would make them readable on nodes.
func holdsCredentials(kind corev1.SecretType) bool {
	return kind == corev1.SecretTypeDockerConfigJson || kind == corev1.SecretTypeDockercfg
}

// release removes a job from the users of its copies, except for copies of the kept sources. A copy that has no users left is
// deleted by reap.
func (c *copies) release(ctx context.Context, job *v1beta1.ImagePullJob, kept []string) error {
	items, err := c.indexer.ByIndex(referenceIndex, keyOf(job))
	if err != nil {
		return fmt.Errorf("list pull secrets: %w", err)
	}
	var failures []error
	for _, item := range items {
		copied, ok := item.(*corev1.Secret)
		if !ok || slices.ContainsFunc(kept, func(name string) bool { return sourceOf(copied) == job.Namespace+"/"+name }) {
			continue
		}
		failures = append(failures, c.removeUser(ctx, copied, job))
	}
	return errors.Join(failures...)
}

// removeUser removes a job from the users of one copy.
func (c *copies) removeUser(ctx context.Context, copied *corev1.Secret, job *v1beta1.ImagePullJob) error {
	return c.change(ctx, copied, job, func(s *corev1.Secret) { removeReference(s, keyOf(job)) })
}

// isUnused reports whether a Secret is a copy without users. A Secret that is no copy is never unused, so reap cannot delete it.
func isUnused(copied *corev1.Secret) bool {
	return sourceOf(copied) != "" && len(referencesOf(copied.Annotations[referencesKey])) == 0
}

// reapOf deletes the copies of a finished job that no running job has used for unusedAge. It returns the time until the next one is due, or
// zero. A job that is not in the cache may be new, so its copies stay. If it is gone, absent removes it from the users.
func (c *copies) reapOf(ctx context.Context, job *v1beta1.ImagePullJob) (wait time.Duration, err error) {
	items, err := c.indexer.ByIndex(referenceIndex, keyOf(job))
	if err != nil {
		return 0, fmt.Errorf("list pull secrets: %w", err)
	}
	var failures []error
	for _, item := range items {
		copied, ok := item.(*corev1.Secret)
		if !ok || copied.DeletionTimestamp != nil {
			continue
		}
		var last time.Time
		used := false
		for _, key := range referencesOf(copied.Annotations[referencesKey]) {
			user := c.user(key)
			if used = used || user == nil || user.Status.CompletionTime == nil; used {
				break
			}
			if user.Status.CompletionTime.After(last) {
				last = user.Status.CompletionTime.Time
			}
		}
		if used {
			continue
		}
		if left := unusedAge - c.clock.Since(last); left > 0 {
			wait = delay.Sooner(wait, left)
			continue
		}
		failures = append(failures, c.remove(ctx, copied))
	}
	return wait, errors.Join(failures...)
}

// reap deletes a copy that has had no users for unusedAge. Its key is that of the copy, where no job has that name.
func (c *copies) reap(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	item, _, err := c.indexer.GetByKey(key.String())
	copied, ok := item.(*corev1.Secret)
	if err != nil || !ok || key.Namespace != c.namespace || !isUnused(copied) || copied.DeletionTimestamp != nil {
		// The key can also be that of a deleted job. Then nothing is kept under its name.
		c.seenUsed(key.Name)
		return reconcile.Result{}, err
	}
	if left := unusedAge - c.clock.Since(c.unusedSince(copied)); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return reconcile.Result{}, c.remove(ctx, copied)
}

// remove deletes a copy as it was read. If a job uses it meanwhile, its resource version changes and the copy stays. That is no error.
func (c *copies) remove(ctx context.Context, copied *corev1.Secret) error {
	err := c.kube.CoreV1().Secrets(c.namespace).Delete(ctx, copied.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &copied.UID, ResourceVersion: &copied.ResourceVersion}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete Secret %s/%s: %w", c.namespace, copied.Name, err)
	}
	return nil
}

// unusedSince returns when this version of a copy was first seen without users.
func (c *copies) unusedSince(copied *corev1.Secret) time.Time {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.unused == nil {
		c.unused = map[string]idle{}
	}
	if before, found := c.unused[copied.Name]; !found || before.resourceVersion != copied.ResourceVersion {
		c.unused[copied.Name] = idle{resourceVersion: copied.ResourceVersion, since: c.clock.Now()}
	}
	return c.unused[copied.Name].since
}

// seenUsed forgets that a copy had no users.
func (c *copies) seenUsed(name string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.unused, name)
}

// change edits the current copy and writes it. It ignores a copy that was deleted. After a conflict it edits the version on the
// server, so two jobs do not remove each other from the users.
func (c *copies) change(ctx context.Context, copied *corev1.Secret, job *v1beta1.ImagePullJob, edit func(*corev1.Secret)) error {
	client := c.kube.CoreV1().Secrets(c.namespace)
	base := copied
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		after := base.DeepCopy()
		edit(after)
		if apiequality.Semantic.DeepEqual(base, after) {
			return nil
		}
		stored, err := client.Update(ctx, after, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			fresh, getErr := client.Get(ctx, copied.Name, metav1.GetOptions{})
			if getErr != nil {
				return getErr
			}
			base = fresh
		}
		// A job that is gone has no pass that could wait.
		if err == nil && job.UID != "" {
			c.guard.Wrote(job.UID, secrets, stored.ResourceVersion)
		}
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("update Secret %s/%s: %w", c.namespace, copied.Name, err)
	}
	return nil
}

// last returns the last check of a job's sources, or the zero value.
func (c *copies) last(job types.UID) check {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.checked[job]
}

// keep stores the result of a check.
func (c *copies) keep(job types.UID, found check) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.checked == nil {
		c.checked = map[types.UID]check{}
	}
	c.checked[job] = found
}

// forget drops what is kept for a deleted job.
func (c *copies) forget(job types.UID) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.checked, job)
}

// keyOf returns namespace/name, the form in annotations, in indexes and in the caches of namespaced objects.
func keyOf(object metav1.Object) string { return object.GetNamespace() + "/" + object.GetName() }
