package inplace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/containermeta"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

const (
	// settleMargin is added to the grace period of a Pod, within which a node must have stopped what it was told to stop.
	settleMargin = 10 * time.Second
	// defaultGracePeriod is that of a Pod which names none.
	defaultGracePeriod = 30 * time.Second
	// agentPatience is how long a node's agent may take to report on an instance that the kubelet has reported.
	agentPatience = 10 * time.Second
)

// Progress is how far an in-place update has come.
type Progress struct {
	Complete bool
	// Next is true when the containers whose turn it was are done and those whose turn is next may change.
	Next bool
	// Hopeless is why the node will never carry the update out, or empty.
	Hopeless string
	// Recheck is when the same Pod may evaluate otherwise though nothing about it changed; zero when it will not.
	Recheck time.Duration
}

// Watched tells for how long the caller has seen the same sighting without a break, and by a clock of its own. It may be nil
// where nobody watches.
type Watched func(sighting string) time.Duration

// Evaluate tells whether the node has carried out the Pod's last in-place update. A Pod that was never updated is complete.
func Evaluate(pod *corev1.Pod, watched Watched) (Progress, error) {
	grace, err := record.ReadGrace(pod)
	if err != nil {
		return Progress{}, err
	}
	state, err := record.Read(pod)
	if err != nil {
		return Progress{}, err
	}
	if state == nil {
		return Progress{Complete: true}, nil
	}
	if grace != nil {
		return Progress{}, nil
	}
	report, err := containermeta.Read(pod)
	if err != nil {
		report = nil // it will be replaced
	}
	findings := examine(pod, state, report)
	if findings.hopeless != "" {
		return Progress{Hopeless: findings.hopeless}, nil
	}
	if findings.pending {
		return Progress{}, nil
	}
	if remaining := findings.patience - sightedFor(pod, state, &findings, watched); remaining > 0 {
		if watched == nil {
			return Progress{}, nil
		}
		return Progress{Recheck: remaining}, nil
	}
	if findings.agentless {
		return Progress{Hopeless: "no node agent has reported on it, which alone restarts containers for changed metadata"}, nil
	}
	if waits(state) {
		return Progress{Next: readyForNext(pod, state)}, nil
	}
	return Progress{Complete: true}, nil
}

// sightedFor is how long what needs patience has been seen. Since the node first reported on this spec, and for these
// instances: others begin anew.
func sightedFor(pod *corev1.Pod, state *record.State, findings *findings, watched Watched) time.Duration {
	if findings.patience == 0 || watched == nil {
		return 0
	}
	return watched(fmt.Sprintf("%d %s %s", pod.Generation, state.Revision, strings.Join(findings.doubts, " ")))
}

// waits tells whether a later batch of containers is still to change.
func waits(s *record.State) bool {
	return len(s.NextContainerImages) > 0 || len(s.NextContainerMetadata) > 0 || len(s.NextContainerResources) > 0
}

func readyForNext(pod *corev1.Pod, state *record.State) bool {
	return state.PreCheckBeforeNext == nil || !slices.ContainsFunc(state.PreCheckBeforeNext.ContainersRequiredReady, func(name string) bool {
		status := containerStatus(pod, name)
		return status == nil || !status.Ready
	})
}

// findings are what the node's reports say of the containers whose turn it was.
type findings struct {
	// pending is true when something is known not to be done.
	pending  bool
	hopeless string
	// agentless is true when only an agent could carry the update out, and none has reported on the Pod.
	agentless bool
	// doubts are what only time decides, and patience how long.
	doubts   []string
	patience time.Duration
}

func (f *findings) doubt(patience time.Duration, format string, args ...any) {
	f.doubts = append(f.doubts, fmt.Sprintf(format, args...))
	f.patience = max(f.patience, patience)
}

func examine(pod *corev1.Pod, state *record.State, report *containermeta.Report) (f findings) {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		recorded, found := state.LastContainerStatuses[container.Name]
		if !found {
			continue
		}
		switch Judge(pod, container, recorded, report) {
		case Done:
		case Unnamed:
			f.doubt(replacedWithin(pod), "%s=%s", container.Name, containerStatus(pod, container.Name).ContainerID)
		case Unreported:
			f.doubt(agentPatience, "%s=%s unreported", container.Name, containerStatus(pod, container.Name).ContainerID)
		case Pending:
			f.pending = true
		}
	}
	if state.UpdateEnvFromMetadata {
		f.examineEnvironment(pod, state, report)
	}
	if state.UpdateResources && (!nodeSawSpec(pod) || !resized(pod, state)) {
		f.pending, f.hopeless = true, infeasible(pod)
	}
	return f
}

// touched tells whether the update changes a container. Others may be changed by another controller at the same time, a SidecarSet
// for example: neither waits for the other.
func touched(s *record.State, container string) bool {
	if len(s.ContainerBatchesRecord) == 0 {
		return true // Early releases recorded no batches.
	}
	return slices.ContainsFunc(s.ContainerBatchesRecord, func(b record.Batch) bool { return slices.Contains(b.Containers, container) })
}

// examineEnvironment asks of each container of the update that reads metadata whether its instance was started with what the Pod has
// now. Nothing but the agent's report proves that.
func (f *findings) examineEnvironment(pod *corev1.Pod, state *record.State, report *containermeta.Report) {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		variables := containermeta.VariablesOf(container)
		if len(variables) == 0 || !touched(state, container.Name) {
			continue
		}
		if report == nil {
			f.agentless = true
			f.doubt(replacedWithin(pod), "%s without a report", container.Name)
			continue
		}
		status, entry := containerStatus(pod, container.Name), report.Find(container.Name)
		if status == nil || entry == nil || entry.ContainerID != status.ContainerID ||
			entry.Hashes.ExtractedEnvFromMetadataHash != containermeta.Expected(variables, pod.Labels, pod.Annotations) {
			f.pending = true
		}
	}
}

// replacedWithin is the time within which a node has put an end to what it was told to.
//
// A runtime names one tag of an image that has several, and not always the one asked for; but an instance without the spec's
// name may also be one that crashed and came back before the node knew better. The node puts an end to that one within the
// grace period. So what we have watched run for longer is the new one: an update never hangs on a name.
func replacedWithin(pod *corev1.Pod) time.Duration {
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		return time.Duration(*seconds)*time.Second + settleMargin
	}
	return defaultGracePeriod + settleMargin
}

// nodeSawSpec is true as well where a node does not say which generation it reports on.
func nodeSawSpec(pod *corev1.Pod) bool {
	return pod.Status.ObservedGeneration == 0 || pod.Status.ObservedGeneration >= pod.Generation
}
