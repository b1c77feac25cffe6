// Package nodefit decides whether a Pod may run on a node, for workloads that keep one Pod on each node. It looks at the node alone:
// other Pods, and conditions such as Ready, do not count. Each workload kind decides which parts of a Fit it requires.
package nodefit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// Fit is how a Pod fits a node.
type Fit struct {
	// Selected is true if spec.nodeName of the Pod is empty or names the node, and the node selector and the required node affinity
	// match the node.
	Selected bool
	// NoSchedule and NoExecute are true if the node has a taint with that effect that the Pod does not tolerate.
	NoSchedule, NoExecute bool
	// Unschedulable is true if the node is cordoned and the Pod does not tolerate the taint that belongs to it, whether or not the
	// node has the taint.
	Unschedulable bool
	// Fits is true if an empty node has what the Pod requests.
	Fits bool
}

// Virtual reports whether a node is a virtual one. No node agent runs there: its provider pulls images, stops containers and runs probes.
func Virtual(node *corev1.Node) bool {
	return node.Labels[pub.NodeTypeKey] == pub.NodeTypeVirtualKubelet
}

// unschedulable is the taint of a cordoned node.
var unschedulable = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// Of returns how the Pod fits the node. A required node affinity that cannot be parsed matches no node.
func Of(pod *corev1.Pod, node *corev1.Node) Fit { return Require(pod).Of(node) }

// Requirements are what a Pod requires of its node. They are parsed once, for many nodes.
type Requirements struct {
	pod      *corev1.Pod
	affinity nodeaffinity.RequiredNodeAffinity
	requests corev1.ResourceList
}

// Require returns the requirements of the Pod, which must not change afterwards. It can be made from a template.
func Require(pod *corev1.Pod) *Requirements {
	return &Requirements{
		pod: pod, affinity: nodeaffinity.GetRequiredNodeAffinity(pod),
		requests: resource.PodRequests(&corev1.Pod{Spec: *podcontrol.WithRequests(&pod.Spec)}, resource.PodResourcesOptions{}),
	}
}

// Of returns how the Pod fits the node.
func (r *Requirements) Of(node *corev1.Node) Fit {
	matches, err := r.affinity.Match(node)
	named := r.pod.Spec.NodeName == "" || r.pod.Spec.NodeName == node.Name
	fit := Fit{
		Selected:      named && err == nil && matches,
		Unschedulable: node.Spec.Unschedulable && !tolerates(r.pod, &unschedulable),
		Fits:          r.requestsFit(node),
	}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if tolerates(r.pod, taint) {
			continue
		}
		fit.NoSchedule = fit.NoSchedule || taint.Effect == corev1.TaintEffectNoSchedule
		fit.NoExecute = fit.NoExecute || taint.Effect == corev1.TaintEffectNoExecute
	}
	return fit
}

// tolerates reports whether one of the Pod's tolerations tolerates the taint.
func tolerates(pod *corev1.Pod, taint *corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(toleration corev1.Toleration) bool {
		// The operators that compare numbers are not enabled by default in Kubernetes.
		return toleration.ToleratesTaint(klog.Background(), taint, false)
	})
}

// requestsFit reports whether the node has enough of each resource for this Pod alone. A resource that the node does not have
// counts as zero.
func (r *Requirements) requestsFit(node *corev1.Node) bool {
	for name, request := range r.requests {
		if allocatable := node.Status.Allocatable[name]; request.Cmp(allocatable) > 0 {
			return false
		}
	}
	return true
}

// Pin makes the scheduler place the Pod on one node. The other requirements of its node affinity stay. The Pod must be the caller's.
func Pin(pod *corev1.Pod, node string) {
	name := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity := pod.Spec.Affinity.NodeAffinity
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	// Terms are alternatives: each of them gets the name, in place of one that it may have.
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchFields = append(slices.DeleteFunc(terms[i].MatchFields, namesNode), name)
	}
}

// NodeOf returns the name of the node that the Pod runs on or is pinned to, or "". A Pod that Pin has changed has the name
// before the scheduler has placed it.
func NodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" || pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return pod.Spec.NodeName
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return ""
	}
	for i := range required.NodeSelectorTerms {
		for _, field := range required.NodeSelectorTerms[i].MatchFields {
			if namesNode(field) && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// namesNode reports whether a requirement is about the name of the node.
func namesNode(requirement corev1.NodeSelectorRequirement) bool {
	return requirement.Key == metav1.ObjectNameField
}
