package nodefit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/nodefit"
)

func newNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}},
		Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}},
	}
}

func newPod(edits ...func(*corev1.PodSpec)) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	for _, edit := range edits {
		edit(&pod.Spec)
	}
	return pod
}

func tolerating(tolerations ...corev1.Toleration) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) { spec.Tolerations = tolerations }
}

func zone(operator corev1.NodeSelectorOperator, values ...string) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: operator, Values: values}}},
			}},
		}}
	}
}

func TestHowAPodFitsANode(t *testing.T) {
	fits := nodefit.Fit{Selected: true, Fits: true}
	taint := func(effect corev1.TaintEffect) func(*corev1.Node) {
		return func(node *corev1.Node) { node.Spec.Taints = []corev1.Taint{{Key: "k", Value: "v", Effect: effect}} }
	}
	cordon := func(node *corev1.Node) { node.Spec.Unschedulable = true }
	limits := func(cpu string, requests corev1.ResourceList) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
			spec.Containers[0].Resources.Requests = requests
		}
	}
	requests := func(cpu string) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		}
	}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		node func(*corev1.Node)
		want nodefit.Fit
	}{
		"nothing asked":              {newPod(), nil, fits},
		"its node":                   {newPod(func(s *corev1.PodSpec) { s.NodeName = "n" }), nil, fits},
		"another node":               {newPod(func(s *corev1.PodSpec) { s.NodeName = "m" }), nil, nodefit.Fit{Fits: true}},
		"node selector":              {newPod(func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"zone": "b"} }), nil, nodefit.Fit{Fits: true}},
		"affinity matches":           {newPod(zone(corev1.NodeSelectorOpIn, "a", "b")), nil, fits},
		"affinity does not match":    {newPod(zone(corev1.NodeSelectorOpNotIn, "a")), nil, nodefit.Fit{Fits: true}},
		"affinity cannot be parsed":  {newPod(zone("Near", "a")), nil, nodefit.Fit{Fits: true}},
		"NoSchedule":                 {newPod(), taint(corev1.TaintEffectNoSchedule), nodefit.Fit{Selected: true, Fits: true, NoSchedule: true}},
		"NoExecute":                  {newPod(), taint(corev1.TaintEffectNoExecute), nodefit.Fit{Selected: true, Fits: true, NoExecute: true}},
		"PreferNoSchedule":           {newPod(), taint(corev1.TaintEffectPreferNoSchedule), fits},
		"tolerated":                  {newPod(tolerating(corev1.Toleration{Key: "k", Value: "v"})), taint(corev1.TaintEffectNoExecute), fits},
		"tolerated for any value":    {newPod(tolerating(corev1.Toleration{Key: "k", Operator: "Exists"})), taint(corev1.TaintEffectNoExecute), fits},
		"everything is tolerated":    {newPod(tolerating(corev1.Toleration{Operator: "Exists"})), taint(corev1.TaintEffectNoExecute), fits},
		"another value is tolerated": {newPod(tolerating(corev1.Toleration{Key: "k", Value: "w"})), taint("NoExecute"), nodefit.Fit{Selected: true, Fits: true, NoExecute: true}},
		"another effect is tolerated": {
			newPod(tolerating(corev1.Toleration{Key: "k", Value: "v", Effect: "NoSchedule"})), taint("NoExecute"),
			nodefit.Fit{Selected: true, Fits: true, NoExecute: true},
		},
		"cordoned": {newPod(), cordon, nodefit.Fit{Selected: true, Fits: true, Unschedulable: true}},
		"cordoned and tolerated": {
			newPod(tolerating(corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: "Exists", Effect: "NoSchedule"})), cordon, fits,
		},
		"it has just enough":                           {newPod(requests("2")), nil, fits},
		"it has too little":                            {newPod(requests("2001m")), nil, nodefit.Fit{Selected: true}},
		"it has less than the limit without a request": {newPod(limits("2001m", nil)), nil, nodefit.Fit{Selected: true}},
		"it has less than the limit of another request": {
			newPod(limits("2001m", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")})), nil, fits,
		},
		"it is not ready now": {newPod(), func(n *corev1.Node) { n.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: "False"}} }, fits},
	} {
		t.Run(name, func(t *testing.T) {
			node := newNode()
			if test.node != nil {
				test.node(node)
			}
			assert.Equal(t, test.want, nodefit.Of(test.pod, node))
		})
	}
}

func TestPinnedPodFitsItsNodeAlone(t *testing.T) {
	other := newNode()
	other.Name = "m"
	for name, pod := range map[string]*corev1.Pod{
		"no affinity": newPod(), "an affinity": newPod(zone(corev1.NodeSelectorOpIn, "a")),
		"no terms": newPod(func(s *corev1.PodSpec) { s.Affinity = &corev1.Affinity{} }),
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, nodefit.NodeOf(pod))
			nodefit.Pin(pod, "m")
			nodefit.Pin(pod, "n")
			assert.Equal(t, "n", nodefit.NodeOf(pod))
			assert.True(t, nodefit.Of(pod, newNode()).Selected)
			assert.False(t, nodefit.Of(pod, other).Selected)
			pod.Spec.NodeName = "m"
			assert.Equal(t, "m", nodefit.NodeOf(pod), "where it runs")
		})
	}
	moved := newPod(zone(corev1.NodeSelectorOpIn, "b"))
	nodefit.Pin(moved, "n")
	assert.False(t, nodefit.Of(moved, newNode()).Selected, "the rest of the affinity stays")
}
