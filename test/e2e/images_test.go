//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

const pullJob = `apiVersion: apps.kruise.io/v1beta1
kind: ImagePullJob
metadata: {name: JOB}
spec:
  image: IMAGE
  parallelism: PARALLELISM
  selector: {matchLabels: {e2e: NODES}}
`

// job creates a job that pulls an image onto the nodes of a simulation.
func (s *simulation) job(name, image, parallelism string) string {
	return filled(pullJob, "JOB", name, "IMAGE", image, "PARALLELISM", parallelism, "NODES", s.namespace)
}

// pulled waits until a job has finished, and returns its status.
func (e *env) pulled(name string) v1beta1.ImagePullJobStatus {
	e.t.Helper()
	var status v1beta1.ImagePullJobStatus
	e.eventually("ImagePullJob "+name+" ends", func(c *require.Assertions, ctx context.Context) {
		job, err := e.kruise.AppsV1beta1().ImagePullJobs(e.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.NotNil(job.Status.CompletionTime, "%s: %+v", name, job.Status)
		status = job.Status
	})
	return status
}

// TestNodeImagesFollowTheirNodes checks that NodeImages are created for the cluster's nodes and get their labels.
// Cases image-predownload 1, 5.
func TestNodeImagesFollowTheirNodes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes, err := e.core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "type!=kwok"})
	require.NoError(t, err)
	require.NotEmpty(t, nodes.Items)
	e.eventually("each node has its NodeImage", func(c *require.Assertions, ctx context.Context) {
		for _, node := range nodes.Items {
			image, err := e.kruise.AppsV1beta1().NodeImages().Get(ctx, node.Name, metav1.GetOptions{})
			c.NoError(err)
			c.Equal(node.Labels["kubernetes.io/hostname"], image.Labels["kubernetes.io/hostname"])
		}
	})
	name := nodes.Items[0].Name
	patch := func(value string) {
		_, err := e.core.CoreV1().Nodes().Patch(context.WithoutCancel(t.Context()), name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"e2e-label":`+value+`}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	t.Cleanup(func() { patch("null") })
	patch(`"x"`)
	e.eventually("its label follows", func(c *require.Assertions, ctx context.Context) {
		image, err := e.kruise.AppsV1beta1().NodeImages().Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.Equal("x", image.Labels["e2e-label"])
	})
}

// TestPullJobKeepsToItsParallelism pulls an image on over a hundred simulated nodes, which answer after random delays, and on the
// cluster's own nodes, whose agents find the image. No version of any NodeImage shows more unfinished tags than the job allows.
// Case image-predownload 9.
func TestPullJobKeepsToItsParallelism(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	s := e.simulateNodes(100)
	all := 100 + s.join()
	o := s.observe("a", 7)
	s.pull()
	// Jobs of other tests pull other images. A job that joins later asks nodes again that have pulled the image already.
	e.apply(s.job("a", "kruise.local/mesh:v2", "7"))
	status := e.pulled("a")
	assert.EqualValues(t, all, status.Succeeded)
	assert.Equal(t, "job has completed", status.Message)
	o.report(t)
	assert.Contains(t, e.kubectl("get", "imagepulljob", "a"), "job has completed")
}

// TestConcurrentJobsKeepEachOthersTags lets fifty jobs write to the same twenty NodeImages concurrently.
func TestConcurrentJobsKeepEachOthersTags(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	s := e.simulate(20)
	var all string
	for i := range 50 {
		all += s.job(sprintf("job-%d", i), sprintf("example.com/e2e/image-%d:v%d", i%25, i), "20") + "---\n"
	}
	e.apply(all)
	e.eventually("every node is asked for every tag", func(c *require.Assertions, ctx context.Context) {
		for _, image := range s.list(ctx) {
			c.Len(image.Spec.Images, 25, image.Name)
			for name, entry := range image.Spec.Images {
				c.Len(entry.Tags, 2, name)
				c.Len(entry.Tags[0].OwnerReferences, 1)
				c.Zero(entry.Tags[0].Version, "%s: %s was asked for twice", image.Name, name)
			}
		}
	})
	s.pull()
	for i := range 50 {
		assert.EqualValues(t, 20, e.pulled(sprintf("job-%d", i)).Succeeded)
	}
}

