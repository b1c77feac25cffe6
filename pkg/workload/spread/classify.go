package spread

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/subset"
)

const (
	// weightOfPreference, weightOfPatch and weightOfRoom are what a preferred node, an ineffective patch and a free slot count.
	// Each is larger than all that follow together.
	weightOfPreference = 100
	weightOfPatch      = 10
	weightOfRoom       = 1
)

// Classify returns the subset that fits a running Pod best, or None. rooms are the free slots of the subsets; -1 is no limit.
// If onlyRoom is set, subsets without a free slot are left out. Among subsets with the same score, the first one wins. It returns None when
// ctx has ended.
func Classify(
	ctx context.Context, spread *v1beta1.WorkloadSpread, pod *corev1.Pod, node *corev1.Node, rooms []int, onlyRoom bool,
) int {
	// A subset that fits has a score of at least zero.
	best, most := None, int64(-1)
	for i := range spread.Spec.Subsets {
		candidate := &spread.Spec.Subsets[i]
		if onlyRoom && rooms[i] == 0 || !fits(candidate, pod, node) {
			continue
		}
		if score := score(ctx, candidate, pod, node, rooms[i]); score > most {
			best, most = i, score
		}
	}
	if ctx.Err() != nil {
		return None // Patches were not compared.
	}
	return best
}

// fits reports whether a Pod of the subset may run on the node: the node matches the required term, and the Pod or the subset
// tolerates all its taints.
func fits(of *v1beta1.WorkloadSpreadSubset, pod *corev1.Pod, node *corev1.Node) bool {
	if term := of.RequiredNodeSelector; subset.Restricts(term) {
		selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{*term}})
		if err != nil || !selector.Match(node) {
			return false
		}
	}
	for i := range node.Spec.Taints {
		if !tolerates(pod.Spec.Tolerations, &node.Spec.Taints[i]) && !tolerates(of.Tolerations, &node.Spec.Taints[i]) {
			return false
		}
	}
	return true
}

// tolerates reports whether one of the tolerations tolerates the taint.
func tolerates(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	for i := range tolerations {
		// The operators that compare numbers are not enabled by default in Kubernetes.
		if tolerations[i].ToleratesTaint(klog.Background(), taint, false) {
			return true
		}
	}
	return false
}

// score says how well a Pod fits a subset. A patch that would change nothing shows that the Pod has the form of this subset.
func score(ctx context.Context, of *v1beta1.WorkloadSpreadSubset, pod *corev1.Pod, node *corev1.Node, room int) (score int64) {
	if terms, err := nodeaffinity.NewPreferredSchedulingTerms(of.PreferredNodeSelector); err == nil {
		score += terms.Score(node) * weightOfPreference
	}
	if patched := pod.DeepCopy(); patch(ctx, patched, of) == nil {
		// Annotations do not count: the controller can still write them.
		patched.Annotations = pod.Annotations
		if apiequality.Semantic.DeepEqual(pod, patched) {
			score += weightOfPatch
		}
	}
	if room != 0 {
		score += weightOfRoom
	}
	return score
}
