package podunavailablebudget

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kruise.io/kruise/pkg/workload/disruption"
)

// workloadsOf returns the controller of the Pod and the controller of that one, for example a ReplicaSet and its
// Deployment. A budget can target either. orphaned is true if the controller of the Pod is deleted, replaced or
// terminating; then garbage collection deletes the Pod. An owner that exists but cannot be read is used as it is in
// the reference, without a controller of its own.
func (p *Plugin) workloadsOf(ctx context.Context, pod *corev1.Pod) (workloads []disruption.Workload, orphaned bool, err error) {
	first, ref := disruption.ControllerOf(pod)
	if ref == nil {
		return nil, false, nil
	}
	owner, err := p.owners.Get(ctx, pod.Namespace, ref)
	switch {
	case apierrors.IsNotFound(err):
		return nil, true, nil
	case err != nil:
		return nil, false, err
	case owner == nil:
		return []disruption.Workload{first}, false, nil
	case owner.GetUID() != ref.UID || owner.GetDeletionTimestamp() != nil:
		return nil, true, nil
	}
	workloads = []disruption.Workload{first}
	if second, above := disruption.ControllerOf(owner); above != nil {
		workloads = append(workloads, second)
	}
	return workloads, false, nil
}
