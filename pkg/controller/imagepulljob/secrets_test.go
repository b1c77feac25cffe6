package imagepulljob

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

func with(secrets ...string) func(*v1beta1.ImagePullJob) {
	return func(job *v1beta1.ImagePullJob) { job.Spec.PullSecrets = secrets }
}

func source(password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "s", Labels: map[string]string{"l": "1"}, Finalizers: []string{"a/b"},
			Annotations:     map[string]string{"note": "x", corev1.LastAppliedConfigAnnotation: password},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p"}},
		},
		Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(password)},
	}
}

// copies returns the Secrets in the namespace that node agents read.
func (w *world) copies() []corev1.Secret {
	w.t.Helper()
	list, err := w.Kube.CoreV1().Secrets(pub.DaemonConfigNamespace).List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return list.Items
}

// users returns the jobs that the only copy names.
func (w *world) users() []string {
	w.t.Helper()
	all := w.copies()
	require.Len(w.t, all, 1)
	return referencesOf(all[0].Annotations[referencesKey])
}

// reap lets the time pass after which copies without users are deleted, and reconciles all of them.
func (w *world) reap() {
	w.t.Helper()
	for range 2 {
		for _, copied := range w.copies() {
			w.Observe()
			_, err := w.Pass(copied.Namespace, copied.Name)
			require.NoError(w.t, err)
		}
		w.pass(unusedAge)
	}
}

func (w *world) refs(node string) (refs []v1beta1.ReferenceObject) {
	return w.image(node).Spec.Images["nginx"].PullSecrets
}

// Case image-predownload 28.
func TestSecretIsCopiedWhileTheJobRuns(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), source("one"))...)
	assert.Equal(t, secretsCheck, w.step("a"), "the Secret is read again then")
	copies := w.copies()
	require.Len(t, copies, 1)
	copied := copies[0]
	assert.Regexp(t, `^s-[0-9a-f]{6}$`, copied.Name)
	assert.Equal(t, corev1.SecretTypeDockerConfigJson, copied.Type)
	assert.Equal(t, "one", string(copied.Data[corev1.DockerConfigJsonKey]))
	assert.Equal(t, map[string]string{"l": "1"}, copied.Labels)
	assert.Equal(t, map[string]string{
		"note": "x", "imagepulljobs.kruise.io/source-key": "ns/s", "imagepulljobs.kruise.io/references": "ns/a",
		"imagepulljobs.kruise.io/mode": "new",
	}, copied.Annotations)
	assert.Empty(t, copied.OwnerReferences)
	assert.Empty(t, copied.Finalizers)
	assert.Equal(t, []v1beta1.ReferenceObject{{Namespace: "kruise-daemon-config", Name: copied.Name, Mode: "batch"}}, w.refs("n1"))

	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	w.settle("a")
	w.pass(unusedAge)
	w.Step("ns", "a")
	assert.Empty(t, w.copies())
	assert.Empty(t, w.job("a").Finalizers)
	assert.NotNil(t, w.job("a").Status.CompletionTime)
}

// Users edit the limits of a pull because it does not succeed.
func TestEditedPullPolicyReachesTheNodes(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a"))...)
	w.step("a")
	require.Equal(t, int32(600), *w.tag("n1").PullPolicy.TimeoutSeconds)
	version := w.tag("n1").Version
	w.edit("a", func(job *v1beta1.ImagePullJob) { job.Spec.PullPolicy.TimeoutSeconds = new(int32(9)) })
	w.step("a")
	assert.Equal(t, int32(9), *w.tag("n1").PullPolicy.TimeoutSeconds)
	assert.Equal(t, version, w.tag("n1").Version, "the pull goes on")
	before := w.image("n1").ResourceVersion
	w.step("a")
	assert.Equal(t, before, w.image("n1").ResourceVersion, "nothing else changed")

	// The policy of a later job for the same tag applies.
	w.Add(newJob("b", func(job *v1beta1.ImagePullJob) { job.Spec.PullPolicy.TimeoutSeconds = new(int32(7)) }))
	w.step("b")
	w.step("a")
	assert.Equal(t, int32(7), *w.tag("n1").PullPolicy.TimeoutSeconds)
}

func TestDeletedJobReleasesItsCopy(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), source("one"))...)
	w.step("a")
	require.Len(t, w.copies(), 1)
	w.edit("a", func(job *v1beta1.ImagePullJob) { job.DeletionTimestamp = &metav1.Time{Time: now} })
	w.settle("a")
	w.reap()
	assert.Empty(t, w.copies())
}

