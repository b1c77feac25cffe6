package pod

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/storage/names"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/launch"
)

// maxName is the maximum length of the name of an object, which is that of a DNS subdomain.
const maxName = 253

// launchOrder adds a barrier to each container of a Pod whose containers start in an order. The container starts when
// a controller adds the key that the barrier refers to. Errors are mistakes of the user, so they are refusals with
// 403.
func launchOrder(_ context.Context, e *edit, attributes admission.Attributes) error {
	priorities, err := launchPriorities(e.pod)
	if err != nil {
		return admission.NewForbidden(attributes, err)
	}
	// kube-apiserver refuses a Pod without a name and a prefix of it.
	if priorities == nil || e.pod.Name == "" && e.pod.GenerateName == "" {
		return nil
	}
	// The barrier refers to a ConfigMap by the name of the Pod, so the name must be known now.
	if e.pod.Name == "" {
		e.name(names.SimpleNameGenerator.GenerateName(e.pod.GenerateName))
	}
	name := launch.BarrierOf(e.pod.Name)
	if len(name) > maxName {
		return admission.NewForbidden(attributes, fmt.Errorf("the ConfigMap %s would have a name of more than %d characters; "+
			"use a shorter name for a Pod whose containers start in an order", name, maxName))
	}
	for i, priority := range priorities {
		barrier := launch.Barrier(e.pod.Name, priority)
		switch present := lastVariable(&e.pod.Spec.Containers[i], pub.ContainerLaunchBarrierEnv); {
		case present == nil:
			e.addEnv(i, barrier)
		// The user must not set the variable of the barrier, because the container would then not wait. An equal
		// barrier is the result of an earlier call.
		case !apiequality.Semantic.DeepEqual(*present, barrier):
			return admission.NewForbidden(attributes, fmt.Errorf("container %s sets the environment variable %s, which is reserved; remove it",
				e.pod.Spec.Containers[i].Name, pub.ContainerLaunchBarrierEnv))
		}
	}
	return nil
}

// lastVariable returns the last variable of a container with the name, which is the one that counts, or nil.
func lastVariable(container *corev1.Container, name string) *corev1.EnvVar {
	for i := len(container.Env) - 1; i >= 0; i-- {
		if container.Env[i].Name == name {
			return &container.Env[i]
		}
	}
	return nil
}

// launchPriorities returns the priority of each container, or nil if all start together. A higher priority starts
// earlier. With the annotation Ordered, the containers start in the order of the list, and variables do not count. A
// container without a priority has 0.
func launchPriorities(pod *corev1.Pod) ([]int32, error) {
	containers := pod.Spec.Containers
	if len(containers) < 2 {
		return nil, nil
	}
	priorities := make([]int32, len(containers))
	ordered := pod.Annotations[pub.ContainerLaunchPriorityKey] == pub.ContainerLaunchOrdered
	differ := false
	for i := range containers {
		if ordered {
			priorities[i] = int32(-i)
		} else if env := lastVariable(&containers[i], pub.ContainerLaunchPriorityEnv); env != nil {
			number, err := strconv.ParseInt(env.Value, 10, 32)
			if err != nil { // A value from another source leaves this one empty.
				return nil, fmt.Errorf("environment variable %s of container %s is %q; set it to a whole number from -2147483647 to 2147483647",
					pub.ContainerLaunchPriorityEnv, containers[i].Name, env.Value)
			}
			priorities[i] = int32(number)
		}
		differ = differ || priorities[i] != priorities[0]
	}
	if !differ {
		return nil, nil
	}
	return priorities, nil
}