// The job ends at its own deadline, and its status names the nodes.
// Cases image-predownload 18, 23.
func TestPullJobEndsByItsDeadline(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	s := e.simulate(3)
	e.apply(s.job("late", "example.com/e2e/late:v1", "2") +
		"  pullPolicy: {timeoutSeconds: 3}\n  completionPolicy: {type: Always, activeDeadlineSeconds: 3, ttlSecondsAfterFinished: 20}\n")
	status := e.pulled("late")
	assert.Equal(t, "job exceeds activeDeadlineSeconds", status.Message)
	assert.EqualValues(t, 3, status.Failed)
	assert.Len(t, status.FailedNodes, 3)
	e.eventually("the job goes, and its tags with it", func(c *require.Assertions, ctx context.Context) {
		_, err := e.kruise.AppsV1beta1().ImagePullJobs(e.namespace).Get(ctx, "late", metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "%v", err)
		for _, image := range s.list(ctx) {
			c.Empty(image.Spec.Images)
			c.Empty(image.Status.ImageStatuses)
		}
	})
}

// TestPullSecretsReachTheirNodeAlone follows the copy of a pull secret: who may read it, its update, and its deletion.
// Cases image-predownload 28, 29, 30, 31.
func TestPullSecretsReachTheirNodeAlone(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	s := e.simulate(2)
	node, other := s.name(0), s.name(1)
	e.apply(filled(s.job("private", "example.com/e2e/private:v1", "1"), "selector: {matchLabels: {e2e: "+s.namespace+"}}",
		"selector: {names: ["+node+"]}\n  pullSecrets: [credentials]"))
	e.eventually("the node is asked without the Secret", func(c *require.Assertions, ctx context.Context) {
		image, err := e.kruise.AppsV1beta1().NodeImages().Get(ctx, node, metav1.GetOptions{})
		c.NoError(err)
		c.Len(image.Spec.Images, 1)
		c.Empty(image.Spec.Images["example.com/e2e/private"].PullSecrets)
	})
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "credentials"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"one":{}}}`)},
	}
	secret, err := e.core.CoreV1().Secrets(e.namespace).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
	agent := func(name string) versioned.Interface {
		config := rest.CopyConfig(e.config)
		config.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:kruise-system:kruise-daemon",
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:kruise-system", "system:authenticated"},
			Extra:    map[string][]string{"authentication.kubernetes.io/node-name": {name}},
		}
		client, err := versioned.NewForConfig(config)
		require.NoError(t, err)
		return client
	}
	reads := func(content string) {
		e.eventually("the agent gets "+content, func(c *require.Assertions, ctx context.Context) {
			list, err := agent(node).AppsV1beta1().NodeImages().GetPullSecrets(ctx, node, metav1.GetOptions{})
			c.NoError(err)
			c.Len(list.Items, 1)
			c.Equal(content, string(list.Items[0].Data[corev1.DockerConfigJsonKey]))
			c.Equal(e.namespace+"/credentials", list.Items[0].Annotations["imagepulljobs.kruise.io/source-key"])
			c.Equal(e.namespace+"/private", list.Items[0].Annotations["imagepulljobs.kruise.io/references"])
		})
	}
	reads(`{"auths":{"one":{}}}`)
	_, err = agent(other).AppsV1beta1().NodeImages().GetPullSecrets(t.Context(), node, metav1.GetOptions{})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	list, err := agent(other).AppsV1beta1().NodeImages().GetPullSecrets(t.Context(), other, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items)

	secret.Data[corev1.DockerConfigJsonKey] = []byte(`{"auths":{"two":{}}}`)
	_, err = e.core.CoreV1().Secrets(e.namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	reads(`{"auths":{"two":{}}}`)

	s.pull()
	e.pulled("private")
	named := 0
	e.eventually("the copy goes, and names the completed job until then", func(c *require.Assertions, ctx context.Context) {
		copies, err := e.core.CoreV1().Secrets("kruise-daemon-config").List(ctx, metav1.ListOptions{})
		c.NoError(err)
		for _, copied := range copies.Items {
			if copied.Annotations["imagepulljobs.kruise.io/source-key"] == e.namespace+"/credentials" {
				require.Equal(t, e.namespace+"/private", copied.Annotations["imagepulljobs.kruise.io/references"])
				named++
			}
			c.NotEqual(e.namespace+"/credentials", copied.Annotations["imagepulljobs.kruise.io/source-key"])
		}
	})
	assert.Positive(t, named)
}

// Case image-predownload 41.
func TestListOfImagesIsPulled(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	s := e.simulate(2)
	s.pull()
	e.apply(filled(`apiVersion: apps.kruise.io/v1beta1
