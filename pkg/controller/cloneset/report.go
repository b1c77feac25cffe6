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

// statusWriter writes the statuses of CloneSets.
type statusWriter = controller.StatusWriter[*v1beta1.CloneSet, v1beta1.CloneSetStatus]

// newStatusWriter returns the writer of statuses. pace is shared by all CloneSets, and keeps its times by UID.
func newStatusWriter(sets client.CloneSetsGetter, guard engine.Guard, pace *engine.Pace) *statusWriter {
	return &statusWriter{
		Resource: clonesets.GroupResource(), Guard: guard, Pace: pace,
		Client: func(namespace string) controller.StatusClient[*v1beta1.CloneSet] { return sets.CloneSets(namespace) },
		Of:     func(set *v1beta1.CloneSet) *v1beta1.CloneSetStatus { return &set.Status },
	}
}

// podsToDelete edits the lists of Pods to delete in the specs of CloneSets.
type podsToDelete struct {
	sets  client.CloneSetsGetter
	guard engine.Guard
}

// clear removes the names of deleted Pods from spec.scaleStrategy.podsToDelete, and returns the updated CloneSet. Call it before new
// Pods are created: a Pod that reuses the claims of a deleted Pod also has its name, and must not be deleted. It never overwrites a
// user's edit of that list. The patch names the resourceVersion of the list that it was computed from, so any change since then refuses
// it. pods are the active Pods of the pass: a Pod that is terminating counts as deleted.
func (r *podsToDelete) clear(ctx context.Context, set *v1beta1.CloneSet, pods []*corev1.Pod) (*v1beta1.CloneSet, error) {
	if len(set.Spec.ScaleStrategy.PodsToDelete) == 0 {
		return set, nil
	}
	active := map[string]bool{}
	for _, pod := range pods {
		active[pod.Name] = true
	}
	// keep is not nil, because null in a merge patch would remove the field instead of writing an empty list.
	keep := []string{}
	for _, name := range set.Spec.ScaleStrategy.PodsToDelete {
		if active[name] {
			keep = append(keep, name)
		}
	}
	if len(keep) == len(set.Spec.ScaleStrategy.PodsToDelete) {
		return set, nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": set.ResourceVersion, "uid": set.UID},
		"spec":     map[string]any{"scaleStrategy": map[string]any{"podsToDelete": keep}},
	})
	if err != nil {
		return set, fmt.Errorf("encode podsToDelete: %w", err)
	}
	written, err := r.sets.CloneSets(set.Namespace).Patch(ctx, set.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// The conflicting change triggers another pass.
		return set, nil
	}
	if err != nil {
		return set, fmt.Errorf("clear scaleStrategy.podsToDelete: %w", err)
	}
	r.guard.Wrote(set.UID, clonesets.GroupResource(), written.ResourceVersion)
	return written, nil
}
