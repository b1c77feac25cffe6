package engine

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// largestBatch is the maximum number of Pods that a slow start creates at once. The width of the pass still limits concurrent
// requests.
const largestBatch = 64

// create creates the instances of each revision. A policy that refuses the template of one revision holds back no other one.
func (x *execution) create(ctx context.Context, creations []Creation) error {
	var failures []error
	for len(creations) > 0 {
		revision := creations[0].Blueprint.Revision
		var alike, others []Creation
		for _, creation := range creations {
			if creation.Blueprint.Revision == revision {
				alike = append(alike, creation)
			} else {
				others = append(others, creation)
			}
		}
		failures, creations = append(failures, x.createAlike(ctx, alike)), others
	}
	return errors.Join(failures...)
}

// createAlike creates instances in batches that grow until a creation fails. A quota or a webhook that refuses all of them is then
// asked only a few times. A name that another Pod has is the problem of one instance, so the others are created all the same.
func (x *execution) createAlike(ctx context.Context, creations []Creation) error {
	var taken []error
	err := x.SlowStart(len(creations), largestBatch, func(i int) error {
		err := x.createInstance(ctx, &creations[i])
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		x.lock.Lock()
		defer x.lock.Unlock()
		taken = append(taken, err)
		return nil
	})
	return errors.Join(append(taken, err)...)
}

// createInstance creates the missing claims of an instance, and then its Pod. If the process ends between the two, the next
// pass finds claims without a Pod: it reuses them if the workload reuses claims, and deletes them otherwise.
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
		if err := x.createClaim(ctx, claim, pod.Name); err != nil {
			return err
		}
	}
	created, err := x.Server.CreatePod(ctx, pod, false)
	if err != nil {
		created, err = x.createdAfterAll(ctx, pod, creation.ID, err)
	}
	if err != nil {
		return x.failedCreate(Result{Pod: pod.Name, Err: err})
	}
	x.changed.Store(true)
	// An attempt of an earlier pass for this ID need not be kept any longer.
	x.lock.Lock()
	x.created[creation.ID] = true
	x.lock.Unlock()
	x.Guard.Wrote(x.view.Object.GetUID(), PodResource.GroupResource(), created.ResourceVersion)
	x.tell(Result{Act: Create, Pod: pod.Name})
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
		return x.failedCreate(Result{Pod: pod.Name, Err: err})
	}
	return nil
}

// createClaim creates a claim for a Pod. If the answer was lost, or the claim exists already, claimAfterAll decides.
func (x *execution) createClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, pod string) error {
	created, err := x.Server.CreateClaim(ctx, claim)
	if err != nil {
		created, err = x.claimAfterAll(ctx, claim, err)
	}
	if err != nil {
		return x.failedCreate(Result{Pod: pod, Claim: claim.Name, Err: err})
	}
	x.Guard.Wrote(x.view.Object.GetUID(), ClaimResource.GroupResource(), created.ResourceVersion)
	x.tell(Result{Act: Create, Pod: pod, Claim: claim.Name})
	return nil
}

// failedCreate reports a failed creation as an event, and returns it as an error.
func (x *execution) failedCreate(result Result) error {
	result.Act = Create
	x.tell(result)
	if result.Claim != "" {
		return fmt.Errorf("create pvc %s: %w", result.Claim, result.Err)
	}
	return fmt.Errorf("create pod %s: %w", result.Pod, result.Err)
}
