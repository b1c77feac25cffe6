// Package launch owns the form of launch barriers: the variable that holds a container back, and the ConfigMap whose keys let it
// start. Admission adds the variable, a controller adds the keys, and updates in place take containers in the same order.
//
// All functions are pure. Enter at Barrier.
package launch

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

const (
	// suffix ends the name of the ConfigMap of a Pod.
	suffix = "-barrier"
	// prefix starts the key that a barrier waits for. The priority follows it.
	prefix = "p_"
)

// BarrierOf returns the name of the ConfigMap of a Pod.
func BarrierOf(pod string) string { return pod + suffix }

// Key returns the key of the ConfigMap that lets the containers of a priority start.
func Key(priority int) string { return prefix + strconv.Itoa(priority) }

// Barrier returns the variable that holds a container of a Pod back until its priority may start.
func Barrier(pod string, priority int32) corev1.EnvVar {
	return corev1.EnvVar{Name: pub.ContainerLaunchBarrierEnv, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: BarrierOf(pod)}, Key: Key(int(priority)),
	}}}
}

// Priority returns the launch priority of a container, if it has one. It reads the barrier, which is what takes effect, and not the
// user's variable. A barrier of another form counts as none.
func Priority(container *corev1.Container) (int, bool) {
	ref := reference(container)
	if ref == nil {
		return 0, false
	}
	text, found := strings.CutPrefix(ref.Key, prefix)
	number, err := strconv.Atoi(text)
	return number, found && err == nil
}

// Held returns the priority of a container that waits for the ConfigMap of its Pod. A user may have written a barrier that waits for
// another one.
func Held(pod *corev1.Pod, container *corev1.Container) (int, bool) {
	ref := reference(container)
	if ref == nil {
		return 0, false
	}
	if name, found := strings.CutSuffix(ref.Name, suffix); !found || name != pod.Name {
		return 0, false
	}
	return Priority(container)
}

// reference returns what the barrier of a container refers to, or nil. Of several variables with one name, the last one takes
// effect.
func reference(container *corev1.Container) *corev1.ConfigMapKeySelector {
	for i := len(container.Env) - 1; i >= 0; i-- {
		if env := &container.Env[i]; env.Name == pub.ContainerLaunchBarrierEnv {
			if env.ValueFrom == nil {
				return nil
			}
			return env.ValueFrom.ConfigMapKeyRef
		}
	}
	return nil
}
