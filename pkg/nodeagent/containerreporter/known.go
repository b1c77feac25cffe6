package containerreporter

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// kruiseGroup is the API group of the workloads whose Pods are reported on.
const (
	kruiseGroup = "apps.kruise.io"
	// sidecarSetHashKey marks Pods with injected sidecars.
	sidecarSetHashKey = "kruise.io/sidecarset-hash"
)

// knownPod is the cached summary of a Pod. For a Pod that the agent does not report on, only ObjectMeta is set.
type knownPod struct {
	// ObjectMeta holds only the namespace, name, UID and resourceVersion.
	metav1.ObjectMeta
	// reports is true if the agent reports on the Pod.
	reports bool
	// held is true while an in-place update keeps the Pod out of service.
	held bool
	// ip is the address of the Pod. It is set only if a container may be restarted, because only its hook needs it.
	ip string
	// report is the report in the Pod's annotation, or nil. containers are in the order of the spec.
	report     *containerreport.Report
	containers []instance
}

// instance is a container of the Pod spec and its current instance in the Pod status.
type instance struct {
	name string
	// id is empty if the status has no container ID yet.
	id string
	// reads is true if environment variables of the container read metadata. variables are their names. They are nil if the Pod has
	// more than the agent keeps; see variablesOf.
	reads     bool
	variables []containerreport.Variable
	// expected is the hash that the variables would have if the container started now.
	expected uint64
	// replaced is true while the kubelet is about to replace the instance for an image change. restarts is true if an update in place
	// restarts the container, and this is the instance that it found.
	replaced, restarts bool
}

// trim is the informer transform that turns a Pod into a knownPod. It runs before the Pod enters the cache, so the
// full Pod is never kept. A terminating Pod counts as one that the agent does not report on.
func trim(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	r := &knownPod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}}
	if !concerns(pod) || pod.DeletionTimestamp != nil {
		return r, nil
	}
	r.reports = true
	r.held = held(pod)
	// The next report replaces an unreadable one.
	if report, err := containerreport.Read(pod); err == nil {
		r.report = known(pod, report)
	}
	// The address is kept only if some container reads metadata and may be restarted.
	reads, room := false, keptVariables
	ids := containerIDs(pod)
	r.containers = make([]instance, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		variables := containerreport.VariablesOf(container)
		if len(variables) > 0 {
			reads, r.ip = true, pod.Status.PodIP
		}
		r.containers = append(r.containers, instance{
			name: container.Name, id: ids[container.Name], reads: len(variables) > 0, variables: kept(variables, &room),
			expected: containerreport.Expected(variables, pod.Labels, pod.Annotations),
		})
	}
	if r.held {
		r.mark(pod, reads)
	}
	return r, nil
}

// keptVariables is how many bytes the variables of one Pod may take in the cache. Pods of users can have thousands. variableSize is
// what one takes beside its name.
const (
	keptVariables = 1 << 10
	variableSize  = 40
)

// kept returns the names of the variables, which is all that a report needs, or nil if they do not fit into the room.
func kept(variables []containerreport.Variable, room *int) (names []containerreport.Variable) {
	for _, v := range variables {
		if *room -= len(v.Name) + variableSize; *room < 0 {
			return nil
		}
		names = append(names, containerreport.Variable{Name: v.Name})
	}
	return names
}

// known returns the part of a report that is about containers of the Pod. Users can write the annotation of the report, so it may have
// any others. A nil report stays nil.
func known(pod *corev1.Pod, report *containerreport.Report) *containerreport.Report {
	if report == nil {
		return nil
	}
	known := *report
	names := make(map[string]bool, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		names[pod.Spec.Containers[i].Name] = true
	}
	// The agent's own report has an empty list too, and is compared with this one.
	known.Containers = make([]containerreport.Container, 0, len(pod.Spec.Containers))
	for _, container := range report.Containers {
		if names[container.Name] && len(known.Containers) < len(pod.Spec.Containers) {
			known.Containers = append(known.Containers, container)
		}
	}
	return &known
}

// concerns returns true if the agent reports on the Pod: a Kruise workload controls it, or it has sidecars of a
// SidecarSet.
func concerns(pod *corev1.Pod) bool {
	if _, injected := pod.Annotations[sidecarSetHashKey]; injected {
		return true
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == kruiseGroup
}

// held returns true while an update in place keeps the Pod out of service. A Pod without the condition is in service.
func held(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == pub.InPlaceUpdateReadyConditionType {
			return c.Status == corev1.ConditionFalse
		}
	}
	return false
}

// containerIDs returns the IDs of the current instances by container name, with the runtime as scheme.
func containerIDs(pod *corev1.Pod) map[string]string {
	ids := make(map[string]string, len(pod.Status.ContainerStatuses))
	for i := range pod.Status.ContainerStatuses {
		ids[pod.Status.ContainerStatuses[i].Name] = pod.Status.ContainerStatuses[i].ContainerID
	}
	return ids
}

// mark marks the instances that the update restarts. It also marks those that read metadata and whose image the update changed. The kubelet
// replaces those itself. If the agent stopped them too, the preStop hook would run twice.
func (r *knownPod) mark(pod *corev1.Pod, reads bool) {
	state, err := record.Read(pod)
	if err != nil || state == nil {
		return
	}
	// An instance has been replaced as soon as its ID differs from the recorded one.
	for i := range r.containers {
		if id, found := state.RestartContainers[r.containers[i].name]; found && id != "" && id == r.containers[i].id {
			r.containers[i].restarts, r.ip = true, pod.Status.PodIP
		}
		if !reads {
			continue
		}
		before, found := state.LastContainerStatuses[r.containers[i].name]
		r.containers[i].replaced = found && before.Image != "" && before.Image != pod.Spec.Containers[i].Image &&
			before.ContainerID == r.containers[i].id
	}
}

// outdated returns true if an instance in the status is missing from the report, or is to be restarted. With env set, it also returns true
// if an instance was started with metadata that the Pod no longer has. Containers without an instance do not count,
// so a Pod that starts is reported step by step.
func (r *knownPod) outdated(env bool) bool {
	if !r.reports {
		return false
	}
	started := 0
	for i := range r.containers {
		c := &r.containers[i]
		if c.id == "" {
			continue
		}
		started++
		entry := r.report.Find(c.name)
		if entry == nil || entry.ContainerID != c.id || c.restarts || env && entry.Hashes.ExtractedEnvFromMetadataHash != c.expected {
			return true
		}
	}
	// The report has a container that the Pod no longer has.
	return r.report != nil && started == len(r.containers) && len(r.report.Containers) != started
}

// sameAs returns true if both summaries lead to the same report.
func (r *knownPod) sameAs(other *knownPod) bool {
	return r.reports == other.reports && r.held == other.held && r.ip == other.ip &&
		reflect.DeepEqual(r.report, other.report) && reflect.DeepEqual(r.containers, other.containers)
}
