package pod

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/resourceexpr"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// isInjected reports whether a SidecarSet injected the container. add marks each container by this variable.
func isInjected(container *corev1.Container) bool {
	return slices.ContainsFunc(container.Env, func(env corev1.EnvVar) bool {
		return env.Name == pub.SidecarInjectedEnv && env.Value == "true"
	})
}

// appContainers returns the Pod's own containers, without injected ones. The result points into the Pod, and callers
// must not change it.
func appContainers(pod *corev1.Pod) (own []*corev1.Container) {
	for i := range pod.Spec.Containers {
		if !isInjected(&pod.Spec.Containers[i]) {
			own = append(own, &pod.Spec.Containers[i])
		}
	}
	return own
}

// addEnv adds a variable, unless the container has one with the name. So the container's own value wins.
func addEnv(container *corev1.Container, variable corev1.EnvVar) {
	if !slices.ContainsFunc(container.Env, func(own corev1.EnvVar) bool { return own.Name == variable.Name }) {
		container.Env = append(container.Env, variable)
	}
}

// references finds the variables in a subPathExpr, in the form $(NAME).
var references = regexp.MustCompile(`\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)`)

// share adds the mounts and devices of the Pod's own containers to a container, as far as its policies say and their
// paths are free. If several containers use one path, the first one wins. It returns the variables that the mounts
// need: a subPathExpr is expanded with the environment of the container that has the mount.
func share(container *corev1.Container, from *v1beta1.SidecarContainer, own []*corev1.Container) (needed []corev1.EnvVar) {
	taken := map[string]bool{}
	for i := range container.VolumeMounts {
		taken[container.VolumeMounts[i].MountPath] = true
	}
	for i := range container.VolumeDevices {
		taken[container.VolumeDevices[i].DevicePath] = true
	}
	// The containers are visited in the order of the Pod, so the first of two mounts of one path is taken.
	for _, app := range own {
		for i := range app.VolumeMounts {
			mount := &app.VolumeMounts[i]
			if from.ShareVolumePolicy.Type != v1beta1.ShareVolumePolicyEnabled || taken[mount.MountPath] {
				continue
			}
			taken[mount.MountPath] = true
			container.VolumeMounts = append(container.VolumeMounts, *mount.DeepCopy())
			// Without the variable, the kubelet would not start the container.
			for _, match := range references.FindAllStringSubmatch(mount.SubPathExpr, -1) {
				if variable := find(app.Env, match[1]); variable != nil {
					needed = append(needed, *variable.DeepCopy())
				}
			}
		}
		for _, device := range app.VolumeDevices {
			// Devices have a policy of their own, which can be missing.
			policy := from.ShareVolumeDevicePolicy
			if policy == nil || policy.Type != v1beta1.ShareVolumePolicyEnabled || taken[device.DevicePath] {
				continue
			}
			taken[device.DevicePath] = true
			container.VolumeDevices = append(container.VolumeDevices, device)
		}
	}
	return needed
}

// find returns the first variable with the name, or nil.
func find(env []corev1.EnvVar, name string) *corev1.EnvVar {
	for i := range env {
		if env[i].Name == name {
			return &env[i]
		}
	}
	return nil
}

// transferred returns the variables of the Pod's containers that a container copies. A missing container or variable
// is skipped, because one SidecarSet serves different Pods. Names are sorted and unique, so the result does not
// depend on the order in the SidecarSet.
func transferred(pod *corev1.Pod, transfers []v1beta1.TransferEnvVar) (variables []corev1.EnvVar) {
	for i := range transfers {
		transfer := &transfers[i]
		source := transfer.SourceContainerName
		if from := transfer.SourceContainerNameFrom; from != nil && from.FieldRef != nil {
			source = named(pod, from.FieldRef.FieldPath)
		}
		// A SidecarSet is written for Pods of several kinds, and not every one has this container.
		container := sidecar.Container(pod, source)
		if container == nil {
			continue
		}
		names := slices.Clone(transfer.EnvNames)
		if transfer.EnvName != "" {
			names = append(names, transfer.EnvName)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if variable := find(container.Env, name); variable != nil {
				variables = append(variables, *variable.DeepCopy())
			}
		}
	}
	return variables
}

