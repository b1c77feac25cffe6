//go:build containerd

package cri_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/nodeagent/cri"
	"kruise.io/kruise/pkg/nodeagent/cri/critest"
)

// detect waits for the runtime to answer.
func detect(t *testing.T, dir string) cri.Runtimes {
	t.Helper()
	var runtimes cri.Runtimes
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		sockets, err := cri.Sockets(dir, "")
		require.NoError(c, err)
		runtimes, err = cri.Detect(t.Context(), sockets)
		require.NoError(c, err)
	}, 30*time.Second, 100*time.Millisecond)
	t.Cleanup(func() { assert.NoError(t, runtimes.Close(context.WithoutCancel(t.Context()))) })
	return runtimes
}

// Cases node-agent 2, 21: with the real runtime.
func TestContainerd(t *testing.T) {
	dir := runDir(t)
	stop := critest.StartContainerd(t, dir)
	runtimes := detect(t, dir)
	require.Len(t, runtimes, 1)
	assert.Equal(t, "containerd", runtimes[0].Name)
	assert.NotEmpty(t, runtimes[0].Version)
	assert.Equal(t, filepath.Join(dir, "containerd/containerd.sock"), runtimes[0].Socket)
	require.NoError(t, cri.NewCheck(cri.NewChoice(runtimes, names("")), clock.RealClock{}).Check(t.Context()))

	stop()
	require.NoError(t, os.Remove(runtimes[0].Socket))
	fake := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	check := cri.NewCheck(cri.NewChoice(runtimes, names("")), fake)
	require.Error(t, check.Check(t.Context()))

	critest.StartContainerd(t, dir)
	now := fake.Now()
	require.Eventually(t, func() bool {
		now = now.Add(11 * time.Second)
		fake.SetTime(now)
		return check.Check(t.Context()) == nil
	}, 30*time.Second, 100*time.Millisecond)
	images, err := runtimes[0].Images.ListImages(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, images)
}
