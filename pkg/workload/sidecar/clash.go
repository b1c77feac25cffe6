package sidecar

import (
	"fmt"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Clash is a SidecarSet that is left out of a Pod, because another one, which comes before it by name, has the same container.
type Clash struct {
	Set, Other, Container string
}

// String says what the user can do.
func (c Clash) String() string {
	return fmt.Sprintf("SidecarSet %s is not injected, because SidecarSet %s also has a container %s; rename it, or select other Pods with "+
		"one of the two", c.Set, c.Other, c.Container)
}

// Separate returns those of the SidecarSets that can be injected into one Pod together, and the clashes of the others. The SidecarSets are
// in the order of their names, and in the version that is injected. Two with the same container would upgrade it again and again.
// Validation refuses such SidecarSets, but labels of namespaces can change.
func Separate(sets []*v1beta1.SidecarSet) (kept []*v1beta1.SidecarSet, clashes []Clash) {
	owners := map[string]string{}
	for _, set := range sets {
		names := claimed(set)
		taken := ""
		for _, name := range names {
			if taken == "" && owners[name] != "" {
				taken = name
			}
		}
		if taken != "" {
			clashes = append(clashes, Clash{Set: set.Name, Other: owners[taken], Container: taken})
			continue
		}
		for _, name := range names {
			owners[name] = set.Name
		}
		kept = append(kept, set)
	}
	return kept, clashes
}

// claimed returns the names of the containers that a SidecarSet adds to a Pod.
func claimed(set *v1beta1.SidecarSet) []string {
	names := PodNames(set)
	for i := range set.Spec.InitContainers {
		container := &set.Spec.InitContainers[i]
		if Hot(container) && KeepsRunning(container) {
			first, second := Pair(container.Name)
			names = append(names, first, second)
			continue
		}
		names = append(names, container.Name)
	}
	return names
}
