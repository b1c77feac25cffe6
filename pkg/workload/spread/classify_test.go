package spread

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// A running Pod belongs to the subset that may use its node and fits it best: preferred nodes first, then a patch that the Pod already
// has, then a free slot, then the order of the subsets.
// Cases workloadspread 13, 22.
func TestSubsetOfARunningPod(t *testing.T) {
	type subset = v1beta1.WorkloadSpreadSubset
	zone := func(zone string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
		}}}
	}
	patch := func(text string) subset { return subset{Patch: &runtime.RawExtension{Raw: []byte(text)}} }
	tolerates := func(keys ...string) (tolerations []corev1.Toleration) {
		for _, key := range keys {
			tolerations = append(tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
		}
		return tolerations
	}
	other, preferred := subset{}, subset{PreferredNodeSelector: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: zone("a")}}}
	patchedAndPreferred := patch(`{"spec":{"hostNetwork":true}}`)
	patchedAndPreferred.PreferredNodeSelector = preferred.PreferredNodeSelector
	for name, tc := range map[string]struct {
		subsets []subset
		rooms   []int
		taints  []string
		only    bool
		want    int
	}{
		"the first of equals":                  {subsets: []subset{other, other}, want: 0},
		"the node is required":                 {subsets: []subset{{RequiredNodeSelector: new(zone("b"))}, {RequiredNodeSelector: new(zone("a"))}}, want: 1},
		"the node is in no subset":             {subsets: []subset{{RequiredNodeSelector: new(zone("b"))}}, want: None},
		"a term without requirements":          {subsets: []subset{{RequiredNodeSelector: &corev1.NodeSelectorTerm{}}}, want: 0},
		"the subset and the Pod tolerate":      {subsets: []subset{other, {Tolerations: tolerates("spot")}}, taints: []string{"spot", "own"}, want: 1},
		"nobody tolerates":                     {subsets: []subset{other}, taints: []string{"spot"}, want: None},
		"a preferred node before a patch":      {subsets: []subset{other, patchedAndPreferred}, want: 1},
		"a patch that the Pod has":             {subsets: []subset{patch(`{"spec":{"hostNetwork":true}}`), patch(`{"metadata":{"labels":{"app":"web"}}}`)}, want: 1},
		"annotations of a patch do not matter": {subsets: []subset{patch(`{"metadata":{"annotations":{"a":"b"}}}`), other}, want: 0},
		"a patch before a free slot":           {subsets: []subset{patch(`{"spec":{"hostNetwork":true}}`), other}, rooms: []int{1, 0}, want: 1},
		"a free slot":                          {subsets: []subset{other, other}, rooms: []int{0, 1}, want: 1},
		"no limit":                             {subsets: []subset{other, other}, rooms: []int{0, -1}, want: 1},
		"only free slots":                      {subsets: []subset{preferred, other}, rooms: []int{0, 1}, only: true, want: 1},
		"no free slot":                         {subsets: []subset{preferred, other}, rooms: []int{0, 0}, only: true, want: None},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.rooms == nil {
				tc.rooms = make([]int, len(tc.subsets))
			}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}}
			for _, key := range tc.taints {
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectPreferNoSchedule})
			}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Tolerations: tolerates("own")},
			}
			spread := &v1beta1.WorkloadSpread{Spec: v1beta1.WorkloadSpreadSpec{Subsets: tc.subsets}}
			assert.Equal(t, tc.want, Classify(t.Context(), spread, pod, node, tc.rooms, tc.only))
		})
	}
}
