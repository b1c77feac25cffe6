package cri

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/testutil"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kruise.io/kruise/pkg/nodeagent/cri/critest"
)

// Every call that the agent makes is measured under the name of its method.
func TestCallsAreMeasured(t *testing.T) {
	RegisterMetrics()
	socket := filepath.Join(t.TempDir(), "c.sock")
	critest.Start(t, socket, "containerd", "2.1.0")
	runtime, err := connect(t.Context(), socket)
	require.NoError(t, err)
	defer func() { assert.NoError(t, runtime.close(context.WithoutCancel(t.Context()))) }()
	for method, call := range map[string]func(){
		"Version":         func() { _, _ = runtime.Containers.Version(t.Context(), "") },
		"ListContainers":  func() { _, _ = runtime.Containers.ListContainers(t.Context(), nil) },
		"ContainerStatus": func() { _, _ = runtime.Containers.ContainerStatus(t.Context(), "a", false) },
		"StopContainer":   func() { _ = runtime.Containers.StopContainer(t.Context(), "a", 0) },
		"ExecSync":        func() { _, _, _ = runtime.Containers.ExecSync(t.Context(), "a", []string{"true"}, 0) },
		"ListImages":      func() { _, _ = runtime.Images.ListImages(t.Context(), nil) },
		"ImageStatus":     func() { _, _ = runtime.Images.ImageStatus(t.Context(), &runtimeapi.ImageSpec{Image: "app:1"}, false) },
		"PullImage":       func() { _, _ = runtime.Images.PullImage(t.Context(), &runtimeapi.ImageSpec{Image: "app:1"}, nil, nil) },
	} {
		t.Run(method, func(t *testing.T) {
			count := func() uint64 {
				observed, err := testutil.GetHistogramMetricCount(requestSeconds.WithLabelValues(method))
				require.NoError(t, err)
				return observed
			}
			before := count()
			call()
			assert.Equal(t, before+1, count())
		})
	}
}
