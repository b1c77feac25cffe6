package inplace

import (
	"maps"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// Change is what an in-place update makes of a Pod.
type Change struct {
	// Images are the new references by container name.
	Images      map[string]string
	Labels      MapChange
	Annotations MapChange
}

// MapChange is the difference of two maps.
type MapChange struct {
	Set    map[string]string
	Remove []string
}

// TouchesContainers tells whether the node has anything to do.
func (c *Change) TouchesContainers() bool { return len(c.Images) > 0 }

// Plan compares the templates of two revisions and returns the change between them when it can be made in place: images of
// containers, and metadata. Anything else, a container that comes, goes or moves included, is refused.
func Plan(from, to *corev1.PodTemplateSpec) (*Change, bool) {
	if len(from.Spec.Containers) != len(to.Spec.Containers) {
		return nil, false
	}
	change := &Change{
		Images:      map[string]string{},
		Labels:      diffMaps(from.Labels, to.Labels),
		Annotations: diffMaps(from.Annotations, to.Annotations),
	}
	aligned := to.Spec.DeepCopy()
	for i := range aligned.Containers {
		before, after := &from.Spec.Containers[i], &aligned.Containers[i]
		if before.Name != after.Name {
			return nil, false
		}
		if before.Image == after.Image {
			continue
		}
		if before.Image == "" || after.Image == "" {
			return nil, false
		}
		change.Images[after.Name] = after.Image
		after.Image = before.Image
	}
	if !apiequality.Semantic.DeepEqual(&from.Spec, aligned) {
		return nil, false
	}
	return change, true
}

func diffMaps(from, to map[string]string) MapChange {
	change := MapChange{Set: map[string]string{}}
	for key, value := range to {
		if before, found := from[key]; !found || before != value {
			change.Set[key] = value
		}
	}
	for key := range from {
		if _, found := to[key]; !found {
			change.Remove = append(change.Remove, key)
		}
	}
	return change
}

func (m MapChange) apply(to map[string]string) map[string]string {
	if to == nil {
		to = map[string]string{}
	}
	maps.Copy(to, m.Set)
	for _, key := range m.Remove {
		delete(to, key)
	}
	return to
}

var metadataPath = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.+)'\]$`)

// FeedsEnv tells whether a container's environment reads metadata that the change sets. A running container keeps the old
// value, so the node must restart it.
func (c *Change) FeedsEnv(to *corev1.PodTemplateSpec) bool {
	for i := range to.Spec.Containers {
		for _, env := range to.Spec.Containers[i].Env {
			if env.Value == "" && env.ValueFrom != nil && env.ValueFrom.FieldRef != nil && c.sets(env.ValueFrom.FieldRef.FieldPath) {
				return true
			}
		}
	}
	return false
}

func (c *Change) sets(fieldPath string) bool {
	parts := metadataPath.FindStringSubmatch(fieldPath)
	if parts == nil {
		return false
	}
	changed := c.Labels.Set
	if parts[1] == "annotations" {
		changed = c.Annotations.Set
	}
	_, found := changed[parts[2]]
	return found
}
