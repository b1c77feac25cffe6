package broadcastjob

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/ordering"
)

// class is what a Pod counts as. The order matters: succeeded and failed, which come last, are the classes of Pods that ended.
type class int

const (
	// leaving: the Pod is being deleted.
	leaving class = iota
	active
	succeeded
	failed
)

// classify returns what a Pod counts as. A Pod that restarted too often counts as failed while it goes on. The phase of a Pod that is being
// deleted says nothing: when the kubelet stops the containers of a Pod, it reports the phase Succeeded or Failed. A Pod that ended by
// itself is gone at once when it is deleted.
func classify(job *v1beta1.BroadcastJob, pod *corev1.Pod) class {
	switch {
	case pod.DeletionTimestamp != nil, lostNode(pod):
		return leaving
	case pod.Status.Phase == corev1.PodSucceeded:
		return succeeded
	case pod.Status.Phase == corev1.PodFailed:
		return failed
	// With the policy Never, the kubelet itself makes such a Pod fail.
	case job.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && restarts(pod) > job.Spec.FailurePolicy.RestartLimit:
		return failed
	default:
		return active
	}
}

// lostNode reports whether the garbage collector of Pods is about to delete the Pod because its node does not exist any more. It sets the
// phase Failed in a request before the deletion.
func lostNode(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "DeletionByPodGC"
	})
}

// restarts returns how often the containers of a Pod restarted, init containers included.
func restarts(pod *corev1.Pod) (total int32) {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			total += statuses[i].RestartCount
		}
	}
	return total
}

// deleteAll returns a plan that deletes Pods. The Pods need no hook: a BroadcastJob has no lifecycle.
func deleteAll(pods []*corev1.Pod) *engine.Plan {
	stage := engine.Stage{Aim: engine.Scale}
	for _, pod := range pods {
		stage.Delete = append(stage.Delete, engine.Deletion{Pod: pod})
	}
	return &engine.Plan{Stages: []engine.Stage{stage}}
}

// census is what a pass knows about the job's nodes and Pods.
type census struct {
	// counts is how many Pods there are of each class.
	counts [failed + 1]int
	// desired are the nodes that are to run a Pod, or ran one. done is how many of them have a Pod that ended.
	desired map[string]bool
	done    int
	// missing are the desired nodes without a Pod, sorted.
	missing []string
	// misfits are active Pods on nodes where they may not run any more.
	misfits []*corev1.Pod
	// doubled are the nodes with more than one Pod.
	doubled []string
	// all are the Pods, sorted by name.
	all []*corev1.Pod
}

// count takes the census. An error comes from a cache. The pass then decides nothing, because a missing node could look like a node
// that left.
func (r *Reconciler) count(job *v1beta1.BroadcastJob, view *engine.View) (*census, error) {
	c := &census{desired: map[string]bool{}, all: slices.Concat(view.Pods, view.Inactive)}
	slices.SortFunc(c.all, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	byNode, required := map[string]*corev1.Pod{}, requires(job)
	for _, pod := range c.all {
		class, name := classify(job, pod), nodefit.NodeOf(pod)
		if class >= succeeded && r.ofFormerNode(pod, name) {
			continue
		}
		c.counts[class]++
		// The names of Pods prevent this, unless another client created a Pod.
		if byNode[name] != nil {
			c.doubled = append(c.doubled, name)
		}
		// If a node has several Pods, the one with the last name decides. The event about it tells the user.
		byNode[name] = pod
		if err := r.countPod(c, class, pod, name, required); err != nil {
			return nil, err
		}
	}
	// A node whose Pod is leaving is desired and not done, so it gets another Pod later.
	for _, name := range slices.Sorted(maps.Keys(byNode)) {
		c.done += one(c.desired[name] && classify(job, byNode[name]) >= succeeded)
	}
	nodes, err := r.nodesFor(required)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		// A node with a Pod of any class gets no other one now.
		if byNode[node.Name] == nil && fits(required, node) {
			c.desired[node.Name] = true
			c.missing = append(c.missing, node.Name)
		}
	}
	// Parallelism takes the first ones, so a node whose Pods are always refused must not always be among them.
	ordering.Shuffled(c.missing)
	return c, nil
}

// ofFormerNode reports whether a Pod ran on a deleted node that had the name of an existing one. What it did there says nothing about the
// new machine. The API server has set both times.
func (r *Reconciler) ofFormerNode(pod *corev1.Pod, name string) bool {
	node, err := r.nodes.Get(name)
	return err == nil && pod.CreationTimestamp.Before(&node.CreationTimestamp)
}

// countPod decides whether the node of a Pod is desired. A Pod that ended did its work there, and one that leaves is waited for. An
// active Pod must still fit: its own spec decides, which is the template plus its node. If only the template fits, the Pod stays,
// because its replacement would be the same: admission in the cluster has added requirements, for example the requests of a sidecar.
func (r *Reconciler) countPod(c *census, class class, pod *corev1.Pod, name string, required *nodefit.Requirements) error {
	node, err := r.nodes.Get(name)
	switch {
	case apierrors.IsNotFound(err):
		// The garbage collector deletes the Pods of a node that does not exist, but not those that were never bound to it.
		if class == active && pod.Spec.NodeName == "" {
			c.misfits = append(c.misfits, pod)
		}
	case err != nil:
		return fmt.Errorf("get node %s: %w", name, err)
	case class != active || fits(nodefit.Require(pod), node) || fits(required, node):
		c.desired[name] = true
	default:
		c.misfits = append(c.misfits, pod)
	}
	return nil
}

// one returns 1 for true and 0 for false.
func one(condition bool) int {
	if condition {
		return 1
	}
	return 0
}
