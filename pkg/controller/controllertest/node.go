package controllertest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// Node simulates the scheduler and the kubelet of every Pod. It only changes what they would change.
type Node struct {
	Now time.Time
	// Broken reports whether containers with an image never become ready.
	Broken func(image string) bool
	// Agent is true if a node agent reports on containers, and restarts containers whose environment reads changed metadata.
	Agent bool
	// Small is true if a node cannot give more CPU or memory than it already gave.
	Small bool
	// starts counts all started containers. It makes their IDs unique.
	starts int
	// created holds the hashes of what an instance was created from, by container ID.
	created map[string]containerreport.Hashes
}

// Run brings the status of a Pod to its spec in one step.
func (n *Node) Run(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName = "node"
	}
	pod.Status.Phase, pod.Status.ObservedGeneration = corev1.PodRunning, pod.Generation
	containersReady := true
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := containerStatusOf(pod, c.Name)
		if status.Image != c.Image || n.restarts(pod, c, status.ContainerID) {
			n.start(pod, c, status)
		}
		if status.Resources == nil || !n.Small {
			status.Resources = c.Resources.DeepCopy()
		}
		status.Ready = n.Broken == nil || !n.Broken(c.Image)
		containersReady = containersReady && status.Ready
	}
	ready := containersReady
	for _, gate := range pod.Spec.ReadinessGates {
		if c := ConditionOf(pod, gate.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			ready = false
		}
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	SetConditionOf(pod, corev1.PodReady, status, n.Now)
	SetConditionOf(pod, corev1.PodInitialized, corev1.ConditionTrue, n.Now)
	n.report(pod)
}

// Stop brings the status of a Pod that is being deleted to its end, as a kubelet does before it removes the Pod: no container runs, the
// phase is final, and the Pod is not ready.
func (n *Node) Stop(pod *corev1.Pod, phase corev1.PodPhase) {
	n.halt(pod, func(*corev1.Container, *corev1.ContainerStatus) bool { return true })
	pod.Status.Phase = phase
}

// Halt ends the containers whose image changes. The node has not started their next instances yet.
func (n *Node) Halt(pod *corev1.Pod) {
	n.halt(pod, func(c *corev1.Container, status *corev1.ContainerStatus) bool { return status.Image != c.Image })
}

// halt ends the containers for which ends returns true.
func (n *Node) halt(pod *corev1.Pod, ends func(*corev1.Container, *corev1.ContainerStatus) bool) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := containerStatusOf(pod, c.Name)
		if status.ContainerID == "" || !ends(c, status) {
			continue
		}
		status.Ready = false
		status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: status.ContainerID}}
		SetConditionOf(pod, corev1.PodReady, corev1.ConditionFalse, n.Now)
	}
}

// Crash ends every container of a Pod. The node restarts them.
func (n *Node) Crash(pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		n.start(pod, &pod.Spec.Containers[i], containerStatusOf(pod, pod.Spec.Containers[i].Name))
	}
	n.Run(pod)
}

// start starts another instance of a container.
func (n *Node) start(pod *corev1.Pod, c *corev1.Container, status *corev1.ContainerStatus) {
	n.starts++
	restarts := status.RestartCount
	if status.ContainerID != "" {
		restarts++
	}
	*status = corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: "id:" + c.Image, ContainerID: fmt.Sprintf("test://%d", n.starts),
		RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		Resources: status.Resources,
	}
	n.create(pod, c, status.ContainerID)
}

func expectedHash(pod *corev1.Pod, c *corev1.Container) uint64 {
	return containerreport.Expected(containerreport.VariablesOf(c), pod.Labels, pod.Annotations)
}

// restarts reports whether the agent restarts the container.
func (n *Node) restarts(pod *corev1.Pod, c *corev1.Container, id string) bool {
	held := ConditionOf(pod, pub.InPlaceUpdateReadyConditionType)
	if !n.Agent || held == nil || held.Status != corev1.ConditionFalse {
		return false
	}
	state, err := record.Read(pod)
	return n.created[id].ExtractedEnvFromMetadataHash != expectedHash(pod, c) ||
		err == nil && state != nil && id != "" && state.RestartContainers[c.Name] == id
}

func (n *Node) create(pod *corev1.Pod, c *corev1.Container, id string) {
	if n.created == nil {
		n.created = map[string]containerreport.Hashes{}
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(c.Name + c.Image))
	n.created[id] = containerreport.Hashes{PlainHash: uint64(hash.Sum32()), ExtractedEnvFromMetadataHash: expectedHash(pod, c)}
}

func (n *Node) report(pod *corev1.Pod) {
	if !n.Agent {
		return
	}
	report := containerreport.Report{}
	for _, s := range pod.Status.ContainerStatuses {
		report.Containers = append(report.Containers, containerreport.Container{
			Name: s.Name, ContainerID: s.ContainerID, RestartCount: s.RestartCount, Hashes: n.created[s.ContainerID],
		})
	}
	text, err := json.Marshal(report)
	if err != nil {
		panic(err)
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, pub.RuntimeContainerMetaKey, string(text))
}

func containerStatusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name})
	return &pod.Status.ContainerStatuses[len(pod.Status.ContainerStatuses)-1]
}

// ConditionOf returns the Pod's condition of a type, or nil.
func ConditionOf(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// SetConditionOf writes a condition. Its transition time changes only when the status changes.
func SetConditionOf(pod *corev1.Pod, conditionType corev1.PodConditionType, status corev1.ConditionStatus, now time.Time) {
	c := ConditionOf(pod, conditionType)
	if c == nil {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: conditionType})
		c = &pod.Status.Conditions[len(pod.Status.Conditions)-1]
	}
	if c.Status != status {
		c.Status, c.LastTransitionTime = status, metav1.NewTime(now)
	}
}
