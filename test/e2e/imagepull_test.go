//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/hack/localcluster"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/nodeagent/imagepuller/registrytest"
)

// pulls is a test's access to the images of the nodes.
type pulls struct {
	*env
	cluster *localcluster.Cluster
	// address is the host's address that the nodes reach.
	address string
}

func newPulls(t *testing.T) *pulls {
	t.Helper()
	e := newEnv(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, err := localcluster.New(localcluster.MainConfig(root))
	require.NoError(t, err)
	network, err := cluster.Network()
	require.NoError(t, err)
	return &pulls{env: e, cluster: cluster, address: network.HostIP()}
}

// registry starts a registry with the image team/app:1 of one MiB.
func (p *pulls) registry(t *testing.T, behaviours ...registrytest.Behaviour) *registrytest.Registry {
	t.Helper()
	r := registrytest.Start(t, p.address, behaviours...)
	require.NoError(t, p.cluster.UseRegistry(r.Host))
	r.Push(t, "team/app:1", registrytest.Image(t, runtime.GOARCH, 1<<20))
	return r
}

// secret creates a pull secret with a password for a registry, in the namespace that node agents read.
func (p *pulls) secret(t *testing.T, host, password string) string {
	t.Helper()
	login := map[string]string{"username": registrytest.Username, "password": password}
	data, err := json.Marshal(map[string]any{"auths": map[string]any{host: login}})
	require.NoError(t, err)
	secrets := p.core.CoreV1().Secrets(pub.DaemonConfigNamespace)
	secret, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: data},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = secrets.Delete(context.WithoutCancel(t.Context()), secret.Name, metav1.DeleteOptions{}) })
	return secret.Name
}

// limits returns the limits of a pull with one attempt and a timeout of 30 seconds.
func limits() *v1beta1.ImageTagPullPolicy {
	return &v1beta1.ImageTagPullPolicy{
		TimeoutSeconds: ptr.To[int32](30), BackoffLimit: ptr.To[int32](0), TTLSecondsAfterFinished: ptr.To[int32](3600),
	}
}

// ask makes a node pull one tag, until the test ends.
func (p *pulls) ask(t *testing.T, node, image string, tag *v1beta1.ImageTagSpec, secrets ...string) {
	t.Helper()
	entry := v1beta1.ImageSpec{Tags: []v1beta1.ImageTagSpec{*tag}}
	for _, name := range secrets {
		entry.PullSecrets = append(entry.PullSecrets, v1beta1.ReferenceObject{Namespace: pub.DaemonConfigNamespace, Name: name})
	}
	require.NoError(t, p.edit(t.Context(), node, func(n *v1beta1.NodeImage) { n.Spec.Images[image] = entry }))
	t.Cleanup(func() {
		_ = p.edit(context.WithoutCancel(t.Context()), node, func(n *v1beta1.NodeImage) { delete(n.Spec.Images, image) })
	})
}

// contended is the retry policy for writes that conflict with a dozen other tests and the agent.
var contended = wait.Backoff{Steps: 50, Duration: 10 * time.Millisecond, Factor: 1.2, Jitter: 1, Cap: time.Second}

// edit changes the NodeImage of a node, and creates it if it does not exist.
func (p *pulls) edit(ctx context.Context, node string, change func(*v1beta1.NodeImage)) error {
	images := p.kruise.AppsV1beta1().NodeImages()
	return retry.OnError(contended, func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }, func() error {
		current, err := images.Get(ctx, node, metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		if err != nil && !missing {
			return err
		}
		if missing {
			current = &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: node}}
		}
		if current.Spec.Images == nil {
			current.Spec.Images = map[string]v1beta1.ImageSpec{}
		}
		change(current)
		if missing {
			_, err = images.Create(ctx, current, metav1.CreateOptions{})
			return err
		}
		_, err = images.Update(ctx, current, metav1.UpdateOptions{})
		return err
	})
}

