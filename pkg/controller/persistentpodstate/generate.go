package persistentpodstate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/kinds"
)

// sourceKeys are the annotations from which a PersistentPodState is generated.
var sourceKeys = []string{
	pub.AutoGeneratePersistentPodStateKey, pub.RequiredPersistentTopologyKey, pub.PreferredPersistentTopologyKey,
	pub.PersistentPodAnnotationsKey,
}

// source returns the annotations of a workload from which a PersistentPodState is generated, as one text. The text is stored in
// an annotation of the PersistentPodState, so a change of the workload is seen by a comparison.
func source(workload metav1.Object) string {
	values := make([]string, 0, len(sourceKeys))
	for _, key := range sourceKeys {
		values = append(values, strings.TrimSpace(workload.GetAnnotations()[key]))
	}
	return strings.Join(values, ";")
}

// weight is the weight of a generated preference: the highest that Kubernetes accepts.
const weight = 100

// generated returns the spec that the annotations of a workload ask for, without the target, or nil if they do not ask for one. They ask
// for one if they switch the generation on and name at least one node label.
func generated(workload metav1.Object) *v1beta1.PersistentPodStateSpec {
	annotations := workload.GetAnnotations()
	required, preferred := split(annotations[pub.RequiredPersistentTopologyKey]), split(annotations[pub.PreferredPersistentTopologyKey])
	if !switchedOn(workload) || len(required)+len(preferred) == 0 {
		return nil
	}
	// The retention policy is left to the user.
	spec := &v1beta1.PersistentPodStateSpec{}
	if len(required) > 0 {
		spec.RequiredPersistentTopology = &v1beta1.NodeTopologyTerm{Keys: required}
	}
	if len(preferred) > 0 {
		spec.PreferredPersistentTopology = []v1beta1.PreferredTopologyTerm{
			{Weight: weight, Preference: v1beta1.NodeTopologyTerm{Keys: preferred}},
		}
	}
	for _, key := range split(annotations[pub.PersistentPodAnnotationsKey]) {
		spec.PersistentPodAnnotations = append(spec.PersistentPodAnnotations, v1beta1.PersistentPodAnnotation{Key: key})
	}
	return spec
}

// switchedOn reports whether the annotations switch the generation on. The value must be "true".
func switchedOn(workload metav1.Object) bool {
	return strings.TrimSpace(workload.GetAnnotations()[pub.AutoGeneratePersistentPodStateKey]) == "true"
}

// split returns the items of a list that is separated by commas, without spaces, empty items and repetitions.
func split(text string) (items []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" && !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return items
}

// absent generates the PersistentPodState of the workload of this name. If two workloads of different kinds have the name, it
// takes one of them.
func (r *Reconciler) absent(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	for kind := range r.sets {
		workload, err := r.cached(kind, key.Namespace, key.Name)
		if err != nil {
			return reconcile.Result{}, err
		}
		asked, err := r.generate(ctx, kinds.Of(kind).Resource.GroupVersion().WithKind(kind.Kind), workload)
		switch {
		case apierrors.IsInvalid(err):
			r.refused(workload, err)
			return reconcile.Result{RequeueAfter: refusedPeriod}, nil
		case asked || err != nil:
			return reconcile.Result{}, err
		}
	}
	return r.absentOfCustom(ctx, key)
}

// refusedPeriod is how often a refused PersistentPodState is tried again. No event tells that a conflict with another PersistentPodState
// has ended.
const refusedPeriod = 5 * time.Minute

// refused tells the user that the annotations of a workload do not make a valid PersistentPodState.
func (r *Reconciler) refused(workload kinds.Object, err error) {
	r.recorder.Eventf(workload, corev1.EventTypeWarning, "PersistentPodStateRefused",
		"the annotations of this workload do not make a valid PersistentPodState; correct them: %v", err)
}

