package imagepuller

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/nodeagent/cluster"
)

// A NodeImage with the maximum number of images, all pulled, uses less than one MiB in the agent.
func TestMemoryOfAFullNodeImageIsBounded(t *testing.T) {
	const copies, images = 20, 256
	heap := func() int64 {
		// A sync.Pool frees its objects at the second collection. Earlier tests may have left objects in pools.
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	build := func() any {
		n := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{
			Name: node, ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(strings.Repeat("x", 1<<20))}},
		}}
		for i := range images {
			image := fmt.Sprintf("registry.example.com/team-%d/application", i)
			wants(image, tag("v1.2.3"))(n)
			now := metav1.Now()
			if n.Status.ImageStatuses == nil {
				n.Status.ImageStatuses = map[string]v1beta1.ImageStatus{}
			}
			n.Status.ImageStatuses[image] = v1beta1.ImageStatus{Tags: []v1beta1.ImageTagStatus{{
				Tag: "v1.2.3", Phase: v1beta1.ImagePhaseSucceeded, StartTime: &now, CompletionTime: &now,
				ImageID: image + "@sha256:" + strings.Repeat("0", 64),
			}}}
		}
		trimmed, err := cluster.Trim(n)
		require.NoError(t, err)
		return trimmed
	}
	before := heap()
	known := make([]any, 0, copies)
	for range copies {
		known = append(known, build())
	}
	after := heap()
	runtime.KeepAlive(known)
	each := (after - before) / copies
	t.Logf("bytes of a NodeImage with %d images: %d", images, each)
	assert.Less(t, each, int64(1<<20))
}
