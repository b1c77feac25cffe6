package ephemeraljob

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// state is how far the containers of a job are in one Pod. The states are counted in the status, except for untouched.
type state int

const (
	// untouched means that the Pod does not have the containers.
	untouched state = iota
	waiting
	running
	succeeded
	failed
)

// observation is what the Pods of a job show. Each Pod is counted once.
type observation struct {
	match, waiting, running, succeeded, failed int32
	// taken are active Pods that have a container with a name of the job already, or are static.
	taken int
	// untouched are the Pods without the containers, oldest first.
	untouched []*corev1.Pod
}

// observe counts the Pods of a job by the states of their containers.
func observe(job *v1alpha1.EphemeralJob, pods []*corev1.Pod) *observation {
	chosen, occupied := targets(job, pods)
	seen := &observation{taken: occupied}
	for _, pod := range chosen {
		seen.match++
		switch stateOf(job, pod) {
		case untouched:
			seen.untouched = append(seen.untouched, pod)
		case waiting:
			seen.waiting++
		case running:
			seen.running++
		case succeeded:
			seen.succeeded++
		case failed:
			seen.failed++
		}
	}
	return seen
}

// targets returns the Pods of a job: the oldest ones, at most as many as replicas. It also counts the active Pods that cannot be chosen. A
// Pod that already has a container with one of the names from somebody else cannot get the job's container, and neither can a static Pod.
// Finished and terminating Pods do not count. The order is stable, so each pass chooses the same Pods while no Pod comes or goes.
func targets(job *v1alpha1.EphemeralJob, pods []*corev1.Pod) (chosen []*corev1.Pod, occupied int) {
	for _, pod := range pods {
		switch {
		case !podstate.Active(pod):
		case taken(job, pod):
			occupied++
		default:
			chosen = append(chosen, pod)
		}
	}
	slices.SortFunc(chosen, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return chosen[:min(len(chosen), int(ptr.Deref(job.Spec.Replicas, int32(len(chosen)))))], occupied
}

// taken reports whether kube-apiserver refuses the containers of the job in a Pod: it is the mirror of a static Pod, or it has a
// container with a name of the job that the job did not add.
func taken(job *v1alpha1.EphemeralJob, pod *corev1.Pod) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	container := func(c corev1.Container) bool { return named(job, c.Name) }
	return slices.ContainsFunc(pod.Spec.Containers, container) || slices.ContainsFunc(pod.Spec.InitContainers, container) ||
		slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
			return named(job, c.Name) && !addedBy(job.UID, &c)
		})
}

// named reports whether the job has a container of this name.
func named(job *v1alpha1.EphemeralJob, name string) bool {
	return slices.ContainsFunc(job.Spec.Template.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == name })
}

// addedBy reports whether the job with the UID added the container. The variable is part of the container, so no other record is
// needed and none can be lost.
func addedBy(job types.UID, c *corev1.EphemeralContainer) bool {
	return slices.ContainsFunc(c.Env, func(env corev1.EnvVar) bool { return env.Name == pub.EphemeralJobIDEnv && env.Value == string(job) })
}

// stateOf returns the state of the job's containers in a Pod. One failed container fails the Pod, and the Pod succeeds when all of
// them have succeeded. A container without a status has not started.
func stateOf(job *v1alpha1.EphemeralJob, pod *corev1.Pod) state {
	// One patch adds all containers, so one of them is enough.
	if !slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return addedBy(job.UID, &c) }) {
		return untouched
	}
	counts := map[state]int{}
	for i := range pod.Status.EphemeralContainerStatuses {
		if status := &pod.Status.EphemeralContainerStatuses[i]; named(job, status.Name) {
			counts[containerState(&status.State)]++
		}
	}
	switch {
	case counts[failed] > 0:
		return failed
	case counts[succeeded] == len(job.Spec.Template.EphemeralContainers):
		return succeeded
	case counts[running] > 0:
		return running
	}
	return waiting
}

// runContainerError is the reason with which a container waits whose command cannot be started. Ephemeral containers never restart.
const runContainerError = "RunContainerError"

// containerState returns the state of one container. A container with another waiting reason may still start, for example after its
// image is pulled.
func containerState(status *corev1.ContainerState) state {
	switch {
	case status.Terminated != nil && status.Terminated.ExitCode == 0:
		return succeeded
	case status.Terminated != nil:
		return failed
	case status.Running != nil:
		return running
	case status.Waiting != nil && status.Waiting.Reason == runContainerError:
		return failed
	}
	return waiting
}

// next returns the Pods that get the containers now, so that at most parallelism Pods are in progress. Waiting Pods count, because
// they have the containers already. A smaller parallelism stops nothing that runs.
func next(spec *v1alpha1.EphemeralJobSpec, seen *observation) []*corev1.Pod {
	if spec.Paused || len(spec.Template.EphemeralContainers) == 0 {
		return nil
	}
	// The default is one Pod at a time.
	free := ptr.Deref(spec.Parallelism, 1) - seen.running - seen.waiting
	return seen.untouched[:max(0, min(int(free), len(seen.untouched)))]
}
