//go:build containerd

package imagepuller

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/nodeagent/cluster/clustertest"
	"kruise.io/kruise/pkg/nodeagent/credentials"
	"kruise.io/kruise/pkg/nodeagent/cri"
	"kruise.io/kruise/pkg/nodeagent/cri/critest"
	"kruise.io/kruise/pkg/nodeagent/imagepuller/registrytest"
)

const loopback = "127.0.0.1"

// containerd runs the real runtime in a folder and returns its image service.
func containerd(t *testing.T, dir string) Images {
	t.Helper()
	critest.StartContainerd(t, dir)
	var found cri.Runtimes
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		sockets, err := cri.Sockets(dir, "")
		require.NoError(c, err)
		found, err = cri.Detect(t.Context(), sockets)
		require.NoError(c, err)
	}, time.Minute, 100*time.Millisecond)
	t.Cleanup(func() { assert.NoError(t, found.Close(context.WithoutCancel(t.Context()))) })
	return found[0].Images
}

// shortDir creates a folder whose path is short enough for a socket path.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "run") //nolint:usetesting // A socket's path has at most 107 bytes.
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// pullReally runs the agent until the pull of one tag has completed.
func pullReally(t *testing.T, images Images, image string, spec v1beta1.ImageTagSpec, passwords ...string) v1beta1.ImageTagStatus {
	t.Helper()
	var secrets []corev1.Secret
	entry := v1beta1.ImageSpec{Tags: []v1beta1.ImageTagSpec{spec}}
	for _, password := range passwords {
		data, err := json.Marshal(map[string]any{image: map[string]string{"username": registrytest.Username, "password": password}})
		require.NoError(t, err)
		secrets = append(secrets, corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: password}, Type: corev1.SecretTypeDockercfg,
			Data: map[string][]byte{corev1.DockerConfigKey: data},
		})
		entry.PullSecrets = append(entry.PullSecrets, v1beta1.ReferenceObject{Namespace: "a", Name: password})
	}
	client := fake.NewClientset(&v1beta1.NodeImage{
		ObjectMeta: metav1.ObjectMeta{Name: node, UID: "uid-1"}, Spec: v1beta1.NodeImageSpec{Images: map[string]v1beta1.ImageSpec{image: entry}},
	})
	c, err := New(Config{
		Node: node, Client: clustertest.New(nil, client), Images: using(images), Plugins: &credentials.Plugins{}, Recorder: &record.FakeRecorder{}, Clock: clock.RealClock{},
		Secrets: func(context.Context) ([]corev1.Secret, error) { return secrets, nil },
	})
	require.NoError(t, err)
	ctx := t.Context()
	defer agenttest.Run(ctx, c.Run)()
	var last v1beta1.ImageTagStatus
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		got, err := client.AppsV1beta1().NodeImages().Get(ctx, node, metav1.GetOptions{})
		require.NoError(c, err)
		report := reportOf(got, image, spec.Tag)
		require.NotNil(c, report)
		require.NotNil(c, report.CompletionTime)
		last = *report
	}, 2*time.Minute, 50*time.Millisecond)
	t.Log(last.Message)
	return last
}

// TestFailuresOfRealPulls checks that the agent recognizes the error texts of the real runtime.
func TestFailuresOfRealPulls(t *testing.T) {
	images := containerd(t, shortDir(t))
	once := tries(20, 0)
	start := func(t *testing.T, behaviours ...registrytest.Behaviour) *registrytest.Registry {
		r := registrytest.Start(t, loopback, behaviours...)
		r.Push(t, "team/app:1", registrytest.Image(t, runtime.GOARCH, 1<<20))
		return r
	}
	tests := map[string]struct {
		host      func(*testing.T) string
		spec      v1beta1.ImageTagSpec
		passwords []string
		want      string
	}{
		"without credentials":        {func(t *testing.T) string { return start(t, registrytest.Guarded).Host }, tag("1", once), nil, noCredentials},
		"a wrong password":           {func(t *testing.T) string { return start(t, registrytest.Guarded).Host }, tag("1", once), []string{"wrong"}, refused},
		"a tag that is not there":    {func(t *testing.T) string { return start(t).Host }, tag("2", once), nil, absent},
		"a digest that is not there": {func(t *testing.T) string { return start(t).Host }, tag(someDigest, once), nil, absent},
		"no listener":                {func(t *testing.T) string { return registrytest.Closed(t, loopback) }, tag("1", once), nil, unreachable},
		"no such host":               {func(*testing.T) string { return "registry.invalid" }, tag("1", once), nil, unreachable},
		"the registry hangs": {func(t *testing.T) string { return start(t, registrytest.Hanging).Host }, tag("1", tries(3, 0)), nil,
			"the pull did not finish within 3s (pullPolicy.timeoutSeconds); check the registry"},
		"the connection is cut in a layer": {func(t *testing.T) string { return start(t, registrytest.Dropping).Host }, tag("1", once), nil, interrupted},
		"the registry is broken":           {func(t *testing.T) string { return start(t, registrytest.Failing).Host }, tag("1", once), nil, registryFailure},
		"no variant for the platform": {func(t *testing.T) string {
			r := registrytest.Start(t, loopback)
			r.PushList(t, "team/app:1", map[string]v1.Image{"s390x": registrytest.Image(t, "s390x", 1<<10)})
			return r.Host
		}, tag("1", once), nil, noPlatform},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := pullReally(t, images, test.host(t)+"/team/app", test.spec, test.passwords...)
			assert.Equal(t, v1beta1.ImagePhaseFailed, report.Phase)
			assert.Contains(t, report.Message, test.want)
			assert.True(t, len(report.Message) > len(test.want)+10, "the runtime's words are kept: %s", report.Message)
		})
	}
}

