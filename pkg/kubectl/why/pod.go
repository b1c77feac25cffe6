package why

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/launch"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/readiness"
)

// waiting are the causes for which a Pod is not available. The order is the one in which they hide each other, which
// follows the life of a Pod backwards from its end. Causes of a workload use them too.
var waiting = []Cause{
	{"held by a finalizer", podTerminating},
	{"finished", podFinished},
	{"held by the hook preDelete", hookHolds(pub.LifecycleStatePreparingDelete, "preDelete")},
	{"held by the hook inPlaceUpdate before the update", hookHolds(pub.LifecycleStatePreparingUpdate, "inPlaceUpdate")},
	{"not scheduled", notScheduled},
	{"image", containerWaits(false, "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")},
	{"launch order", launchOrder},
	{"configuration", containerWaits(false, "CreateContainerConfigError", "CreateContainerError", "RunContainerError")},
	{"crash", containerWaits(true, "CrashLoopBackOff")},
	{"grace period", gracePeriod},
	{"update in place", updateInPlace},
	{"waits for the hook inPlaceUpdate after the update", hookWaits(pub.LifecycleStateUpdated, "inPlaceUpdate")},
	{"kept out of service", keptOutOfService},
	{"readiness gate", readinessGate},
	{"containers not ready", containersNotReady},
	{"waits for the hook preNormal", hookWaits(pub.LifecycleStatePreparingNormal, "preNormal")},
	{"minReadySeconds", minReady},
}

// podCauses are the causes of a Pod that was asked about.
var podCauses = append(slices.Clone(waiting),
	Cause{"protected by a budget", podProtected},
	Cause{"last warning", podWarning},
	Cause{"available", podAvailable},
)

// aboutPod returns a finding about the asked Pod.
func (f *Facts) aboutPod(remedy, fact string, args ...any) *Finding {
	return &Finding{Subject: "Pod " + f.Pod.Name, Fact: fmt.Sprintf(fact, args...), Remedy: remedy}
}

func podTerminating(f *Facts) *Finding {
	if f.Pod.DeletionTimestamp == nil {
		return nil
	}
	if len(f.Pod.Finalizers) > 0 {
		return f.aboutPod("remove the finalizer when its owner has finished", "is being deleted and has the finalizer %s", f.Pod.Finalizers[0])
	}
	return f.aboutPod("wait until its containers have stopped", "is being deleted")
}

func podFinished(f *Facts) *Finding {
	if !podstate.Finished(f.Pod) {
		return nil
	}
	return f.aboutPod("look at its logs: it does not run again", "has ended with the phase %s", f.Pod.Status.Phase)
}

// hook returns a lifecycle hook of the workload by its name, or nil.
func (f *Facts) hook(name string) *pub.LifecycleHook {
	hooks := f.lifecycle()
	switch {
	case hooks == nil:
		return nil
	case name == "preDelete":
		return hooks.PreDelete
	case name == "preNormal":
		return hooks.PreNormal
	default:
		return hooks.InPlaceUpdate
	}
}

// hookHolds finds a hook that holds the Pod while it has a marker of the hook. The remedy is to remove the marker.
func hookHolds(state pub.LifecycleStateType, name string) func(*Facts) *Finding {
	return func(f *Facts) *Finding {
		hook := f.hook(name)
		if lifecycle.Of(f.Pod) != state || !lifecycle.Hooked(hook, f.Pod) {
			return nil
		}
		return f.aboutPod("remove it from the Pod when the work of the hook is done",
			"is held by its %s hook in state %s: it has the %s", name, state, markerOf(hook, f.Pod, true))
	}
}

// hookWaits finds a hook that holds the Pod until it has all markers of the hook. The remedy is to add the one that
// is missing.
func hookWaits(state pub.LifecycleStateType, name string) func(*Facts) *Finding {
	return func(f *Facts) *Finding {
		hook := f.hook(name)
		if lifecycle.Of(f.Pod) != state || hook == nil || lifecycle.AllHooked(hook, f.Pod) {
			return nil
		}
		return f.aboutPod("add it to the Pod when the work of the hook is done",
			"waits for its %s hook in state %s: it does not have the %s", name, state, markerOf(hook, f.Pod, false))
	}
}

