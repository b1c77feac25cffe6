package inplace

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace/record"
	"kruise.io/kruise/pkg/workload/launch"
)

// split takes the containers of the next batch out of the change: containers without a priority, and the containers with the
// highest priority. While containers are blocked, those with a lower priority wait. Containers that read the same metadata as the batch
// are included whatever their priority, because the metadata changes only once. Neither result has the labels and annotations that no
// container reads: they change at once.
func (c *Change) split(pod *corev1.Pod, blocked []string) (first, later *Change) {
	var turn []string
	// ordered are the containers with a priority, by name. blocking are the priorities of the blocked ones.
	ordered := map[string]int{}
	var blocking []int
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		number, found := launch.Priority(container)
		switch blocks := slices.Contains(blocked, container.Name); {
		case blocks && found:
			blocking = append(blocking, number)
		case blocks || !c.touches(container.Name):
		case found:
			ordered[container.Name] = number
		default:
			turn = append(turn, container.Name)
		}
	}
	if len(blocked) > 0 {
		maps.DeleteFunc(ordered, func(_ string, number int) bool { return len(blocking) == 0 || number < slices.Max(blocking) })
	}
	highest := math.MinInt
	for _, number := range ordered {
		highest = max(highest, number)
	}
	for name, number := range ordered {
		if number == highest {
			turn = append(turn, name)
		}
	}
	turn = c.withSharedMetadata(turn)
	return c.only(func(name string) bool { return slices.Contains(turn, name) }),
		c.only(func(name string) bool { return !slices.Contains(turn, name) })
}

// touches reports whether the change changes a container.
func (c *Change) touches(name string) bool {
	_, image := c.Images[name]
	_, env := c.Env[name]
	_, resources := c.Resources[name]
	return image || env || resources
}

// withSharedMetadata adds to the batch the containers that read a key which a container of the batch reads. An added container
// can read further keys, so it repeats until nothing is added.
func (c *Change) withSharedMetadata(turn []string) []string {
	for grew := true; grew; {
		grew = false
		for name, reads := range c.Env {
			if !slices.Contains(turn, name) && slices.ContainsFunc(turn, func(other string) bool { return shareKeys(reads, c.Env[other]) }) {
				turn, grew = append(turn, name), true
			}
		}
	}
	return turn
}

// shareKeys reports whether two containers read a common label or annotation. The annotation of a restart does not count: no container
// really reads it, so that each batch can write it.
func shareKeys(a, b metav1.ObjectMeta) bool {
	for key := range a.Labels {
		if _, found := b.Labels[key]; found {
			return true
		}
	}
	for key := range a.Annotations {
		if _, found := b.Annotations[key]; found && key != pub.RestartedAtKey {
			return true
		}
	}
	return false
}

// only returns the part of the change for the wanted containers.
func (c *Change) only(wanted func(name string) bool) *Change {
	return &Change{Images: pick(c.Images, wanted), Env: pick(c.Env, wanted), Resources: pick(c.Resources, wanted)}
}

// pick returns the wanted entries of a map, or nil if there are none, so that empty maps are not recorded.
func pick[V any](all map[string]V, wanted func(name string) bool) map[string]V {
	var picked map[string]V
	for name, value := range all {
		if !wanted(name) {
			continue
		}
		if picked == nil {
			picked = map[string]V{}
		}
		picked[name] = value
	}
	return picked
}

// withWaiting adds the changes that an earlier update left: for containers whose batch was never reached, or for the end of its grace
// period. This change is the difference from that update's revision, so it does not contain them. Where both set a value, this change
// takes precedence. A record that cannot be read leaves nothing.
func (c *Change) withWaiting(pod *corev1.Pod) *Change {
	waiting := waitingIn(pod)
	if waiting == nil || c.instead {
		return c
	}
	all := &Change{Images: overlaid(waiting.Images, c.Images), Resources: maps.Clone(c.Resources)}
	all.Labels = c.Labels.over(waiting.Labels, c.decidesLabel)
	all.Annotations = c.Annotations.over(waiting.Annotations, c.decidesAnnotation)
	for name, amounts := range waiting.Resources {
		own := all.Resources[name]
		amounts.Limits, amounts.Requests = overlaid(amounts.Limits, own.Limits), overlaid(amounts.Requests, own.Requests)
		all.Resources = overlaid(all.Resources, map[string]corev1.ResourceRequirements{name: amounts})
	}
	all.Env = maps.Clone(c.Env)
	// A key that this change sets or removes must not return to the value of the earlier update.
	for name, waits := range waiting.Env {
		labels, annotations := maps.Clone(waits.Labels), maps.Clone(waits.Annotations)
		maps.DeleteFunc(labels, func(key, _ string) bool { return c.decidesLabel(key) })
		maps.DeleteFunc(annotations, func(key, _ string) bool { return c.decidesAnnotation(key) })
		if len(labels)+len(annotations) > 0 {
			own := all.Env[name]
			own.Labels, own.Annotations = overlaid(labels, own.Labels), overlaid(annotations, own.Annotations)
			all.Env = overlaid(all.Env, map[string]metav1.ObjectMeta{name: own})
		}
	}
	return all
}

// waitingIn returns the change that an earlier update left in the Pod, or nil. A delayed change counts only while the Pod is at its
// revision.
func waitingIn(pod *corev1.Pod) *Change {
	if grace, err := record.ReadGrace(pod); err == nil && grace != nil &&
		history.Matches(pod.Labels[pub.ControllerRevisionHashKey], grace.Revision) {
		if delayed, err := delayedChange(grace); err == nil {
			return delayed
		}
	}
	previous, err := record.Read(pod)
	if err != nil || previous == nil || !waits(previous) {
		return nil
	}
	return &Change{Images: previous.NextContainerImages, Env: previous.NextContainerMetadata, Resources: previous.NextContainerResources}
}

// over adds another change of metadata, except for the keys that decided reports.
func (m MapChange) over(under MapChange, decided func(key string) bool) MapChange {
	set := maps.Clone(under.Set)
	maps.DeleteFunc(set, func(key, _ string) bool { return decided(key) })
	removed := slices.DeleteFunc(slices.Clone(under.Remove), decided)
	return MapChange{Set: overlaid(set, m.Set), Remove: append(removed, m.Remove...)}
}

// overlaid merges two maps. Entries of over take precedence.
func overlaid[M ~map[K]V, K comparable, V any](under, over M) M {
	if len(under)+len(over) == 0 {
		return nil
	}
	all := M{}
	maps.Copy(all, under)
	maps.Copy(all, over)
	return all
}

// decidesLabel reports whether this change sets or removes a label, at once or with a container.
func (c *Change) decidesLabel(key string) bool {
	for _, read := range c.Env {
		if _, sets := read.Labels[key]; sets {
			return true
		}
	}
	return c.Labels.decides(key)
}

// decidesAnnotation is decidesLabel for annotations.
func (c *Change) decidesAnnotation(key string) bool {
	for _, read := range c.Env {
		if _, sets := read.Annotations[key]; sets {
			return true
		}
	}
	return c.Annotations.decides(key)
}

// decides reports whether the change sets or removes the key.
func (m MapChange) decides(key string) bool {
	_, sets := m.Set[key]
	return sets || slices.Contains(m.Remove, key)
}

// names returns the containers that the change touches, sorted.
func (c *Change) names() []string {
	touched := map[string]bool{}
	for name := range c.Images {
		touched[name] = true
	}
	for name := range c.Env {
		touched[name] = true
	}
	for name := range c.Resources {
		touched[name] = true
	}
	return slices.Sorted(maps.Keys(touched))
}
