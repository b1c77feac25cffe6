package containerreporter

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
)

// bytesPerPod returns the memory in bytes that one cached Pod uses.
func bytesPerPod(t *testing.T, n int, build func(i int) *corev1.Pod) int {
	t.Helper()
	heap := func() int64 {
		// A sync.Pool frees its objects at the second collection. Earlier tests may have left objects in pools.
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before := heap()
	known := make([]any, 0, n)
	for i := range n {
		trimmed, err := trim(build(i))
		require.NoError(t, err)
		known = append(known, trimmed)
	}
	after := heap()
	runtime.KeepAlive(known)
	return int(after-before) / n
}

// The cache keeps nothing that a user wrote into the Pod.
func TestMemoryOfAPodIsBounded(t *testing.T) {
	big := func(i int) *corev1.Pod {
		pod := newPod(fmt.Sprintf("web-%d", i), "main", "side")
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(strings.Repeat("x", 4<<10))}}
		pod.Annotations = map[string]string{
			"note": strings.Repeat("y", 4<<10),
			pub.RuntimeContainerMetaKey: `{"containers":[{"name":"main","containerID":"test://0123456789abcdef","hashes":{"plainHash":1}},
				{"name":"side","containerID":"test://0123456789abcdef","hashes":{"plainHash":1}}]}`,
		}
		runs(pod, "main", "0123456789abcdef")
		runs(pod, "side", "0123456789abcdef")
		return pod
	}
	ours := bytesPerPod(t, 5000, big)
	others := bytesPerPod(t, 5000, func(i int) *corev1.Pod {
		pod := big(i)
		pod.OwnerReferences = nil
		return pod
	})
	t.Logf("bytes per Pod: %d reported on, %d others", ours, others)
	// A Pod of this size is about the largest that the API server accepts.
	variables := bytesPerPod(t, 100, func(i int) *corev1.Pod {
		pod := newPod(fmt.Sprintf("web-%d", i), "main")
		pod.Spec.Containers[0].Env = manyVariables(14000)
		return pod
	})
	t.Logf("bytes per Pod with variables: %d", variables)
	assert.Less(t, variables, 3<<10)
	assert.Less(t, ours, 3<<10)
	assert.Less(t, others, 1<<10)
}

// manyVariables returns variables that read a label. No two share memory, as in Pods from the API server.
func manyVariables(n int) (env []corev1.EnvVar) {
	for i := range n {
		env = append(env, corev1.EnvVar{Name: fmt.Sprint("V", i), ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: strings.Clone("metadata.labels['v']")},
		}})
	}
	return env
}

// Users can write the annotation of the report, and the agent keeps all reports of the node.
func TestReportIsKeptOnlyForContainersOfThePod(t *testing.T) {
	pod := newPod("web", "main", "side")
	entry := func(name string) containerreport.Container {
		return containerreport.Container{Name: name, ContainerID: "test://" + name}
	}
	kept := known(pod, &containerreport.Report{Containers: []containerreport.Container{entry("x"), entry("main"), entry("main"), entry("side"), {}}})
	assert.Equal(t, []containerreport.Container{entry("main"), entry("main")}, kept.Containers, "no more than the Pod has containers")
	assert.Nil(t, known(pod, nil))
	// A list that is nil would differ from that of the agent's own report, which would be written again and again.
	assert.Equal(t, &containerreport.Report{Containers: []containerreport.Container{}},
		known(pod, &containerreport.Report{Containers: []containerreport.Container{}}))
}
