package workloadspread

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/spread"
)

// highestOwner limits how many owners above a Pod are looked at, as at the creation of Pods.
const highestOwner = 5

// chain is the controller of a Pod, the controller of that one, and so on.
type chain struct {
	workloads []disruption.Workload
	// open is true if an owner exists but cannot be read, so the target may be above it.
	open bool
}

// chainOf reads the owners of a Pod. The chain is empty if one of them was deleted, or replaced by another of its name: no recount counts
// the Pod any more, so it holds no slot. The chain ends where the WorkloadSpread of the given name cannot have a target above. It has
// the controller of the Pod's controller in any case, which costs no further read.
func (p *Plugin) chainOf(ctx context.Context, pod *corev1.Pod, name string) (c chain, err error) {
	item, _, _ := p.known.GetByKey(cache.NewObjectName(pod.Namespace, name).String()) // The cache returns no error.
	known, _ := item.(*v1beta1.WorkloadSpread)
	var object metav1.Object = pod
	for range highestOwner {
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
			c.open = true
			return c, nil
		case owner.GetUID() != ref.UID:
			return chain{}, nil
		}
		object = owner
	}
	return c, nil
}

// leadsTo reports whether the target of the WorkloadSpread is in the chain, and all objects below it are of kinds that can stand between
// the target and its Pods.
func (c chain) leadsTo(object *v1beta1.WorkloadSpread) bool {
	for _, workload := range c.workloads {
		if targets(object, workload) {
			return true
		}
		if !spread.HasIntermediateOwner(object, workload.GroupKind) {
			return false
		}
	}
	return c.open
}

// targets reports whether a workload in the namespace of the WorkloadSpread is its target.
func targets(object *v1beta1.WorkloadSpread, workload disruption.Workload) bool {
	return object.Spec.TargetRef != nil && spread.KindOf(object) == workload.GroupKind && object.Spec.TargetRef.Name == workload.Name
}