// A job can go without releasing its copy: somebody removed its finalizer, or it was lost with the store.
func TestCopyOfAJobThatIsGoneIsDeleted(t *testing.T) {
	w := newWorld(t, append(nodeImages(2), newJob("a", with("s"), named("n1")), newJob("b", with("s"), named("n2")), source("one"))...)
	w.step("a")
	w.step("b")
	copied := w.copies()[0]
	require.Equal(t, "ns/a,ns/b", copied.Annotations["imagepulljobs.kruise.io/references"])
	remove := func(name string) {
		require.NoError(t, w.Kruise.Tracker().Delete(v1beta1.SchemeGroupVersion.WithResource("imagepulljobs"), "ns", name))
	}
	remove("a")
	assert.ElementsMatch(t, keys("a", "b"), secretChanged(nil, &copied), "a controller that starts looks for the jobs of all copies")
	w.step("a")
	assert.Equal(t, "ns/b", w.copies()[0].Annotations["imagepulljobs.kruise.io/references"], "the other job still uses it")
	remove("b")
	unreadable := true
	w.Kruise.PrependReactor("get", "imagepulljobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return unreadable, nil, apierrors.NewInternalError(assert.AnError)
	})
	w.Observe()
	_, err := w.Pass("ns", "b")
	require.ErrorContains(t, err, "get the job")
	assert.Equal(t, "ns/b", w.copies()[0].Annotations["imagepulljobs.kruise.io/references"])
	unreadable = false
	w.step("b")
	w.reap()
	assert.Empty(t, w.copies())
}

// A job that was just created is not in the cache yet, and keeps its copy.
func TestCopyOfAJobThatTheCacheLacksStays(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), source("one"))...)
	w.step("a")
	w.Observe()
	jobs := w.Deps.KruiseInformers.Apps().V1beta1().ImagePullJobs().Informer().GetIndexer()
	require.NoError(t, jobs.Delete(w.job("a")))
	_, err := w.Pass("ns", "a")
	require.NoError(t, err)
	assert.Equal(t, "ns/a", w.copies()[0].Annotations["imagepulljobs.kruise.io/references"])
}

// A second job soon after the first uses the same copy, and the agents never miss it. Clients look for a job in the references, also when it
// has completed.
func TestCopyStaysForJobsThatFollow(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), newJob("b", with("s")), source("one"))...)
	w.step("a")
	uid := w.copies()[0].UID
	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	w.settle("a")
	assert.Equal(t, []string{"ns/a"}, w.users())
	assert.Equal(t, unusedAge, w.Step("ns", "a"))
	w.pass(unusedAge - time.Second)
	assert.Equal(t, time.Second, w.Step("ns", "a"))

	w.step("b")
	w.pass(time.Second)
	assert.Zero(t, w.Step("ns", "a"))
	require.Len(t, w.copies(), 1)
	assert.Equal(t, uid, w.copies()[0].UID)
	assert.Equal(t, []string{"ns/a", "ns/b"}, w.users())

	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	w.settle("b")
	assert.Equal(t, unusedAge, w.Step("ns", "a"), "the time starts again")
	w.pass(unusedAge)
	w.Step("ns", "a")
	assert.Empty(t, w.copies())
}

// A job that uses a copy is deleted, so the copy has no users left.
func TestCopyWithoutUsersIsDeleted(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), newJob("b", with("s")), source("one"))...)
	w.step("a")
	name := w.copies()[0].Name
	remove := func(job string) {
		w.edit(job, func(job *v1beta1.ImagePullJob) { job.DeletionTimestamp = &metav1.Time{Time: now} })
		w.settle(job)
	}
	remove("a")
	assert.Empty(t, w.users())
	w.Observe()
	assert.Equal(t, []types.NamespacedName{{Namespace: pub.DaemonConfigNamespace, Name: name}}, secretChanged(nil, &w.copies()[0]))
	assert.Equal(t, unusedAge, w.Step(pub.DaemonConfigNamespace, name))
	w.pass(unusedAge - time.Second)
	w.step("b")
	w.pass(time.Second)
	assert.Zero(t, w.Step(pub.DaemonConfigNamespace, name))
	remove("b")
	assert.Equal(t, unusedAge, w.Step(pub.DaemonConfigNamespace, name), "the time starts again")
	w.pass(unusedAge)
	unused := w.copies()[0]
	w.Step(pub.DaemonConfigNamespace, name)
	assert.Empty(t, w.copies())
	require.NotEmpty(t, w.r.copies.unused)
	for _, key := range secretChanged(&unused, nil) {
		w.Step(key.Namespace, key.Name)
	}
	assert.Empty(t, w.r.copies.unused, "nothing is kept of a copy that is deleted")
}

