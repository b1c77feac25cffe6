package exec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/kubectl/exec"
)

// Case kubectl-plugin 18: the annotation of the Pod names the working container.
func TestWorkingContainer(t *testing.T) {
	pod := func(value string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{pub.SidecarSetWorkingContainersKey: value}}}
	}
	assert.Equal(t, "side-2", exec.Working(pod(`{"side":"side-2"}`), "side"))
	assert.Empty(t, exec.Working(pod(`{"side":"side-2"}`), "other"))
	assert.Empty(t, exec.Working(pod(`no JSON`), "side"))
	assert.Empty(t, exec.Working(&corev1.Pod{}, "side"))
}
