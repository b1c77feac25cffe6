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

// waiting are the causes for which a Pod is not available.
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
	Cause{"last warning", podWarning},
	Cause{"protected by a budget", podProtected},
	Cause{"available", podAvailable},
)

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

// hookHolds finds a hook that holds the Pod while it has a marker of the hook.
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

// hookWaits finds a hook that holds the Pod until it has all markers of the hook.
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

// markerOf names a marker of a hook that is on the Pod, or one that is not.
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

func notScheduled(f *Facts) *Finding {
	c := podstate.Condition(f.Pod, corev1.PodScheduled)
	if podstate.Scheduled(f.Pod) || c == nil {
		return nil
	}
	return f.aboutPod("change its requests, its node selection or the nodes", "has no node: %s", oneLine(c.Message))
}

// containerWaits finds a container that waits for one of the reasons.
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
				status.Name, status.Image, status.State.Waiting.Reason, oneLine(status.State.Waiting.Message))
		}
		return nil
	}
}

// launchOrder finds a container that waits until others with a higher priority have started.
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

func updateInPlace(f *Facts) *Finding {
	c := podstate.Condition(f.Pod, pub.InPlaceUpdateReadyConditionType)
	if c == nil || c.Status == corev1.ConditionTrue {
		return nil
	}
	return f.aboutPod("wait until the node has restarted its containers, and look at the events of the Pod if it does not",
		"is being updated in place on node %s", f.Pod.Spec.NodeName)
}

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

func containersNotReady(f *Facts) *Finding {
	for _, status := range f.Pod.Status.ContainerStatuses {
		if status.Ready {
			continue
		}
		if status.State.Running != nil {
			return f.aboutPod("check its readiness probe", "has a container %s that runs but is not ready", status.Name)
		}
		return f.aboutPod("look at the events of the Pod", "has a container %s that does not run", status.Name)
	}
	if !podstate.ConditionReady(f.Pod) {
		return f.aboutPod("look at the events of the Pod", "is not ready")
	}
	return nil
}

func minReady(f *Facts) *Finding {
	rest := podstate.AvailableIn(f.Pod, f.minReadySeconds(), f.Now)
	if rest <= 0 {
		return nil
	}
	return f.aboutPod("wait", "is ready and counts as available in %s", rest.Round(time.Second))
}

func podWarning(f *Facts) *Finding {
	if len(f.Warnings) == 0 {
		return nil
	}
	return f.aboutPod("fix that", "has a warning: %s", oneLine(f.Warnings[0]))
}

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
