package pod

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podtopology"
)

// topology brings a Pod that is created again back to the topology that a PersistentPodState has recorded.
type topology struct {
	// states are PersistentPodStates, with the index of package podtopology.
	states cache.Indexer
}

// mutate applies the first PersistentPodState of the Pod's controller that has recorded a Pod of this name. Others
// are not applied, because their records could contradict. A terminating PersistentPodState is skipped. The recorded
// labels are the required ones as a node selector and the others as preferences. A record whose required labels contradict the required
// node affinity of the Pod is not applied.
func (p *topology) mutate(_ context.Context, e *edit, _ admission.Attributes) error {
	found, err := podtopology.OfController(p.states, e.pod)
	if err != nil {
		return fmt.Errorf("look up PersistentPodStates: %w", err)
	}
	for _, state := range found {
		record, recorded := state.Status.PodStates[e.pod.Name]
		if !recorded || state.DeletionTimestamp != nil {
			continue
		}
		required, preferred := podtopology.Required(&state.Spec, &record), podtopology.Preferred(&state.Spec, &record)
		// Either none of the keys has a recorded label, or the Pod must run elsewhere now: with both requirements, no node would fit.
		if len(required)+len(preferred) == 0 || podtopology.Excludes(e.pod, required) {
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(required)) {
			e.selectNode(key, required[key])
		}
		for i := range preferred {
			if !prefers(e.pod, &preferred[i]) {
				e.preferNode(&preferred[i])
			}
		}
		e.annotate(pub.InjectedPersistentPodStateKey, state.Name)
		return nil
	}
	return nil
}

// prefers reports whether a Pod has a preference already, so that a second call does not add it again.
func prefers(pod *corev1.Pod, term *corev1.PreferredSchedulingTerm) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return false
	}
	return slices.ContainsFunc(pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
		func(other corev1.PreferredSchedulingTerm) bool { return apiequality.Semantic.DeepEqual(&other, term) })
}
