package workloadspread

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/admission/owners"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/spread"
)

// chain is the controller of a Pod, the controller of that one, and so on.
type chain struct {
	workloads []disruption.Workload
	// incomplete is true if an owner exists but cannot be read, so the target may be above it.
	incomplete bool
}

// chainOf reads the controllers above a Pod. The chain is empty if one of them was deleted, or replaced by another object of its name:
// recounts skip such a Pod, so it holds no slot. It is also empty if the slots of the subset are not counted. Reading stops at the target
// of the WorkloadSpread, or where no target can be higher. The controller of the Pod's controller is always in the chain, because it needs
// no further read.
func (p *Plugin) chainOf(ctx context.Context, pod *corev1.Pod, matched spread.Matched) (c chain, err error) {
	item, _, _ := p.known.GetByKey(cache.NewObjectName(pod.Namespace, matched.Name).String()) // The cache returns no error.
	known, _ := item.(*v1beta1.WorkloadSpread)
	if known != nil && !spread.CountsSlots(known, matched.Subset) {
		return chain{}, nil
	}
	var object metav1.Object = pod
	for range owners.Highest {
		workload, ref := disruption.ControllerOf(object)
		if ref == nil {
			return c, nil
		}
		c.workloads = append(c.workloads, workload)
		if len(c.workloads) > 1 && (known == nil || targets(known, workload) || !spread.HasIntermediateOwner(known, workload.GroupKind)) {
			return c, nil
		}
		owner, err := p.owners.Get(ctx, pod.Namespace, ref)
		switch {
		case apierrors.IsNotFound(err):
			return chain{}, nil
		case err != nil:
			return chain{}, err
		case owner == nil:
			c.incomplete = true
			return c, nil
		case owner.GetUID() != ref.UID:
			return chain{}, nil
		}
		object = owner
	}
	return c, nil
}

// mayInclude reports whether the target of the WorkloadSpread owns the Pod. It also returns true if an owner cannot be read, and the
// target may be above it.
func (c chain) mayInclude(object *v1beta1.WorkloadSpread) bool {
	for _, workload := range c.workloads {
		if targets(object, workload) {
			return true
		}
		if !spread.HasIntermediateOwner(object, workload.GroupKind) {
			return false
		}
	}
	return c.incomplete
}

// targets reports whether a workload in the namespace of the WorkloadSpread is its target.
func targets(object *v1beta1.WorkloadSpread, workload disruption.Workload) bool {
	return object.Spec.TargetRef != nil && spread.KindOf(object) == workload.GroupKind && object.Spec.TargetRef.Name == workload.Name
}
