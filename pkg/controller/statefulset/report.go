package statefulset

import (
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/engine"
)

// statusWriter writes the statuses of StatefulSets.
type statusWriter = controller.StatusWriter[*v1beta1.StatefulSet, v1beta1.StatefulSetStatus]

// newStatusWriter returns the writer of statuses. pace is shared by all StatefulSets, and keeps its times by UID.
func newStatusWriter(sets client.StatefulSetsGetter, guard engine.Guard, pace *engine.Pace) *statusWriter {
	return &statusWriter{
		Resource: statefulsets.GroupResource(), Guard: guard, Pace: pace,
		Client: func(namespace string) controller.StatusClient[*v1beta1.StatefulSet] {
			return sets.StatefulSets(namespace)
		},
		Of: func(set *v1beta1.StatefulSet) *v1beta1.StatefulSetStatus { return &set.Status },
	}
}