// Case image-predownload 37.
func TestRealPulls(t *testing.T) {
	images := containerd(t, shortDir(t))
	image := registrytest.Image(t, runtime.GOARCH, 1<<20)
	plain := registrytest.Start(t, loopback)
	guarded := registrytest.Start(t, loopback, registrytest.Guarded)
	digest := plain.Push(t, "team/app:1", image)
	guarded.Push(t, "team/app:1", image)
	list := plain.PushList(t, "team/list:1", map[string]v1.Image{runtime.GOARCH: image, "s390x": registrytest.Image(t, "s390x", 1<<10)})
	tests := map[string]struct {
		image     string
		spec      v1beta1.ImageTagSpec
		passwords []string
	}{
		"a tag":                           {plain.Host + "/team/app", tag("1"), nil},
		"a digest":                        {plain.Host + "/team/app", tag(digest), nil},
		"a manifest list":                 {plain.Host + "/team/list", tag("1"), nil},
		"the digest of a manifest list":   {plain.Host + "/team/list", tag(list), nil},
		"a password":                      {guarded.Host + "/team/app", tag("1"), []string{registrytest.Password}},
		"the second of two passwords":     {guarded.Host + "/team/app", tag("1", always), []string{"wrong", registrytest.Password}},
		"what is there already, for good": {plain.Host + "/team/app", tag("1"), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := pullReally(t, images, test.image, test.spec, test.passwords...)
			assert.Equal(t, v1beta1.ImagePhaseSucceeded, report.Phase, report.Message)
			assert.Regexp(t, "^"+test.image+"@sha256:[0-9a-f]{64}$", report.ImageID)
			id, err := (&Controller{config: Config{Images: using(images)}}).present(t.Context(), newTask(test.image, &v1beta1.ImageSpec{}, &v1beta1.ImageTagSpec{Tag: test.spec.Tag}))
			require.NoError(t, err)
			assert.Equal(t, report.ImageID, test.image+"@"+id, "the runtime finds it again under its name")
		})
	}
}

func TestPullOntoRealFullDisk(t *testing.T) {
	dir := shortDir(t)
	images := containerd(t, dir)
	content := filepath.Join(dir, "root", "io.containerd.content.v1.content")
	require.NoError(t, syscall.Mount("tmpfs", content, "tmpfs", 0, "size=2m"))
	mounted := true
	free := func() {
		if mounted {
			mounted = false
			assert.NoError(t, syscall.Unmount(content, syscall.MNT_DETACH))
		}
	}
	t.Cleanup(free)
	for _, part := range []string{"blobs/sha256", "ingest"} {
		require.NoError(t, os.MkdirAll(filepath.Join(content, part), 0o755))
	}
	r := registrytest.Start(t, loopback)
	r.Push(t, "team/app:1", registrytest.Image(t, runtime.GOARCH, 8<<20))
	report := pullReally(t, images, r.Host+"/team/app", tag("1", tries(20, 0)))
	assert.Equal(t, v1beta1.ImagePhaseFailed, report.Phase)
	assert.Contains(t, report.Message, diskFull)

	// The disk has room again, and complete images stay.
	kept, blobs := t.TempDir(), filepath.Join(content, "blobs")
	require.NoError(t, os.CopyFS(kept, os.DirFS(blobs)))
	free()
	require.NoError(t, os.CopyFS(blobs, os.DirFS(kept)))
	report = pullReally(t, images, r.Host+"/team/app", tag("1", tries(20, 0)))
	assert.Equal(t, v1beta1.ImagePhaseSucceeded, report.Phase, report.Message)
}