// generate creates the PersistentPodState that the annotations of a workload ask for, and reports whether they ask for one. The workload
// can be nil. A PersistentPodState that a user creates at the same time wins, and stays as it is (case 12).
func (r *Reconciler) generate(ctx context.Context, kind schema.GroupVersionKind, workload kinds.Object) (asked bool, err error) {
	if workload == nil {
		return false, nil
	}
	spec := generated(workload)
	if spec == nil {
		return false, nil
	}
	spec.TargetRef = v1beta1.TargetReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: workload.GetName()}
	owner := metav1.NewControllerRef(workload, kind)
	owner.BlockOwnerDeletion = nil // The controller deletes the PersistentPodState with the workload.
	_, err = r.client.PersistentPodStates(workload.GetNamespace()).Create(ctx, &v1beta1.PersistentPodState{
		ObjectMeta: metav1.ObjectMeta{
			Name: workload.GetName(), Namespace: workload.GetNamespace(), OwnerReferences: []metav1.OwnerReference{*owner},
			Annotations: map[string]string{pub.PersistentPodStateSourceKey: source(workload)},
		},
		Spec: *spec,
	}, metav1.CreateOptions{})
	// The cache may not show an object that was just created. Its event starts the pass that compares it.
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return true, fmt.Errorf("create PersistentPodState: %w", err)
	}
	return true, nil
}

// regenerate follows the annotations of the target, if it controls the PersistentPodState and has its name. workload is the target, or
// nil. regenerate writes only after a change of the annotations, and only the fields that they set, so that what users set stays. It
// returns the stored object, or nil if it was deleted. Other PersistentPodStates belong to users, and are returned as they are.
func (r *Reconciler) regenerate(
	ctx context.Context, state *v1beta1.PersistentPodState, workload kinds.Object,
) (*v1beta1.PersistentPodState, error) {
	owner := metav1.GetControllerOfNoCopy(state)
	if owner == nil || owner.Name != state.Name || owner.Name != state.Spec.TargetRef.Name || kindOf(owner) != targetKind(state) {
		return state, nil
	}
	last, followed := state.Annotations[pub.PersistentPodStateSourceKey]
	// The workload is gone, was replaced, or does not ask for a PersistentPodState. One that never followed it is a user's.
	if workload == nil || workload.GetUID() != owner.UID || !switchedOn(workload) {
		if !followed {
			return state, nil
		}
		return nil, r.remove(ctx, state)
	}
	spec := generated(workload)
	// The annotation has the source of the last write. As long as it is the same, changes of the spec are those of users.
	if spec == nil || followed && last == source(workload) {
		return state, nil
	}
	// OpenKruise generates without the annotation. What users changed since then stays until the source changes.
	if !followed {
		spec = nil
	}
	stored, err := r.follow(ctx, state, source(workload), spec)
	if apierrors.IsInvalid(err) {
		r.refused(workload, err)
		return state, nil // It stays as it is.
	}
	return stored, err
}

// follow writes the source of a PersistentPodState, and the fields of the spec that it sets, unless the spec is nil. It returns the
// stored object, or nil if it was deleted.
func (r *Reconciler) follow(
	ctx context.Context, state *v1beta1.PersistentPodState, source string, spec *v1beta1.PersistentPodStateSpec,
) (*v1beta1.PersistentPodState, error) {
	// The resource version makes the write fail if a user has changed the object meanwhile.
	fields := map[string]any{"metadata": map[string]any{
		"uid": state.UID, "resourceVersion": state.ResourceVersion,
		"annotations": map[string]string{pub.PersistentPodStateSourceKey: source},
	}}
	// A nil field becomes null in the merge patch, which removes it.
	if spec != nil {
		fields["spec"] = map[string]any{
			"requiredPersistentTopology": spec.RequiredPersistentTopology, "preferredPersistentTopology": spec.PreferredPersistentTopology,
			"persistentPodAnnotations": spec.PersistentPodAnnotations,
		}
	}
	patch, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode the generated spec: %w", err)
	}
	stored, err := r.client.PersistentPodStates(state.Namespace).Patch(ctx, state.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("patch the generated spec: %w", err)
	}
	r.guard.Wrote(state.UID, resource.GroupResource(), stored.ResourceVersion)
	return stored, nil
}

// remove deletes a generated PersistentPodState, but not another one of the same name.
func (r *Reconciler) remove(ctx context.Context, state *v1beta1.PersistentPodState) error {
	err := r.client.PersistentPodStates(state.Namespace).Delete(ctx, state.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(state.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the generated PersistentPodState: %w", err)
	}
	// The next pass waits until the cache does not show it any more.
	r.guard.Deleted(state.UID, resource.GroupResource(), state)
	return nil
}
