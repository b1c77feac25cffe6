package imagepuller

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/nodeagent/cluster/clustertest"
	"kruise.io/kruise/pkg/nodeagent/credentials"
	"kruise.io/kruise/pkg/nodeagent/cri"
	"kruise.io/kruise/pkg/nodeagent/cri/critest"
)

// Attempts fail while the runtime is away. A later attempt succeeds when the runtime is back, without a restart of the agent.
// Case node-agent 21.
func TestPullsContinueWhenTheSocketReturns(t *testing.T) {
	dir, err := os.MkdirTemp("", "run") //nolint:usetesting // A socket's path has at most 107 bytes.
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	socket := filepath.Join(dir, "containerd.sock")
	server := critest.Start(t, socket, "containerd", "2.1.0")
	runtimes, err := cri.Detect(t.Context(), []string{socket})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, runtimes.Close(context.WithoutCancel(t.Context()))) })
	pulling := make(chan struct{})
	server.OnPull(func(ctx context.Context, _ *runtimeapi.PullImageRequest) error {
		close(pulling)
		<-ctx.Done()
		return ctx.Err()
	})

	image := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: node, UID: "uid-1"}}
	wants("nginx", tag("1", tries(600, 9)))(image)
	client := fake.NewClientset(image)
	c, err := New(Config{
		Node: node, Client: clustertest.New(nil, client), Images: using(runtimes[0].Images), Plugins: &credentials.Plugins{},
		Recorder: &record.FakeRecorder{}, Clock: clock.RealClock{},
		Secrets: func(context.Context) ([]corev1.Secret, error) { return nil, nil },
	})
	require.NoError(t, err)
	ctx := t.Context()
	defer agenttest.Run(ctx, c.Run)()
	report := func(c require.TestingT) *v1beta1.ImageTagStatus {
		got, err := client.AppsV1beta1().NodeImages().Get(ctx, node, metav1.GetOptions{})
		require.NoError(c, err)
		report := reportOf(got, "nginx", "1")
		require.NotNil(c, report)
		return report
	}
	<-pulling
	server.Stop()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Contains(c, report(c).Message, noRuntime)
	}, 30*time.Second, 20*time.Millisecond)
	assert.Equal(t, v1beta1.ImagePhasePulling, report(t).Phase)

	back := critest.Start(t, socket, "containerd", "2.1.0")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, v1beta1.ImagePhaseSucceeded, report(c).Phase)
	}, 60*time.Second, 20*time.Millisecond)
	assert.Equal(t, "nginx@sha256:of-docker.io/library/nginx:1", report(t).ImageID)
	assert.Len(t, back.Pulled(), 1)
}