kind: ImageListPullJob
metadata: {name: list}
spec:
  images: [example.com/e2e/a:v1, example.com/e2e/b:v1, example.com/e2e/c:v1]
  parallelism: 2
  selector: {matchLabels: {e2e: NODES}}
  completionPolicy: {type: Always, ttlSecondsAfterFinished: 20}
`, "NODES", s.namespace))
	e.eventually("the list is pulled", func(c *require.Assertions, ctx context.Context) {
		list, err := e.kruise.AppsV1beta1().ImageListPullJobs(e.namespace).Get(ctx, "list", metav1.GetOptions{})
		c.NoError(err)
		c.NotNil(list.Status.CompletionTime, "%+v", list.Status)
		c.EqualValues(3, list.Status.Succeeded)
	})
	e.eventually("the list goes, and its jobs with it", func(c *require.Assertions, ctx context.Context) {
		jobs, err := e.kruise.AppsV1beta1().ImagePullJobs(e.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Empty(jobs.Items)
	})
}

// The test changes the status of one NodeImage out of a thousand, and counts the reconciles. It runs alone, because the
// controller counts the reconciles of all jobs together.
// Case image-predownload 43.
func TestOneStatusOfAThousandWakesItsJobsAlone(t *testing.T) {
	e := newEnv(t)
	s := e.simulate(1000)
	e.apply(s.job("a", "example.com/e2e/a:v1", "1") + "---\n" + s.job("b", "example.com/e2e/b:v1", "1"))
	first := s.name(0)
	e.eventually("the first node is asked by both", func(c *require.Assertions, ctx context.Context) {
		image, err := e.kruise.AppsV1beta1().NodeImages().Get(ctx, first, metav1.GetOptions{})
		c.NoError(err)
		c.Len(image.Spec.Images, 2)
		c.EqualValues(2, image.Status.Desired, "the controller of NodeImages has looked at it too")
		for _, name := range []string{"a", "b"} {
			job, err := e.kruise.AppsV1beta1().ImagePullJobs(e.namespace).Get(ctx, name, metav1.GetOptions{})
			c.NoError(err)
			c.EqualValues(1000, job.Status.Desired)
			c.EqualValues(1, job.Status.Active)
		}
	})
	var before float64
	since := time.Now()
	e.eventually("no reconcile is left to do", func(c *require.Assertions, _ context.Context) {
		last := before
		if before = e.reconciles("imagepulljob-controller"); before != last {
			since = time.Now()
		}
		c.GreaterOrEqual(time.Since(since), 10*time.Second, "a busy controller can be silent for a moment")
	})
	image, err := e.kruise.AppsV1beta1().NodeImages().Get(t.Context(), first, metav1.GetOptions{})
	require.NoError(t, err)
	image.Status.Pulling = 1
	image.Status.ImageStatuses = map[string]v1beta1.ImageStatus{"example.com/e2e/a": {Tags: []v1beta1.ImageTagStatus{{
		Tag: "v1", Phase: v1beta1.ImagePhasePulling, StartTime: new(metav1.Now()),
	}}}}
	_, err = e.kruise.AppsV1beta1().NodeImages().UpdateStatus(t.Context(), image, metav1.UpdateOptions{})
	require.NoError(t, err)
	e.eventually("the job of the tag is reconciled", func(c *require.Assertions, _ context.Context) {
		c.Greater(e.reconciles("imagepulljob-controller"), before)
	})
	assert.Equal(t, before+1, e.reconciles("imagepulljob-controller"), "and no other")
}
