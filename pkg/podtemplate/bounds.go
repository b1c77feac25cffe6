package podtemplate

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
)

// mostCompared limits the lists of a template whose elements core compares with each other. A request with a longer one would occupy a core
// for minutes.
const mostCompared = 100

// cutCompared returns an error for each such list that is too long, and cuts the list, so that core's rules judge the rest. spec must be a
// copy.
func cutCompared(spec *core.PodSpec, path *field.Path) (errs field.ErrorList) {
	errs = cut(&spec.TopologySpreadConstraints, path.Child("topologySpreadConstraints"))
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