// A completed job that is deleted is no user any more. The copy of a job that the cache lacks stays.
func TestDeletedJobLeavesTheUsersOfACopy(t *testing.T) {
	w := newWorld(t, append(nodeImages(2), newJob("a", with("s"), named("n1")), newJob("b", with("s"), named("n2")), source("one"))...)
	w.step("a")
	w.step("b")
	w.answer("n1", v1beta1.ImagePhaseSucceeded)
	w.settle("a")
	require.NoError(t, w.Kruise.Tracker().Delete(v1beta1.SchemeGroupVersion.WithResource("imagepulljobs"), "ns", "a"))
	w.answer("n2", v1beta1.ImagePhaseSucceeded)
	w.settle("b")
	w.pass(unusedAge)
	w.Step("ns", "b")
	require.Len(t, w.copies(), 1, "the cache does not say yet what became of the other")
	w.step("a")
	assert.Equal(t, []string{"ns/b"}, w.users())
	w.Step("ns", "b")
	assert.Empty(t, w.copies())
}

func TestCopyNamesALimitedNumberOfCompletedJobs(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), newJob("b", with("s")), source("one"))...)
	w.step("a")
	var jobs []string
	for i := range maxReferences {
		job := newJob(fmt.Sprint("done-", i), with("s"))
		job.Status.CompletionTime = &metav1.Time{Time: now}
		w.Add(job)
		jobs = append(jobs, "ns/"+job.Name)
	}
	copied := w.copies()[0]
	setReferences(&copied, append(jobs, "ns/a"))
	w.Update(&copied)
	w.step("b")
	assert.Equal(t, []string{"ns/a", "ns/b"}, w.users())
}

// A user who may create a job must not bring any Secret of the namespace onto nodes.
func TestOnlyRegistryCredentialsAreCopied(t *testing.T) {
	token := source("one")
	token.Type = corev1.SecretTypeServiceAccountToken
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), token)...)
	w.step("a")
	assert.Empty(t, w.copies())
	assert.Equal(t, []string{"n1"}, w.unfinished())
	events := w.Events()
	require.Len(t, events, 1)
	assert.Contains(t, events[0], "s (type kubernetes.io/service-account-token does not hold registry credentials)")
}

// The API server does not return the Secret. The job ends at its deadline nevertheless, and says what is wrong.
func TestDeadlineHoldsWhileSecretsCannotBeRead(t *testing.T) {
	ends := func(job *v1beta1.ImagePullJob) { job.Spec.CompletionPolicy.ActiveDeadlineSeconds = new(int64(60)) }
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s"), ends), source("one"))...)
	w.Kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(assert.AnError)
	})
	w.Observe()
	_, err := w.Pass("ns", "a")
	require.Error(t, err, "it is tried again")
	assert.Empty(t, w.unfinished(), "no node pulls without the Secret")
	assert.NotNil(t, w.job("a").Status.StartTime)
	events := w.Events()
	require.Len(t, events, 1)
	assert.Contains(t, events[0], "Warning FailedCopyPullSecret cannot copy the pull secrets")
	w.pass(time.Minute)
	w.Observe()
	_, err = w.Pass("ns", "a")
	require.Error(t, err)
	assert.Equal(t, "job exceeds activeDeadlineSeconds", w.job("a").Status.Message)
	assert.NotNil(t, w.job("a").Status.CompletionTime)
}

// Case image-predownload 45.
func TestJobWithSecretsIsHeldUntilTheyAreReleased(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s"), func(job *v1beta1.ImagePullJob) { job.Finalizers = nil }), source("one"))...)
	w.step("a")
	assert.Equal(t, []string{pub.DeletionProtectionFinalizer}, w.job("a").Finalizers)
	assert.Empty(t, w.copies(), "first the one, then the other")
	w.step("a")
	assert.Len(t, w.copies(), 1)
}

// The client that deletes a job can still read it, whether or not the job has pull secrets.
func TestJobWithoutSecretsIsHeldUntilItsNextPass(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a"), newJob("b", func(job *v1beta1.ImagePullJob) { job.Finalizers = nil }))...)
	w.settle("b")
	assert.Empty(t, w.job("b").Finalizers, "a job that was taken over stays as it is")
	w.settle("a")
	assert.Equal(t, []string{pub.DeletionProtectionFinalizer}, w.job("a").Finalizers)
	w.Writes()
	w.edit("a", func(job *v1beta1.ImagePullJob) { job.DeletionTimestamp = &metav1.Time{Time: now} })
	w.step("a")
	assert.Equal(t, []string{"update imagepulljobs a"}, w.Writes())
	assert.Empty(t, w.job("a").Finalizers)
}

