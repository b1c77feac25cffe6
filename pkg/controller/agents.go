package controller

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/workload/podstate"
)

const (
	// agentIndex finds the Pods of node agents by their node. The value anyAgent finds all of them.
	agentIndex = "agentNode"
	anyAgent   = ""
	// agentLabel and agentComponent are the label of the Pods of node agents.
	agentLabel, agentComponent = "control-plane", "daemon"
)

// Agents knows on which nodes a node agent works. The kubelet reports on the agent's Pod anyway, so an agent needs no heartbeat of
// its own, which would be a write for each node every few seconds.
type Agents struct {
	// namespace is the one in which the agents run. Pods of other namespaces with the same label are no agents.
	namespace   string
	pods, nodes cache.Indexer
}

// Agents returns the node agents, whose Pods are in the namespace. If concerned is not nil, the controller reconciles the keys that
// it returns for a node when an agent begins or ceases to work there.
func (c *Of[T]) Agents(pods, nodes Informer, namespace string, concerned func(node string) []types.NamespacedName) *Agents {
	a := &Agents{namespace: namespace, nodes: nodes.Informer().GetIndexer()}
	a.pods = c.Index(pods, agentIndex, func(obj any) ([]string, error) {
		if pod := a.agent(obj); pod != nil {
			return []string{anyAgent, pod.Spec.NodeName}, nil
		}
		return nil, nil
	})
	// The differ returns no keys: counting reconciles nothing.
	if c.deps.AgentMetrics.begin() {
		c.WatchChanges(pods, func(before, after metav1.Object) []types.NamespacedName {
			c.deps.AgentMetrics.count(a.agent(before), -1)
			c.deps.AgentMetrics.count(a.agent(after), 1)
			return nil
		})
	}
	if concerned != nil {
		c.WatchChanges(pods, func(before, after metav1.Object) []types.NamespacedName {
			return keysOf(a.changedPod(before, after), concerned)
		})
		c.WatchChanges(nodes, func(before, after metav1.Object) []types.NamespacedName {
			return keysOf(changedNode(before, after), concerned)
		})
	}
	return a
}

// keysOf returns the keys that a change on a node concerns, or nil if the node is "".
func keysOf(node string, concerned func(node string) []types.NamespacedName) []types.NamespacedName {
	if node == "" {
		return nil
	}
	return concerned(node)
}

// agent returns the Pod if it is that of an agent, else nil. It accepts a nil object, because a change has no state before a creation
// and after a deletion.
func (a *Agents) agent(obj any) *corev1.Pod {
	if pod, ok := obj.(*corev1.Pod); ok && pod.Namespace == a.namespace && pod.Labels[agentLabel] == agentComponent {
		return pod
	}
	return nil
}

// changedPod returns the node of an agent that began or ceased to work, or "". An agent works while its Pod is ready. Other changes
// of the Pod, such as a new annotation, return "".
func (a *Agents) changedPod(before, after metav1.Object) (node string) {
	was, is := a.agent(before), a.agent(after)
	switch {
	case was == nil && is == nil, was != nil && is != nil && podstate.Ready(was) == podstate.Ready(is):
		return ""
	// The Pod is new, or its readiness changed. If the Pod lost the label, only the state before names the node.
	case is != nil:
		return is.Spec.NodeName
	}
	return was.Spec.NodeName
}

// changedNode returns the name of a node that became ready, or ceased to be, or "". A new or deleted node needs no answer here: the
// Pod of its agent comes or goes with it.
func changedNode(before, after metav1.Object) (node string) {
	was, _ := before.(*corev1.Node)
	is, _ := after.(*corev1.Node)
	if was == nil || is == nil || nodeReady(was) == nodeReady(is) {
		return ""
	}
	return is.Name
}

// Absent reports whether it is known that no agent works on a node: the node is not ready, or agents run in the cluster and none on
// this node is ready. Agents that are no Pods are not known. In a cluster where no Pod is an agent, the agents may be services of the
// nodes, so the answer is then false. Callers do not wait for an absent agent, so a wrong true would fail requests that an agent
// could carry out.
func (a *Agents) Absent(name string) (bool, error) { return a.InOnePass()(name) }

// InOnePass returns Absent for many nodes. It looks for agents in the cluster at most once.
func (a *Agents) InOnePass() (absent func(node string) (bool, error)) {
	// The value anyAgent lists every agent of the cluster, which takes long with thousands of nodes.
	run := sync.OnceValues(func() (bool, error) {
		all, err := a.pods.IndexKeys(agentIndex, anyAgent)
		return len(all) > 0, err
	})
	return func(name string) (bool, error) {
		item, found, err := a.nodes.GetByKey(name)
		if err != nil {
			return false, fmt.Errorf("get Node: %w", err)
		}
		if node, ok := item.(*corev1.Node); found && ok && !nodeReady(node) {
			return true, nil
		}
		// A node that is not in the cache is treated as ready: only its agent Pods decide.
		here, err := a.pods.ByIndex(agentIndex, name)
		if err != nil {
			return false, fmt.Errorf("list node agents: %w", err)
		}
		for _, item := range here {
			if pod, ok := item.(*corev1.Pod); ok && podstate.Ready(pod) {
				return false, nil
			}
		}
		return run()
	}
}

// nodeReady reports whether a node is ready. A node that has not said so yet is not.
func nodeReady(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return node.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}
