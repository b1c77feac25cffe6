package daemonset

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

// place is a node as the DaemonSet sees it. It is computed for one pass.
type place struct {
	name string
	// node is nil if the node does not exist.
	node *corev1.Node
	// run: a Pod is to run on the node. stay: a Pod that runs there may go on.
	run, stay bool
	// pods are all Pods of the DaemonSet on the node, terminating and finished ones too, the oldest first.
	pods []*corev1.Pod
	// adopting is true if this pass adopts a Pod on the node. The next pass decides about the node.
	adopting bool
}

// tolerated are the taints that every Pod of a DaemonSet tolerates, because it must run on a node that has problems. They are those
// of DaemonSets in Kubernetes.
var tolerated = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodePIDPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
}

// tolerate adds the tolerations of every DaemonSet to the given spec, which the caller owns. A Pod in the network of the host needs
// no network of the node, so it also tolerates that it is missing. An equal toleration of the template is replaced, so there is only
// one.
func tolerate(spec *corev1.PodSpec) {
	all := tolerated
	if spec.HostNetwork {
		all = append(slices.Clip(all), corev1.Toleration{
			Key: corev1.TaintNodeNetworkUnavailable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	for _, toleration := range all {
		spec.Tolerations = slices.DeleteFunc(spec.Tolerations, func(t corev1.Toleration) bool { return t.MatchToleration(&toleration) })
		spec.Tolerations = append(spec.Tolerations, toleration)
	}
}

// requires returns what the Pods of the DaemonSet require of a node. It includes the tolerations that every Pod gets, because taints
// decide too.
func requires(set *v1beta1.DaemonSet) *nodefit.Requirements {
	pod := &corev1.Pod{Spec: *set.Spec.Template.Spec.DeepCopy()}
	tolerate(&pod.Spec)
	return nodefit.Require(pod)
}

// eligible returns whether a Pod is to run on the node, and whether a Pod that runs there may go on. What the node has to give, and
// its conditions, do not count. The answers differ only for a taint NoSchedule: it keeps new Pods away and lets running ones stay.
func eligible(required *nodefit.Requirements, node *corev1.Node) (run, stay bool) {
	fit := required.Of(node)
	return fit.Selected && !fit.NoSchedule && !fit.NoExecute, fit.Selected && !fit.NoExecute
}

// concerns reports whether the change of a node changes what the DaemonSet does there. A nil state is that of a new or a deleted
// node, where no Pod is to run.
func concerns(set *v1beta1.DaemonSet, before, after *corev1.Node) bool {
	required, canary := requires(set), nodeSelector(set)
	// The three answers are what a pass reads of a node. If none differs, the pass would decide the same.
	var was, is struct{ run, stay, canary bool }
	if before != nil {
		was.run, was.stay = eligible(required, before)
		was.canary = canary != nil && canary.Matches(labels.Set(before.Labels))
	}
	if after != nil {
		is.run, is.stay = eligible(required, after)
		is.canary = canary != nil && canary.Matches(labels.Set(after.Labels))
	}
	return was != is
}

// nodeSelector returns the selector of the nodes to update, or nil for all nodes. An empty selector means all nodes, as if it were
// not set.
func nodeSelector(set *v1beta1.DaemonSet) labels.Selector {
	if selector := rollingOf(set).Selector; selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
		return selectorindex.Parse(selector)
	}
	return nil
}

// places returns the nodes that the DaemonSet selects or has Pods on, sorted by name. orphans are Pods that this pass adopts. A node
// that is not selected any more is found through its Pods. Without that, nobody would delete them.
func (r *Reconciler) places(set *v1beta1.DaemonSet, pods, orphans []*corev1.Pod) ([]*place, error) {
	required := requires(set)
	nodes, err := r.nodesFor(required)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*place, len(nodes))
	add := func(name string, node *corev1.Node) *place {
		at := &place{name: name, node: node}
		if node != nil {
			at.run, at.stay = eligible(required, node)
		}
		byName[name] = at
		return at
	}
	// The index returns more nodes than fit, so each is compared again.
	for _, node := range nodes {
		add(node.Name, node)
	}
	for _, pod := range pods {
		name := nodefit.NodeOf(pod)
		if name == "" {
			continue // An adopted Pod that was not made for a node.
		}
		at := byName[name]
		if at == nil {
			// The node is not selected any more, or does not exist. Its Pods still have to be judged.
			node, err := r.nodes.Get(name)
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, err
			}
			at = add(name, node)
		}
		at.pods = append(at.pods, pod)
	}
	for _, pod := range orphans {
		if at := byName[nodefit.NodeOf(pod)]; at != nil {
			at.adopting = true
		}
	}
	all := make([]*place, 0, len(byName))
	for _, at := range byName {
		// A node without a Pod, where none may run or go on, needs no decision.
		if at.run || at.stay || len(at.pods) > 0 {
			oldestFirst(at.pods)
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b *place) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// oldestFirst sorts Pods by age. A Pod that has no node yet counts as younger than one that has. The name decides last, so the order
// is the same in each pass.
func oldestFirst(pods []*corev1.Pod) {
	unscheduled := func(pod *corev1.Pod) int { return one(pod.Spec.NodeName == "") }
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(unscheduled(a), unscheduled(b)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
}

// one returns 1 for true and 0 for false.
func one(condition bool) int {
	if condition {
		return 1
	}
	return 0
}
