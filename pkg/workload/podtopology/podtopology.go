package podtopology

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// TargetIndex finds PersistentPodStates by the workload that they name.
const TargetIndex = "persistentPodStateTarget"

// Indexers returns the index for Of.
func Indexers() cache.Indexers {
	return cache.Indexers{TargetIndex: func(obj any) ([]string, error) {
		state, ok := obj.(*v1beta1.PersistentPodState)
		if !ok {
			return nil, nil
		}
		ref := &state.Spec.TargetRef
		return []string{key(state.Namespace, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind(), ref.Name)}, nil
	}}
}

// key does not depend on the version of the kind, so a target matches in each version of its API.
func key(namespace string, kind schema.GroupKind, name string) string {
	return strings.Join([]string{namespace, kind.Group, kind.Kind, name}, "/")
}

// Of returns the PersistentPodStates of a workload, sorted by name. Admission allows one, except for two that are created at
// the same time. The order makes all callers use the same one then.
func Of(states cache.Indexer, namespace string, kind schema.GroupKind, name string) (found []*v1beta1.PersistentPodState, err error) {
	items, err := states.ByIndex(TargetIndex, key(namespace, kind, name))
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if state, ok := item.(*v1beta1.PersistentPodState); ok {
			found = append(found, state)
		}
	}
	slices.SortFunc(found, func(a, b *v1beta1.PersistentPodState) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// OfController returns the PersistentPodStates of the workload that controls a Pod. A Pod without a controller has none.
func OfController(states cache.Indexer, pod metav1.Object) ([]*v1beta1.PersistentPodState, error) {
	// The reference names the workload; it need not exist any more.
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return nil, nil
	}
	return Of(states, pod.GetNamespace(), schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind(), ref.Name)
}

// Record returns what a PersistentPodState keeps of a Pod and its node: the name of the node, the labels of the node that the
// spec names, and the annotations of the Pod that it names. What the node or the Pod lacks is left out.
func Record(spec *v1beta1.PersistentPodStateSpec, pod *corev1.Pod, node *corev1.Node) v1beta1.PodState {
	state := v1beta1.PodState{NodeName: node.Name}
	for _, key := range keys(spec) {
		// A label that the node lacks is left out (case 4 of docs/contract/persistentpodstate.md).
		if value, found := node.Labels[key]; found {
			set(&state.NodeTopologyLabels, key, value)
		}
	}
	for _, annotation := range spec.PersistentPodAnnotations {
		if value, found := pod.Annotations[annotation.Key]; found {
			set(&state.Annotations, annotation.Key, value)
		}
	}
	return state
}

// set sets an entry, and makes the map if there is none: empty maps must not differ from the nil maps of the stored status.
func set(values *map[string]string, key, value string) {
	if *values == nil {
		*values = map[string]string{}
	}
	(*values)[key] = value
}

// keys returns the node labels that the spec names, required ones first. A label can be named twice.
func keys(spec *v1beta1.PersistentPodStateSpec) (all []string) {
	if spec.RequiredPersistentTopology != nil {
		all = append(all, spec.RequiredPersistentTopology.Keys...)
	}
	for i := range spec.PreferredPersistentTopology {
		all = append(all, spec.PreferredPersistentTopology[i].Preference.Keys...)
	}
	return all
}

// Required returns the node labels that a Pod with this record must have. Keys that were not recorded are left out. It returns
// nil if there is none.
func Required(spec *v1beta1.PersistentPodStateSpec, record *v1beta1.PodState) map[string]string {
	if spec.RequiredPersistentTopology == nil {
		return nil
	}
	var labels map[string]string
	for _, key := range spec.RequiredPersistentTopology.Keys {
		if value, found := record.NodeTopologyLabels[key]; found {
			set(&labels, key, value)
		}
	}
	return labels
}

// Excludes reports whether the required node affinity of a Pod excludes every node with these labels. A requirement for another label
// does not count, because a node with these labels may meet it.
func Excludes(pod *corev1.Pod, nodeLabels map[string]string) bool {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	// A node needs to match only one of the terms.
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if !excludes(term.MatchExpressions, nodeLabels) {
			return false
		}
	}
	return true
}

// excludes reports whether no node with these labels meets the requirements of one term.
func excludes(requirements []corev1.NodeSelectorRequirement, nodeLabels map[string]string) bool {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: nodeLabels}}
	for _, requirement := range requirements {
		if _, known := nodeLabels[requirement.Key]; !known {
			continue
		}
		selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{requirement}},
		}})
		// kube-apiserver refuses a Pod with a requirement that is not valid.
		if err == nil && !selector.Match(node) {
			return true
		}
	}
	return false
}

// Preferred returns the scheduling preferences of a Pod with this record. A term without a recorded key is left out, because it
// would prefer nothing.
func Preferred(spec *v1beta1.PersistentPodStateSpec, record *v1beta1.PodState) (terms []corev1.PreferredSchedulingTerm) {
	for i := range spec.PreferredPersistentTopology {
		preferred := &spec.PreferredPersistentTopology[i]
		term := corev1.PreferredSchedulingTerm{Weight: preferred.Weight}
		for _, key := range preferred.Preference.Keys {
			if value, found := record.NodeTopologyLabels[key]; found {
				term.Preference.MatchExpressions = append(term.Preference.MatchExpressions,
					corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
			}
		}
		if len(term.Preference.MatchExpressions) > 0 {
			terms = append(terms, term)
		}
	}
	return terms
}
