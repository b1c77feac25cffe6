//go:build integration

package integration

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// sentNodeImages is the number of NodeImage events that the server has sent to watchers.
func sentNodeImages(t *testing.T) (total int) {
	t.Helper()
	metrics, err := env.server.get(t.Context(), "/metrics")
	require.NoError(t, err)
	for _, line := range regexp.MustCompile(`(?m)^apiserver_watch_events_total\{[^}]*resource="nodeimages"[^}]*\} (\d+)$`).FindAllSubmatch(metrics, -1) {
		sent, err := strconv.Atoi(string(line[1]))
		require.NoError(t, err)
		total += sent
	}
	return total
}

// A thousand agents watch their own NodeImages, and a change of one NodeImage is sent to one agent.
// Case node-agent 25.
func TestOneWatcherOfAThousandIsNotified(t *testing.T) {
	t.Parallel()
	const agents = 1000
	config := direct(env.server, env.config)
	config.QPS = -1
	client, err := versioned.NewForConfig(config)
	require.NoError(t, err)
	images := client.AppsV1beta1().NodeImages()
	name := func(i int) string { return fmt.Sprintf("watched-%d", i) }
	created, err := images.Create(t.Context(), &v1beta1.NodeImage{
		ObjectMeta: metav1.ObjectMeta{Name: name(0), Labels: map[string]string{pub.FakeNodeImageKey: ""}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = images.Delete(context.WithoutCancel(t.Context()), name(0), metav1.DeleteOptions{}) })

	ctx, cancel := context.WithCancel(t.Context())
	notified := make(chan string, agents)
	var watchers errgroup.Group
	defer func() {
		cancel()
		assert.NoError(t, watchers.Wait())
	}()
	var opening errgroup.Group
	opening.SetLimit(50)
	for i := range agents {
		opening.Go(func() error {
			w, err := images.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name(i), ResourceVersion: created.ResourceVersion})
			if err != nil {
				return err
			}
			watchers.Go(func() error {
				defer w.Stop()
				for event := range w.ResultChan() {
					if event.Type == watch.Modified || event.Type == watch.Added {
						notified <- name(i)
					}
				}
				return nil
			})
			return nil
		})
	}
	require.NoError(t, opening.Wait())
	before := sentNodeImages(t)
	for range 3 {
		_, err = images.Patch(t.Context(), name(0), types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"at":%q}}}`,
			strconv.FormatInt(time.Now().UnixNano(), 10)), metav1.PatchOptions{})
		require.NoError(t, err)
		assert.Equal(t, name(0), <-notified)
	}
	// If each change were sent to every agent, the number would be in the thousands. kube-controller-manager watches all NodeImages,
	// so there can be a few more than three events.
	assert.Less(t, sentNodeImages(t)-before, agents)
	assert.Empty(t, notified)
}
