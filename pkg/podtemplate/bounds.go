package podtemplate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
)

// mostCompared limits the lists of a template whose elements core compares with each other. A request with a longer one would occupy a core
// for minutes.
const mostCompared = 100

// mostItems limits the variables, mounts, devices and ports of all containers of a template together. The server that stores an object, and
// kube-apiserver for each Pod of it, keep who manages each of them, which takes about a quarter of a millisecond for each one and write.
const mostItems = 1000

// tooManyItems returns an error if the containers have too many of these.
func tooManyItems(spec *core.PodSpec, path *field.Path) field.ErrorList {
	items := 0
	count := func(container *core.Container) {
		items += len(container.Env) + len(container.VolumeMounts) + len(container.VolumeDevices) + len(container.Ports)
	}
	for i := range spec.InitContainers {
		count(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		count(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		container := core.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		count(&container)
	}
	if items <= mostItems {
		return nil
	}
	err := field.TooMany(path.Child("containers"), items, mostItems)
	err.Detail = fmt.Sprintf("all containers together must have at most %d variables, volume mounts, devices and ports; put variables into a "+
		"ConfigMap, and refer to it in envFrom", mostItems)
	return field.ErrorList{err}
}

// bound returns an error for containers with too many items, and one for each list that is too long to be compared. It cuts these lists, so
// that core's rules judge the rest. spec must be a copy.
func bound(spec *core.PodSpec, path *field.Path) (errs field.ErrorList) {
	errs = append(tooManyItems(spec, path), cut(&spec.TopologySpreadConstraints, path.Child("topologySpreadConstraints"))...)
	claims := func(resources *core.ResourceRequirements, at *field.Path) {
		errs = append(errs, cut(&resources.Claims, at.Child("resources", "claims"))...)
	}
	for i := range spec.InitContainers {
		claims(&spec.InitContainers[i].Resources, path.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		claims(&spec.Containers[i].Resources, path.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		claims(&spec.EphemeralContainers[i].Resources, path.Child("ephemeralContainers").Index(i))
	}
	if spec.Resources != nil {
		claims(spec.Resources, path)
	}
	return errs
}

func cut[T any](list *[]T, path *field.Path) field.ErrorList {
	if len(*list) <= mostCompared {
		return nil
	}
	err := field.TooMany(path, len(*list), mostCompared)
	*list = (*list)[:mostCompared]
	return field.ErrorList{err}
}