// named returns the value of a label or annotation of the Pod. It is empty for any other field path.
func named(pod *corev1.Pod, path string) string {
	switch list, key, ok := validation.PodField(path); {
	case !ok:
		return ""
	case list == "labels":
		return pod.Labels[key]
	default:
		return pod.Annotations[key]
	}
}

// resources computes the resources of a container from those of the Pod's own containers. An error means that the
// SidecarSet does not fit this Pod; the caller refuses the Pod then. A policy without a pattern applies to all
// targets.
func (in *injection) resources(policy *v1beta1.ResourcesPolicy) (corev1.ResourceRequirements, error) {
	var none, result corev1.ResourceRequirements
	pattern, err := regexp.Compile(ptr.Deref(policy.TargetContainersNameRegex, ".*"))
	if err != nil {
		return none, err
	}
	// A Pod without a target is refused: an expression over no containers would give a sidecar without resources.
	targets := in.targets(pattern)
	if len(targets) == 0 {
		return none, fmt.Errorf("no container of the Pod has a name that matches %q", pattern)
	}
	// Limits and requests are computed separately, each from its own list of the targets.
	sum := policy.TargetContainersMode == v1beta1.TargetContainersModeSum
	limits, err := compute(policy.ResourcesExpr.Limits, func(name corev1.ResourceName) (resource.Quantity, bool) {
		return total(targets, name, sum, true)
	})
	if err != nil {
		return none, err
	}
	requests, err := compute(policy.ResourcesExpr.Requests, func(name corev1.ResourceName) (resource.Quantity, bool) {
		return total(targets, name, sum, false)
	})
	result.Limits, result.Requests = limits, requests
	return result, err
}

// targets returns the containers that keep running, belong to no SidecarSet of this Pod, and match the pattern. It
// compares names instead of the variable of isInjected, so it also leaves out a container of the Pod that a sidecar
// replaces.
func (in *injection) targets(pattern *regexp.Regexp) (targets []*corev1.Container) {
	theirs := map[string]bool{}
	for _, set := range in.sets {
		for _, containers := range [][]v1beta1.SidecarContainer{set.Spec.InitContainers, set.Spec.Containers} {
			for i := range containers {
				// After a first call of the chain, the Pod contains the two containers of a hot upgrade.
				first, second := sidecar.Pair(containers[i].Name)
				theirs[containers[i].Name] = true
				if sidecar.Hot(&containers[i]) {
					theirs[first], theirs[second] = true, true
				}
			}
		}
	}
	add := func(container *corev1.Container) {
		if !theirs[container.Name] && pattern.MatchString(container.Name) {
			targets = append(targets, container)
		}
	}
	// An init container that keeps running uses resources beside the others. One that ends does not.
	for i := range in.pod.Spec.InitContainers {
		container := &in.pod.Spec.InitContainers[i]
		if ptr.Deref(container.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			add(container)
		}
	}
	for i := range in.pod.Spec.Containers {
		add(&in.pod.Spec.Containers[i])
	}
	return targets
}

// total combines one resource of the targets: the sum or the maximum. It returns false if a target has no limit,
// because the limit of all together is then unlimited. A missing request counts as zero.
func total(targets []*corev1.Container, name corev1.ResourceName, sum, limits bool) (resource.Quantity, bool) {
	var result resource.Quantity
	for _, target := range targets {
		list := target.Resources.Requests
		if limits {
			list = target.Resources.Limits
		}
		amount, found := list[name]
		// One container without a limit can use any amount.
		if limits && !found {
			return resource.Quantity{}, false
		}
		switch {
		case sum:
			result.Add(amount)
		case amount.Cmp(result) > 0:
			result = amount.DeepCopy()
		}
	}
	return result, true
}

// compute evaluates the expressions for CPU and memory. A resource for which total returns false is left out. An
// empty list is nil. It reports the errors of both resources together.
func compute(exprs *v1beta1.ResourceExprs, total func(corev1.ResourceName) (resource.Quantity, bool)) (corev1.ResourceList, error) {
	if exprs == nil {
		return nil, nil
	}
	var list corev1.ResourceList
	var errs error
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: exprs.CPU, corev1.ResourceMemory: exprs.Memory} {
		variable, limited := total(name)
		if text == "" || !limited {
			continue
		}
		expression, err := resourceexpr.Parse(text, string(name))
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		value, err := expression.Value(variable)
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[name] = value
	}
	return list, errs
}