// Case image-predownload 29.
func TestTwoJobsShareOneCopy(t *testing.T) {
	w := newWorld(t, append(nodeImages(2), newJob("b", with("s"), named("n2")), newJob("a", with("s"), named("n1")), source("one"))...)
	w.step("b")
	w.step("a")
	require.Len(t, w.copies(), 1)
	assert.Equal(t, "ns/a,ns/b", w.copies()[0].Annotations["imagepulljobs.kruise.io/references"])
	assert.Equal(t, w.refs("n1"), w.refs("n2"))
	w.answer("n1", v1beta1.ImagePhaseFailed)
	w.settle("a")
	require.Len(t, w.copies(), 1, "the other still uses it")
	assert.Equal(t, []string{"ns/a", "ns/b"}, w.users())
	w.answer("n2", v1beta1.ImagePhaseSucceeded)
	w.settle("b")
	w.pass(unusedAge)
	w.Step("ns", "b")
	assert.Empty(t, w.copies())
}

// Case image-predownload 30.
func TestSecretCopyFollowsItsSource(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), source("one"))...)
	w.settle("a")
	changed := source("two")
	require.NoError(t, w.Kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), changed, "ns"))
	w.step("a")
	assert.Equal(t, "one", string(w.copies()[0].Data[corev1.DockerConfigJsonKey]), "it is not read at each event")
	w.Clock.SetTime(now.Add(secretsCheck))
	w.step("a")
	assert.Equal(t, "two", string(w.copies()[0].Data[corev1.DockerConfigJsonKey]))
	assert.Equal(t, "ns/a", w.copies()[0].Annotations["imagepulljobs.kruise.io/references"])
	w.Writes()
	w.Clock.SetTime(now.Add(2 * secretsCheck))
	w.step("a")
	assert.Empty(t, w.Writes(), "nothing changed, nothing is written")
	assert.Less(t, secretsCheck, 5*time.Second)
}

// A Secret cannot change its type, so a user who needs another one deletes the Secret and creates it again.
// Case image-predownload 30.
func TestSecretCopyGetsTheTypeOfItsSource(t *testing.T) {
	old := source("one")
	old.Type, old.Data = corev1.SecretTypeDockercfg, map[string][]byte{corev1.DockerConfigKey: []byte("one")}
	w := newWorld(t, append(nodeImages(2), newJob("a", with("s"), named("n1")), newJob("b", with("s"), named("n2")), old)...)
	w.settle("a")
	w.settle("b")
	w.Kube.PrependReactor("update", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		written, _ := action.(clienttesting.UpdateAction).GetObject().(*corev1.Secret)
		if stored := w.copies()[0]; written.Name == stored.Name && written.Type == stored.Type && len(written.Data[corev1.DockerConfigKey]) > 0 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), written.Name, nil)
	})
	names := w.refs("n1")
	require.NoError(t, w.Kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), source("two"), "ns"))
	w.Clock.SetTime(now.Add(secretsCheck))
	w.step("a")
	require.Len(t, w.copies(), 1)
	copied := w.copies()[0]
	assert.Equal(t, corev1.SecretTypeDockerConfigJson, copied.Type)
	assert.Equal(t, source("two").Data, copied.Data)
	assert.Equal(t, "ns/a,ns/b", copied.Annotations["imagepulljobs.kruise.io/references"])
	assert.Equal(t, names, w.refs("n1"))
}

// The administrator may limit the namespaces whose Secrets the manager reads.
func TestUnreadableSecretDelaysNothing(t *testing.T) {
	w := newWorld(t, append(nodeImages(2), newJob("a", with("s")), source("one"))...)
	w.Kube.PrependReactor("get", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetNamespace() == "ns", nil, apierrors.NewForbidden(corev1.Resource("secrets"), "s", nil)
	})
	assert.Equal(t, secretsCheck, w.step("a"))
	assert.Equal(t, []string{"n1"}, w.unfinished())
	events := w.Events()
	require.Len(t, events, 1)
	assert.Contains(t, events[0], "cannot read Secrets [s (access denied)] in namespace ns, so nodes pull without them")
}