// reported waits until the status of a tag meets want.
func (p *pulls) reported(t *testing.T, node, image, tag string, want func(c *require.Assertions, report *v1beta1.ImageTagStatus)) *v1beta1.ImageTagStatus {
	t.Helper()
	e := *p.env
	e.t = t
	var found *v1beta1.ImageTagStatus
	e.eventually(node+" reports on "+image+" "+tag, func(c *require.Assertions, ctx context.Context) {
		current, err := p.kruise.AppsV1beta1().NodeImages().Get(ctx, node, metav1.GetOptions{})
		c.NoError(err)
		found = nil
		for _, report := range current.Status.ImageStatuses[image].Tags {
			if report.Tag == tag {
				found = &report
			}
		}
		c.NotNil(found, "no report")
		want(c, found)
	})
	return found
}

func completed(c *require.Assertions, report *v1beta1.ImageTagStatus) {
	c.NotNil(report.CompletionTime, "%s %s", report.Phase, report.Message)
}

// TestImagePulls makes the agents pull from registries that work, and from registries that fail in each of the ways that users
// meet.
// Cases image-predownload 33, 37.
func TestImagePulls(t *testing.T) {
	t.Parallel()
	p := newPulls(t)
	image := registrytest.Image(t, runtime.GOARCH, 1<<20)
	plain := p.registry(t)
	digest := plain.Push(t, "team/digest:1", image)
	list := plain.PushList(t, "team/list:1", map[string]v1.Image{runtime.GOARCH: image, "s390x": registrytest.Image(t, "s390x", 1<<10)})
	plain.PushList(t, "team/foreign:1", map[string]v1.Image{"s390x": registrytest.Image(t, "s390x", 1<<10)})
	guarded, hanging, dropping := p.registry(t, registrytest.Guarded), p.registry(t, registrytest.Hanging), p.registry(t, registrytest.Dropping)
	right, wrong := p.secret(t, guarded.Host, registrytest.Password), p.secret(t, guarded.Host, "wrong")
	closed := registrytest.Closed(t, p.address)
	require.NoError(t, p.cluster.UseRegistry(closed))

	for name, tc := range map[string]struct {
		node, image, tag string
		timeout          int32
		secrets          []string
		want             string
	}{
		"a tag":                    {"node-1", plain.Host + "/team/app", "1", 60, nil, ""},
		"a digest":                 {"node-1", plain.Host + "/team/digest", digest, 60, nil, ""},
		"a manifest list":          {"node-1", plain.Host + "/team/list", "1", 60, nil, ""},
		"a manifest list's digest": {"node-2", plain.Host + "/team/list", list, 60, nil, ""},
		"credentials":              {"node-1", guarded.Host + "/team/app", "1", 60, []string{right}, ""},
		"wrong ones, then right":   {"node-2", guarded.Host + "/team/app", "1", 60, []string{wrong, right}, ""},
		"wrong credentials":        {"node-3", guarded.Host + "/team/app", "1", 60, []string{wrong}, "the registry rejects the credentials: "},
		"no credentials": {"node-2", guarded.Host + "/team/other", "1", 60, nil,
			"the registry requires credentials, and no pull secret or credential provider plugin provides them: "},
		"a missing tag":    {"node-2", plain.Host + "/team/app", "2", 60, nil, "the image or tag does not exist in the registry: "},
		"another platform": {"node-2", plain.Host + "/team/foreign", "1", 60, nil, "the image has no variant for this node's platform: "},
		"a registry that hangs": {"node-1", hanging.Host + "/team/app", "1", 5, nil,
			"the pull did not finish within 5s (pullPolicy.timeoutSeconds); check the registry"},
		"a connection that drops": {"node-1", dropping.Host + "/team/app", "1", 60, nil,
			"the connection to the registry broke during the pull: "},
		"no listener":    {"node-1", closed + "/team/app", "1", 60, nil, "the registry cannot be reached: "},
		"an invalid tag": {"node-1", plain.Host + "/team/invalid", "a b", 60, nil, "invalid image reference "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy := limits()
			policy.TimeoutSeconds = &tc.timeout
			p.ask(t, tc.node, tc.image, &v1beta1.ImageTagSpec{Tag: tc.tag, PullPolicy: policy}, tc.secrets...)
			report := p.reported(t, tc.node, tc.image, tc.tag, completed)
			t.Log(report.Message)
			if tc.want == "" {
				assert.Equal(t, v1beta1.ImagePhaseSucceeded, report.Phase, report.Message)
				assert.Regexp(t, "^"+tc.image+"@sha256:[0-9a-f]{64}$", report.ImageID)
				return
			}
			assert.Equal(t, v1beta1.ImagePhaseFailed, report.Phase)
			assert.Contains(t, report.Message, tc.want)
		})
	}
}

