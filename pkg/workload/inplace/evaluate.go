package inplace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/workload/inplace/record"
	"kruise.io/kruise/pkg/workload/podstate"
)

const (
	// settleMargin is added to the grace period of a Pod. Within the sum, the node must have stopped a container that it was told
	// to stop.
	settleMargin = 10 * time.Second
	// defaultGracePeriod is the grace period of a Pod that sets none.
	defaultGracePeriod = 30 * time.Second
	// agentPatience is how long the node agent may take to report an instance that the kubelet has reported.
	agentPatience = 10 * time.Second
	// restartPatience is added to the grace period of a Pod. Within the sum, a node agent that works has stopped a container that it was
	// told to restart.
	restartPatience = 2 * time.Minute
)

// Progress is the progress of an in-place update.
type Progress struct {
	Complete bool
	// Next is true when the current batch of containers is complete and ready, and the next batch may change.
	Next bool
	// Hopeless says why the node will never complete the update. It is empty otherwise.
	Hopeless string
	// Recheck is the delay after which the result may differ even if the Pod does not change. Zero means it will not differ.
	Recheck time.Duration
}

// Watched returns how long the caller has seen the same sighting without a break, by the caller's own clock. It may be nil if
// the caller keeps no sightings.
type Watched func(sighting string) time.Duration

// Evaluate returns whether the node has completed the Pod's last in-place update. A Pod that was never updated is complete. It
// returns an error if the record in the Pod's annotations cannot be read.
func Evaluate(pod *corev1.Pod, watched Watched) (Progress, error) {
	state, delayed, err := lastUpdate(pod)
	switch {
	case err != nil:
		return Progress{}, err
	case state == nil:
		return Progress{Complete: true}, nil
	case delayed:
		return Progress{}, nil
	}
	findings := examine(pod, state, reportOf(pod), Judge)
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
	if findings.agentless != "" {
		return Progress{Hopeless: findings.agentless}, nil
	}
	if waits(state) {
		return Progress{Next: readyForNext(pod, state)}, nil
	}
	return Progress{Complete: true}, nil
}

// Complete is Evaluate for a caller that keeps no sightings: JudgeAtOnce decides on each container. It returns false if only time could
// decide.
func Complete(pod *corev1.Pod) (bool, error) {
	state, delayed, err := lastUpdate(pod)
	switch {
	case err != nil:
		return false, err
	case state == nil:
		return true, nil
	case delayed:
		return false, nil
	}
	findings := examine(pod, state, reportOf(pod), JudgeAtOnce)
	return findings.hopeless == "" && !findings.pending && findings.patience == 0 && !waits(state), nil
}

// lastUpdate returns the record of the Pod's last in-place update, or nil if the Pod was never updated. delayed is true in the grace
// period of the update.
func lastUpdate(pod *corev1.Pod) (state *record.State, delayed bool, err error) {
	grace, err := record.ReadGrace(pod)
	if err != nil {
		return nil, false, err
	}
	state, err = record.Read(pod)
	return state, grace != nil, err
}

// sightedFor returns how long the doubtful findings have been seen. The time starts when the node first reports on this spec
// with these instances. It starts again when an instance changes. Without doubts, or without a caller that keeps sightings, it
// is zero.
func sightedFor(pod *corev1.Pod, state *record.State, findings *findings, watched Watched) time.Duration {
	if findings.patience == 0 || watched == nil {
		return 0
	}
	return watched(fmt.Sprintf("%d %s %s", pod.Generation, state.Revision, strings.Join(findings.doubts, " ")))
}

// waits reports whether a later batch of containers still has to change.
func waits(s *record.State) bool {
	return len(s.NextContainerImages) > 0 || len(s.NextContainerMetadata) > 0 || len(s.NextContainerResources) > 0
}

// readyForNext reports whether the containers of the last batch are ready, so that the next batch may begin.
func readyForNext(pod *corev1.Pod, state *record.State) bool {
	return state.PreCheckBeforeNext == nil || !slices.ContainsFunc(state.PreCheckBeforeNext.ContainersRequiredReady, func(name string) bool {
		return !isReady(pod, name)
	})
}

// findings summarizes what the node reports about the containers that were changed so far.
type findings struct {
	// pending is true if a container is known to be incomplete.
	pending bool
	// hopeless says why the node will never complete the update, or is empty.
	hopeless string
	// agentless says why no node agent will complete the update, once the patience is over. It is empty if none is needed.
	agentless string
	// doubts are the findings that only elapsed time decides. patience is the time they need.
	doubts   []string
	patience time.Duration
}

// doubt adds a finding that only time decides. The text must name the instance: another instance starts the time again.
func (f *findings) doubt(patience time.Duration, format string, args ...any) {
	f.doubts = append(f.doubts, fmt.Sprintf(format, args...))
	f.patience = max(f.patience, patience)
}

// judgeFunc is Judge or JudgeAtOnce.
type judgeFunc func(*corev1.Pod, *corev1.Container, record.ContainerStatus, *containerreport.Report) Verdict