// Case image-predownload 31.
func TestMissingSecretDoesNotDelayTheJob(t *testing.T) {
	w := newWorld(t, append(nodeImages(2), newJob("a", with("s")))...)
	assert.Equal(t, secretsCheck, w.step("a"))
	assert.Equal(t, []string{"n1"}, w.unfinished())
	events := w.Events()
	require.Len(t, events, 1)
	assert.Contains(t, events[0], "Warning MissingPullSecret cannot read Secrets [s] in namespace ns, so nodes pull without them")
	w.Clock.SetTime(now.Add(secretsCheck))
	w.step("a")
	assert.Empty(t, w.Events(), "it is said once")

	w.Add(source("one"))
	w.Clock.SetTime(now.Add(2 * secretsCheck))
	w.step("a")
	require.Len(t, w.copies(), 1)
	assert.Len(t, w.refs("n1"), 1, "who was asked gets it too")
	assert.Zero(t, w.tag("n1").Version, "without beginning again")
}

// Case image-predownload 32.
func TestSecretsInTheAgentsNamespaceAreNotCopied(t *testing.T) {
	home := func(job *v1beta1.ImagePullJob) { job.Namespace = pub.DaemonConfigNamespace }
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s"), home))...)
	w.Observe()
	_, err := w.Pass(pub.DaemonConfigNamespace, "a")
	require.NoError(t, err)
	assert.Empty(t, w.copies())
	assert.Equal(t, []v1beta1.ReferenceObject{{Namespace: "kruise-daemon-config", Name: "s", Mode: "batch"}}, w.refs("n1"))
}

// TestCopiesOfOlderReleases checks copies of older releases, which had one for each job.
func TestCopiesOfOlderReleases(t *testing.T) {
	old := func(name, job string) *corev1.Secret {
		return &corev1.Secret{Type: source("").Type, ObjectMeta: metav1.ObjectMeta{Namespace: pub.DaemonConfigNamespace, Name: name, Annotations: map[string]string{
			sourceKey: "ns/s", referencesKey: job,
		}}}
	}
	w := newWorld(t, append(nodeImages(2), newJob("a", with("s"), named("n1")), newJob("c", with("s"), named("n2")), source("one"),
		old("s-1", "ns/x"), old("s-2", "ns/a"))...)
	w.step("a")
	w.step("c")
	assert.Equal(t, "s-2", w.refs("n1")[0].Name, "the one that says so")
	assert.Equal(t, "s-1", w.refs("n2")[0].Name, "the first")
	assert.Len(t, w.copies(), 2)
}

// TestReleaseContinuesAfterAFailure checks that a failure is reported and keeps the job, and that the other copy is still released.
func TestReleaseContinuesAfterAFailure(t *testing.T) {
	second := source("two")
	second.Name = "t"
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s", "t")), source("one"), second)...)
	w.step("a")
	require.Len(t, w.copies(), 2)
	w.Kube.PrependReactor("update", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if update, ok := action.(clienttesting.UpdateAction); ok && strings.HasPrefix(update.GetObject().(*corev1.Secret).Name, "s-") {
			return true, nil, apierrors.NewInternalError(assert.AnError)
		}
		return false, nil, nil
	})
	w.edit("a", func(job *v1beta1.ImagePullJob) { job.DeletionTimestamp = &metav1.Time{Time: now} })
	w.Observe()
	_, err := w.Pass("ns", "a")
	require.ErrorContains(t, err, "update Secret kruise-daemon-config/s-")
	w.reap()
	require.Len(t, w.copies(), 1)
	assert.Equal(t, []string{pub.DeletionProtectionFinalizer}, w.job("a").Finalizers)
}

func TestMissingNamespaceIsRetried(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), source("one"))...)
	w.Kube.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(corev1.Resource("namespaces"), pub.DaemonConfigNamespace)
	})
	w.Observe()
	_, err := w.Pass("ns", "a")
	require.ErrorContains(t, err, "copy Secret ns/s")
	assert.Empty(t, w.unfinished())
}

// TestTamperedCopyIsRepaired checks that a changed copy wakes the jobs that use it, and is repaired before the next check of
// the source.
func TestTamperedCopyIsRepaired(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), source("one"))...)
	w.settle("a")
	before := w.copies()[0]
	assert.Equal(t, keys("a"), secretChanged(&before, nil))
	assert.Equal(t, keys("a"), secretChanged(nil, &before))
	assert.Empty(t, secretChanged(nil, source("one")), "a Secret that is not a copy affects no job")
	require.NoError(t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), before.Namespace, before.Name))
	w.Clock.SetTime(now.Add(time.Second))
	w.step("a")
	assert.Len(t, w.copies(), 1)
}
