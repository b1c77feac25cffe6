package persistentpodstate

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workloadclient"
)

// customController returns the controller of a Pod, or nil if it is of a kind of the table of workload kinds, or of the core group, as
// the Node of a static Pod.
func customController(pod *corev1.Pod) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return nil
	}
	if kind := kindOf(ref); kind.Group == corev1.GroupName || kinds.Of(kind) != nil {
		return nil
	}
	return ref
}

func kindOf(ref *metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
}

// absentOfCustom generates the PersistentPodState of a workload of a kind that the administrator allows. Such a kind is not watched: its
// workloads are found by their Pods, and read once in controller.UnwatchedPeriod as long as they have Pods, however many these are.
func (r *Reconciler) absentOfCustom(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	owners, err := r.customOwners(key)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(owners) == 0 {
		r.pacer.Forget(key)
		r.ungenerated.Forget(key)
		return reconcile.Result{}, nil
	}
	// A kind that is not allowed may be allowed later.
	again := reconcile.Result{RequeueAfter: controller.UnwatchedPeriod}
	allowed, err := r.listed.Now(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	for kind := range owners {
		if !allowed.Has(kind) {
			delete(owners, kind)
		}
	}
	if len(owners) == 0 {
		return again, nil
	}
	if early := r.pacer.Wait(key, r.clock.Now()); early > 0 {
		return reconcile.Result{RequeueAfter: early, KeepFailures: true}, nil
	}
	return again, r.generateForOwners(ctx, key, owners)
}

// customOwners returns the references of Pods to controllers with the name of the key, one for each custom kind.
func (r *Reconciler) customOwners(key types.NamespacedName) (map[schema.GroupKind]*metav1.OwnerReference, error) {
	pods, err := controller.ByUnwatched[*corev1.Pod](r.pods, key)
	if err != nil {
		return nil, err
	}
	owners := map[schema.GroupKind]*metav1.OwnerReference{}
	for _, pod := range pods {
		if ref := customController(pod); ref != nil {
			owners[kindOf(ref)] = ref
		}
	}
	return owners, nil
}

// generateForOwners reads the workloads, and generates the PersistentPodState of the first that asks for one. A workload that the
// controllers may not read gets an event, and does not prevent that of another one.
func (r *Reconciler) generateForOwners(
	ctx context.Context, key types.NamespacedName, owners map[schema.GroupKind]*metav1.OwnerReference,
) error {
	unread, about := map[schema.GroupResource]schema.GroupKind{}, &corev1.ObjectReference{}
	for kind, ref := range owners {
		workload, err := r.workload(ctx, kind, key.Namespace, key.Name)
		if forbidden, is := errors.AsType[*workloadclient.ForbiddenError](err); is {
			unread[forbidden.Resource] = kind
			about = &corev1.ObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: key.Namespace, Name: ref.Name, UID: ref.UID}
			continue
		}
		// A kind that is not served has no workloads.
		if err != nil && !workloadclient.Missing(err) {
			return err
		}
		if workload == nil {
			continue
		}
		asked, err := r.generate(ctx, workload.GetObjectKind().GroupVersionKind(), workload)
		if apierrors.IsInvalid(err) {
			r.refused(workload, err)
			return nil
		}
		if asked || err != nil {
			return err
		}
	}
	r.ungenerated.Tell(key, about, unread, "no PersistentPodState is generated from its annotations")
	return nil
}
