package subset

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kruise.io/kruise/pkg/apis/rules"
)

// Require adds the requirements of a term to every required term of a Pod's node affinity, because a node needs to match only one of
// them. Without required terms, the term becomes the only one. Requirements that the Pod already has are not added again. A term
// without requirements, or nil, changes nothing.
func Require(spec *corev1.PodSpec, term *corev1.NodeSelectorTerm) {
	if !Restricts(term) {
		return
	}
	// nodeAffinity adds empty structs, so it is not called before.
	affinity := nodeAffinity(spec)
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	}
	required := affinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = []corev1.NodeSelectorTerm{{}}
	}
	for i := range required.NodeSelectorTerms {
		to := &required.NodeSelectorTerms[i]
		to.MatchExpressions = union(to.MatchExpressions, term.MatchExpressions)
		to.MatchFields = union(to.MatchFields, term.MatchFields)
	}
}

// Restricts reports whether a node selector term has requirements.
func Restricts(term *corev1.NodeSelectorTerm) bool {
	return term != nil && len(term.MatchExpressions)+len(term.MatchFields) > 0
}

// Prefer adds preferred terms to a Pod's node affinity. Terms that the Pod already has are not added again.
func Prefer(spec *corev1.PodSpec, terms []corev1.PreferredSchedulingTerm) {
	if len(terms) == 0 {
		return
	}
	preferred := &nodeAffinity(spec).PreferredDuringSchedulingIgnoredDuringExecution
	*preferred = union(*preferred, terms)
}

// Tolerate adds tolerations to those of a Pod. Tolerations that the Pod already has are not added again.
func Tolerate(spec *corev1.PodSpec, tolerations []corev1.Toleration) {
	spec.Tolerations = union(spec.Tolerations, tolerations)
}

// Patch applies a strategic merge patch to a Pod or a Pod template. An empty patch changes nothing. If it returns an error, the
// object is unchanged.
func Patch[T any](object *T, patch []byte) error {
	if len(patch) == 0 {
		return nil
	}
	before, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode before the patch: %w", err)
	}
	after, err := rules.StrategicMerge(before, patch, *object)
	if err != nil {
		return fmt.Errorf("apply the patch: %w", err)
	}
	// A new value: decoding into the object would keep fields that the patch removes.
	var patched T
	if err := json.Unmarshal(after, &patched); err != nil {
		return fmt.Errorf("decode after the patch: %w", err)
	}
	*object = patched
	return nil
}

// nodeAffinity returns the node affinity of a Pod, and adds one if there is none.
func nodeAffinity(spec *corev1.PodSpec) *corev1.NodeAffinity {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	return spec.Affinity.NodeAffinity
}

// union appends deep copies of the new elements of more to all.
func union[T any, P interface {
	*T
	DeepCopyInto(out *T)
}](all, more []T) []T {
	for i := range more {
		if slices.ContainsFunc(all, func(other T) bool { return apiequality.Semantic.DeepEqual(other, more[i]) }) {
			continue
		}
		var added T
		P(&more[i]).DeepCopyInto(&added)
		all = append(all, added)
	}
	return all
}