// TestImagePullOntoAFullDisk checks that the pull fails with a message about what the node lacks, and succeeds once there is
// room.
func TestImagePullOntoAFullDisk(t *testing.T) {
	p := newPulls(t)
	r := p.registry(t)
	r.Push(t, "team/large:1", registrytest.Image(t, runtime.GOARCH, 8<<20))
	require.NoError(t, p.cluster.ShrinkImageDisk(t.Context(), 3, 2<<20))
	freed := false
	free := func(ctx context.Context) {
		if !freed {
			freed = true
			require.NoError(t, p.cluster.FreeImageDisk(ctx, 3))
		}
	}
	t.Cleanup(func() { free(context.WithoutCancel(t.Context())) })
	spec := &v1beta1.ImageTagSpec{Tag: "1", PullPolicy: limits()}
	p.ask(t, "node-3", r.Host+"/team/large", spec)
	report := p.reported(t, "node-3", r.Host+"/team/large", "1", completed)
	assert.Equal(t, v1beta1.ImagePhaseFailed, report.Phase)
	assert.Contains(t, report.Message, "the disk of the node is full: ")

	free(t.Context())
	spec.Version = 1
	p.ask(t, "node-3", r.Host+"/team/large", spec)
	report = p.reported(t, "node-3", r.Host+"/team/large", "1", func(c *require.Assertions, report *v1beta1.ImageTagStatus) {
		c.EqualValues(1, report.Version)
		completed(c, report)
	})
	assert.Equal(t, v1beta1.ImagePhaseSucceeded, report.Phase, report.Message)
}

// TestImagePullOutlivesRestarts kills the agent, then containerd, during a pull. The pull continues at its version until it
// succeeds.
func TestImagePullOutlivesRestarts(t *testing.T) {
	p := newPulls(t)
	for name, end := range map[string]func(){
		"agent":      func() { p.kill("control-plane=daemon") },
		"containerd": func() { killComponent(t, localcluster.ContainerdComponent(2)) },
	} {
		t.Run(name, func(t *testing.T) {
			gate := registrytest.NewGate()
			r := p.registry(t, gate.Guard)
			policy := limits()
			policy.TimeoutSeconds, policy.BackoffLimit = ptr.To[int32](600), ptr.To[int32](20)
			p.ask(t, "node-2", r.Host+"/team/app", &v1beta1.ImageTagSpec{Tag: "1", Version: 7, PullPolicy: policy})
			select {
			case <-gate.Reached:
			case <-time.After(patience):
				t.Fatal("nobody pulls")
			}
			before := p.reported(t, "node-2", r.Host+"/team/app", "1", func(c *require.Assertions, report *v1beta1.ImageTagStatus) {
				c.Equal(v1beta1.ImagePhasePulling, report.Phase)
			})
			end()
			gate.Open()
			after := p.reported(t, "node-2", r.Host+"/team/app", "1", completed)
			assert.Equal(t, v1beta1.ImagePhaseSucceeded, after.Phase, after.Message)
			assert.EqualValues(t, 7, after.Version)
			assert.True(t, before.StartTime.Equal(after.StartTime), "the first start counts")
		})
	}
}