// markerOf names a marker of a hook that is on the Pod, or one that is not. A marker is a label or a finalizer.
func markerOf(hook *pub.LifecycleHook, pod *corev1.Pod, present bool) string {
	for _, key := range slices.Sorted(maps.Keys(hook.LabelsHandler)) {
		if value, found := pod.Labels[key]; (found && value == hook.LabelsHandler[key]) == present {
			return "label " + key + "=" + hook.LabelsHandler[key]
		}
	}
	for _, name := range hook.FinalizersHandler {
		if slices.Contains(pod.Finalizers, name) == present {
			return "finalizer " + name
		}
	}
	return "markers of the hook"
}

// notScheduled finds a Pod without a node. The message is that of the scheduler. A Pod without a message was not tried by any
// scheduler: it has a gate, or its scheduler does not run.
func notScheduled(f *Facts) *Finding {
	c := podstate.Condition(f.Pod, corev1.PodScheduled)
	switch {
	case podstate.Scheduled(f.Pod):
		return nil
	case len(f.Pod.Spec.SchedulingGates) > 0:
		return f.aboutPod("ask the program that removes this gate",
			"has no node: it has the scheduling gate %s", f.Pod.Spec.SchedulingGates[0].Name)
	case c == nil:
		return f.aboutPod("check that this scheduler runs", "has no node: scheduler %s has not tried to find one", f.Pod.Spec.SchedulerName)
	default:
		return f.aboutPod("change its requests, its node selection, its claims or the nodes", "has no node: %s", oneLine(c.Message))
	}
}

// containerWaits finds a container that waits for one of the reasons. crashed says that the reason is a container
// that ends again and again: its logs help then, and not its image.
func containerWaits(crashed bool, reasons ...string) func(*Facts) *Finding {
	return func(f *Facts) *Finding {
		for _, status := range slices.Concat(f.Pod.Status.InitContainerStatuses, f.Pod.Status.ContainerStatuses) {
			if status.State.Waiting == nil || !slices.Contains(reasons, status.State.Waiting.Reason) {
				continue
			}
			if crashed {
				return f.aboutPod(fmt.Sprintf("run: kubectl logs %s -c %s --previous", f.Pod.Name, status.Name),
					"has a container %s that has ended %d times", status.Name, status.RestartCount)
			}
			return f.aboutPod("correct the Pod template", "cannot start container %s with image %s: %s: %s",
				status.Name, imageOf(f.Pod, &status), status.State.Waiting.Reason, oneLine(status.State.Waiting.Message))
		}
		return nil
	}
}

// imageOf returns the image that a container is to run. After an update in place, its status still names the image that ran before.
func imageOf(pod *corev1.Pod, status *corev1.ContainerStatus) string {
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if container.Name == status.Name {
			return container.Image
		}
	}
	return status.Image
}

// launchOrder finds a container that waits until others with a higher priority have started. It comes before the
// cause of a wrong configuration, because the kubelet shows the same reason for both.
func launchOrder(f *Facts) *Finding {
	for i := range f.Pod.Spec.Containers {
		container := &f.Pod.Spec.Containers[i]
		priority, held := launch.Held(f.Pod, container)
		status := statusOf(f.Pod, container.Name)
		if !held || status == nil || status.State.Waiting == nil || status.State.Waiting.Reason != "CreateContainerConfigError" {
			continue
		}
		return f.aboutPod("make the containers with a higher priority ready", "holds container %s back until those above priority %d are ready",
			container.Name, priority)
	}
	return nil
}

// statusOf returns the status of a container, or nil.
func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

func gracePeriod(f *Facts) *Finding {
	if f.Pod.Annotations[pub.InPlaceUpdateGraceKey] == "" {
		return nil
	}
	return f.aboutPod("wait, or shorten gracePeriodSeconds", "is out of service for the grace period of its update in place")
}

