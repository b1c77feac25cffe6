package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// writeClaims creates and changes claims. A claim that no longer exists is no error. A conflict is none either: the next pass
// decides again.
func (x *execution) writeClaims(ctx context.Context, changes []ClaimChange) error {
	return x.Each(len(changes), func(i int) error {
		change := &changes[i]
		err := x.writeClaim(ctx, change)
		if err == nil {
			x.changed.Store(true)
		}
		return err
	})
}

func (x *execution) writeClaim(ctx context.Context, change *ClaimChange) error {
	if change.Before == nil {
		return x.createClaim(ctx, change.After, change.Pod)
	}
	result := Result{Act: change.Act, Pod: change.Pod, Claim: change.Before.Name}
	written, err := x.Server.PatchClaim(ctx, change.Before, change.After)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // The cache shows the other client's write soon.
	case err != nil:
		result.Err = err
		x.tell(result)
		return fmt.Errorf("update claim %s: %w", change.Before.Name, err)
	}
	x.Guard.Wrote(x.view.Object.GetUID(), ClaimResource.GroupResource(), written.ResourceVersion)
	x.tell(result)
	return nil
}