// examine judges every container of the update, then what reads metadata, and then the resources.
func examine(pod *corev1.Pod, state *record.State, report *containerreport.Report, judge judgeFunc) (f findings) {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		recorded, found := state.LastContainerStatuses[container.Name]
		if !found || waitsFor(state, container.Name) {
			continue
		}
		switch judge(pod, container, recorded, report) {
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
	f.examineRestarts(pod, state, report)
	// The status of the resources only counts for the newest spec.
	switch {
	case !state.UpdateResources:
	case !nodeSawSpec(pod):
		f.pending = true
	case !resized(pod, state):
		f.pending, f.hopeless = true, infeasible(pod)
	}
	return f
}

// waitsFor reports whether a container changes again in a later batch. Until then, nothing waits for its last change, which may be one
// that never ends.
func waitsFor(s *record.State, container string) bool {
	_, image := s.NextContainerImages[container]
	_, env := s.NextContainerMetadata[container]
	_, resources := s.NextContainerResources[container]
	return image || env || resources
}

// touched reports whether the update changes a container. Another controller, such as the one for SidecarSets, may change other
// containers at the same time. Neither update waits for the other.
func touched(s *record.State, container string) bool {
	if len(s.ContainerBatchesRecord) == 0 {
		return true // Records of early releases have no batches.
	}
	return slices.ContainsFunc(s.ContainerBatchesRecord, func(b record.Batch) bool { return slices.Contains(b.Containers, container) })
}

// examineEnvironment checks every container of the update that reads metadata.
func (f *findings) examineEnvironment(pod *corev1.Pod, state *record.State, report *containerreport.Report) {
	for _, name := range staleEnvironments(pod, state, report) {
		if report == nil {
			f.agentless = "no node agent reports on this Pod, and only the agent restarts containers for changed metadata"
			f.doubt(replacedWithin(pod), "%s without a report", name)
		} else {
			f.pending = true
		}
	}
}

// examineRestarts checks every container that the update restarts. The kubelet and the agent report the new instance.
func (f *findings) examineRestarts(pod *corev1.Pod, state *record.State, report *containerreport.Report) {
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		before, restarts := state.RestartContainers[name]
		if !restarts || waitsFor(state, name) {
			continue
		}
		status := containerStatus(pod, name)
		switch {
		case status == nil || status.ContainerID == "":
			f.pending = true
		case status.ContainerID == before:
			f.agentless = "no node agent has restarted container " + name + ", and nothing else does"
			f.doubt(replacedWithin(pod)+restartPatience, "%s=%s to restart", name, before)
		case report != nil && reported(report, status) == nil:
			f.doubt(agentPatience, "%s=%s unreported", name, status.ContainerID)
		}
	}
}

// Restartable reports whether the node agent can be expected to restart the containers of the Pod: it has reported the instances of all of
// them, and the Pod has the gate by which the agent sees that the Pod is out of service.
func Restartable(pod *corev1.Pod) bool {
	if !podstate.HasGate(pod, pub.InPlaceUpdateReadyConditionType) {
		return false
	}
	report := reportOf(pod)
	return !slices.ContainsFunc(pod.Spec.Containers, func(container corev1.Container) bool {
		status := containerStatus(pod, container.Name)
		return status == nil || status.ContainerID == "" || reported(report, status) == nil
	})
}

// staleEnvironments returns the containers of the update that read metadata, unless their instances were started with the Pod's current
// values. Only the node agent's report proves this.
func staleEnvironments(pod *corev1.Pod, state *record.State, report *containerreport.Report) (names []string) {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if !touched(state, container.Name) || waitsFor(state, container.Name) {
			continue
		}
		variables := containerreport.VariablesOf(container)
		if len(variables) == 0 {
			continue
		}
		status, entry := containerStatus(pod, container.Name), report.Find(container.Name)
		if status == nil || entry == nil || entry.ContainerID != status.ContainerID ||
			entry.Hashes.ExtractedEnvFromMetadataHash != containerreport.Expected(variables, pod.Labels, pod.Annotations) {
			names = append(names, container.Name)
		}
	}
	return names
}

// replacedWithin is the time within which a node has stopped a container that it was told to stop.
//
// If an image has several tags, a runtime may report another tag than the one in the spec. An instance whose reported image does
// not match may therefore be the new one. It may also be an old instance that crashed and restarted before the node observed the
// new spec; the node stops such an instance within the grace period. An instance that runs longer than that is the new one. An
// update therefore never hangs because of a tag.
func replacedWithin(pod *corev1.Pod) time.Duration {
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		return time.Duration(*seconds)*time.Second + settleMargin
	}
	return defaultGracePeriod + settleMargin
}

// nodeSawSpec reports whether the node has observed the Pod's newest spec. It is also true if the node does not report a
// generation.
func nodeSawSpec(pod *corev1.Pod) bool {
	return pod.Status.ObservedGeneration == 0 || pod.Status.ObservedGeneration >= pod.Generation
}
