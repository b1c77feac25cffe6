package migrate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Case kubectl-plugin 14: a Pod that is terminating is still one of the Pods.
func TestDeploymentIsSettledWithoutExtraOrTerminatingPods(t *testing.T) {
	for name, test := range map[string]struct {
		status appsv1.DeploymentStatus
		want   bool
	}{
		"as wanted":                        {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, TerminatingReplicas: new(int32(0))}, true},
		"of a server that does not count":  {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2}, true},
		"not observed":                     {appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2}, false},
		"more Pods":                        {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3}, false},
		"Pods that have not ended":         {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, TerminatingReplicas: new(int32(1))}, false},
		"fewer Pods, and one is not ended": {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, TerminatingReplicas: new(int32(1))}, false},
	} {
		found := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}, Status: test.status,
		}
		assert.Equal(t, end{Replicas: 2, Settled: test.want}, sourceOf(found), name)
	}
}