// updateInPlace finds a Pod that an update in place keeps out of service until its containers have restarted.
func updateInPlace(f *Facts) *Finding {
	c := podstate.Condition(f.Pod, pub.InPlaceUpdateReadyConditionType)
	if c == nil || c.Status == corev1.ConditionTrue {
		return nil
	}
	return f.aboutPod("wait until the node has restarted its containers, and look at the events of the Pod if it does not",
		"is being updated in place on node %s", f.Pod.Spec.NodeName)
}

// keptOutOfService names the programs that have taken the Pod out of service, by the keys in its condition.
func keptOutOfService(f *Facts) *Finding {
	keys := readiness.Keys(f.Pod)
	if len(keys) == 0 {
		return nil
	}
	names := make([]string, 0, len(keys))
	for _, key := range keys {
		names = append(names, key.UserAgent+"/"+key.Key)
	}
	return f.aboutPod("wait for that party, or let it finish", "is kept out of service by %s", strings.Join(names, ", "))
}

func readinessGate(f *Facts) *Finding {
	for _, gate := range f.Pod.Spec.ReadinessGates {
		if c := podstate.Condition(f.Pod, gate.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			return f.aboutPod("ask the program that sets this condition", "has the readiness gate %s, which is not True", gate.ConditionType)
		}
	}
	return nil
}

// containersNotReady finds a container that is not ready for a reason without a cause of its own.
func containersNotReady(f *Facts) *Finding {
	for _, status := range f.Pod.Status.ContainerStatuses {
		switch {
		case status.Ready:
			continue
		case status.State.Running != nil:
			return f.aboutPod("check its readiness probe", "has a container %s that runs but is not ready", status.Name)
		case status.State.Terminated != nil:
			return f.aboutPod(fmt.Sprintf("run: kubectl logs %s -c %s", f.Pod.Name, status.Name),
				"has a container %s that has ended with exit code %d", status.Name, status.State.Terminated.ExitCode)
		default:
			return f.warned(fmt.Sprintf("has a container %s that does not run", status.Name))
		}
	}
	if !podstate.ConditionReady(f.Pod) {
		return f.warned("is not ready")
	}
	return nil
}

// warned returns a finding about a Pod whose status does not say more than fact. The last warning then usually does.
func (f *Facts) warned(fact string) *Finding {
	if len(f.Warnings) == 0 {
		return f.aboutPod("look at the events of the Pod", "%s", fact)
	}
	return f.aboutPod("correct the cause", "%s: %s", fact, oneLine(f.Warnings[0]))
}

// minReady finds a Pod that is ready for a shorter time than minReadySeconds.
func minReady(f *Facts) *Finding {
	rest := podstate.AvailableIn(f.Pod, f.minReadySeconds(), f.Now)
	if rest <= 0 {
		return nil
	}
	return f.aboutPod("wait", "is ready and counts as available in %s", rest.Round(time.Second))
}

// podWarning finds a warning about a Pod that is available. Facts has no warnings from before the Pod was ready.
func podWarning(f *Facts) *Finding {
	if len(f.Warnings) == 0 {
		return nil
	}
	return f.aboutPod("correct the cause", "has a warning: %s", oneLine(f.Warnings[0]))
}

// podProtected tells about a budget that would refuse to disrupt the Pod. Such a Pod is available; the user asks why
// it is not deleted or updated.
func podProtected(f *Facts) *Finding {
	budget := f.governing(f.Pod)
	if budget == nil || budget.Status.UnavailableAllowed > 0 || !podstate.Ready(f.Pod) {
		return nil
	}
	return f.aboutPod("make other Pods available, or annotate the Pod with "+pub.PubNoProtectKey+"=true",
		"is available, and PodUnavailableBudget %s refuses to disrupt it", budget.Name)
}

func podAvailable(f *Facts) *Finding {
	return f.aboutPod("there is nothing to do", "is available")
}
