package engine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kruise.io/kruise/pkg/workload/podcontrol"
)

// largestBatch is the maximum number of Pods that a slow start creates at once.
const largestBatch = 64

// create creates instances in batches that grow until a creation fails.
func (x *execution) create(ctx context.Context, creations []Creation) error {
	return podcontrol.SlowStart(len(creations), largestBatch, func(begin, end int) error {
		if begin > 0 && x.spent() {
			return nil
		}
		return x.each(end-begin, func(i int) error { return x.createInstance(ctx, &creations[begin+i]) })
	})
}

// createInstance creates the missing claims of an instance, and then its Pod.
func (x *execution) createInstance(ctx context.Context, creation *Creation) error {
	pod := creation.Blueprint.Build(creation.ID, x.view.Now)
	var missing []*corev1.PersistentVolumeClaim
	for _, claim := range creation.Blueprint.Claims(creation.ID) {
		if !x.view.claims.names[claim.Name] {
			missing = append(missing, claim)
		}
	}
	if err := x.tryCreate(ctx, pod, len(missing)); err != nil {
		return err
	}
	for _, claim := range missing {
		if err := x.createClaim(ctx, claim); err != nil {
			return err
		}
	}
	created, err := x.Server.CreatePod(ctx, pod, false)
	if err != nil {
		created, err = x.createdAfterAll(ctx, pod, creation.ID, err)
	}
	if err != nil {
		return x.failedCreate("pod", pod.Name, err)
	}
	x.changed.Store(true)
	x.lock.Lock()
	x.created[creation.ID] = true
	x.lock.Unlock()
	x.Guard.Wrote(x.view.Object.GetUID(), PodResource.GroupResource(), created.ResourceVersion)
	x.eventf(corev1.EventTypeNormal, "SuccessfulCreate", "succeed to create pod %s", pod.Name)
	return nil
}

// tryCreate sends the Pod as a dry run before its claims are created, if creations failed in an earlier pass. Without the dry
// run, claims would be created for a Pod that the server rejects, and deleted again where claims are not reused. Each of these
// writes would trigger the next pass at once, forever.
func (x *execution) tryCreate(ctx context.Context, pod *corev1.Pod, claims int) error {
	if claims == 0 || !x.view.CreateFailed {
		return nil
	}
	if _, err := x.Server.CreatePod(ctx, pod, true); err != nil {
		return x.failedCreate("pod", pod.Name, err)
	}
	return nil
}

func (x *execution) createClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	created, err := x.Server.CreateClaim(ctx, claim)
	if err != nil {
		created, err = x.claimAfterAll(ctx, claim, err)
	}
	if err != nil {
		return x.failedCreate("pvc", claim.Name, err)
	}
	x.Guard.Wrote(x.view.Object.GetUID(), ClaimResource.GroupResource(), created.ResourceVersion)
	return nil
}

// failedCreate reports a failed creation as an event, and returns it as an error. It sends no event if the namespace is being
// deleted, because all objects in it go away.
func (x *execution) failedCreate(what, name string, err error) error {
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		x.eventf(corev1.EventTypeWarning, "FailedCreate", "failed to create %s: %v", what, err)
	}
	return fmt.Errorf("create %s %s: %w", what, name, err)
}
