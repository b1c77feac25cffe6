package cloneset

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/engine"
)

// reporter writes to CloneSets.
type reporter struct {
	sets  client.CloneSetsGetter
	guard engine.Guard
}

// write writes the status if it differs. After a conflict it writes the same status to the fresh object, because the status
// names the generation that it describes.
func (r *reporter) write(ctx context.Context, set *v1beta1.CloneSet, status v1beta1.CloneSetStatus) error {
	stored, err := controller.UpdateStatus(ctx, r.sets.CloneSets(set.Namespace), set, func(fresh *v1beta1.CloneSet) error {
		fresh.Status = status
		return nil
	})
	if err == nil && stored != nil && stored.ResourceVersion != set.ResourceVersion {
		r.guard.Wrote(set.UID, clonesets.GroupResource(), stored.ResourceVersion)
	}
	return err
}

// clearPodsToDelete removes the names of deleted Pods from spec.scaleStrategy.podsToDelete. It never overwrites a user's edit of
// that list.
func (r *reporter) clearPodsToDelete(ctx context.Context, set *v1beta1.CloneSet, pods []*corev1.Pod) error {
	if len(set.Spec.ScaleStrategy.PodsToDelete) == 0 {
		return nil
	}
	active := map[string]bool{}
	for _, pod := range pods {
		active[pod.Name] = true
	}
	keep := []string{}
	for _, name := range set.Spec.ScaleStrategy.PodsToDelete {
		if active[name] {
			keep = append(keep, name)
		}
	}
	if len(keep) == len(set.Spec.ScaleStrategy.PodsToDelete) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": set.ResourceVersion, "uid": set.UID},
		"spec":     map[string]any{"scaleStrategy": map[string]any{"podsToDelete": keep}},
	})
	if err != nil {
		return fmt.Errorf("encode podsToDelete: %w", err)
	}
	written, err := r.sets.CloneSets(set.Namespace).Patch(ctx, set.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// The conflicting change triggers another pass.
		return nil
	}
	if err != nil {
		return fmt.Errorf("clear scaleStrategy.podsToDelete: %w", err)
	}
	r.guard.Wrote(set.UID, clonesets.GroupResource(), written.ResourceVersion)
	return nil
}
