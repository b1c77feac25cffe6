package inplace

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// Options say what may change in place besides images and metadata.
type Options struct {
	// EnvFromMetadata restarts containers whose environment reads changed metadata. Without it, the containers keep their old
	// values.
	EnvFromMetadata bool
	// Resources allows changes of CPU and memory.
	Resources bool
}

// Change is what an in-place update changes in a Pod. Plan makes it from two templates, and it is not changed afterwards.
type Change struct {
	// Images are the new image references, by container name.
	Images map[string]string
	// Env is the metadata that containers' environments read, by container name. It changes when the container's batch is due. The
	// node agent then restarts the container. The annotation of a restart counts as read by every container.
	Env map[string]metav1.ObjectMeta
	// Resources are the resources that change, by container name.
	Resources map[string]corev1.ResourceRequirements
	// Labels and Annotations are the other metadata. They change at once.
	Labels      MapChange
	Annotations MapChange
	// instead is true if the change takes the place of the one that waits in the Pod, see Instead.
	instead bool
}

// MapChange is the difference between two maps: the entries to set, and the keys to remove.
type MapChange struct {
	Set    map[string]string
	Remove []string
}

// Interrupts reports whether the update restarts a container of the Pod. The Pod must then be out of service first. New amounts
// alone restart a container only if its resize policy says so.
func (c *Change) Interrupts(pod *corev1.Pod) bool {
	if len(c.Images) > 0 || len(c.Env) > 0 {
		return true
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if amounts, found := c.Resources[container.Name]; found && restartsToResize(container, amounts) {
			return true
		}
	}
	return false
}

// TouchesContainers reports whether the node has anything to do.
func (c *Change) TouchesContainers() bool { return len(c.Images)+len(c.Env)+len(c.Resources) > 0 }

// Plan compares the templates of two revisions. If the change is possible in place, it returns the change and true. Images of
// containers and metadata may change, and what the options allow. Any other change is refused, including a container that is
// added, removed or moved.
func Plan(from, to *corev1.PodTemplateSpec, options Options) (*Change, bool) {
	if len(from.Spec.Containers) != len(to.Spec.Containers) {
		return nil, false
	}
	change := &Change{
		Images: map[string]string{}, Env: map[string]metav1.ObjectMeta{}, Resources: map[string]corev1.ResourceRequirements{},
		Labels:      diffMaps(from.Labels, to.Labels),
		Annotations: diffMaps(from.Annotations, to.Annotations),
	}
	old, wanted := &from.Spec, &to.Spec
	if options.Resources {
		// A limit that is also the request changes both. Otherwise the QoS class of the running Pod would change, which Kubernetes refuses.
		old, wanted = podcontrol.WithRequests(old), podcontrol.WithRequests(wanted)
	}
	// aligned becomes the new spec without the allowed changes. What still differs then cannot change in place.
	aligned := wanted.DeepCopy()
	for i := range aligned.Containers {
		before, after := &old.Containers[i], &aligned.Containers[i]
		if before.Name != after.Name {
			return nil, false
		}
		if options.Resources && !change.takeResources(before, after) {
			return nil, false
		}
		if before.Image == after.Image {
			continue
		}
		// A Pod cannot have an empty image, so such a Pod must be recreated.
		if before.Image == "" || after.Image == "" {
			return nil, false
		}
		change.Images[after.Name] = after.Image
		after.Image = before.Image
	}
	if !apiequality.Semantic.DeepEqual(old, aligned) {
		return nil, false
	}
	if len(change.Resources) > 0 && qosClass(old) != qosClass(wanted) {
		return nil, false
	}
	if options.EnvFromMetadata && len(change.Labels.Set)+len(change.Annotations.Set) > 0 {
		change.takeEnv(wanted)
	}
	change.takeRestart(wanted)
	return change, true
}

// takeEnv moves metadata that environments read out of the metadata that changes at once, so that it changes with its container.
// A removed key restarts nothing.
func (c *Change) takeEnv(to *corev1.PodSpec) {
	taken := metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}}
	for i := range to.Containers {
		var read metav1.ObjectMeta
		for _, v := range containerreport.VariablesOf(&to.Containers[i]) {
			if value, found := c.Labels.Set[v.Key]; found && v.Label {
				read.Labels = with(read.Labels, v.Key, value)
			}
			if value, found := c.Annotations.Set[v.Key]; found && !v.Label {
				read.Annotations = with(read.Annotations, v.Key, value)
			}
		}
		if len(read.Labels)+len(read.Annotations) > 0 {
			c.Env[to.Containers[i].Name] = read
			maps.Copy(taken.Labels, read.Labels)
			maps.Copy(taken.Annotations, read.Annotations)
		}
	}
	for key := range taken.Labels {
		delete(c.Labels.Set, key)
	}
	for key := range taken.Annotations {
		delete(c.Annotations.Set, key)
	}
}

// takeRestart lets a new value of the annotation by which a user restarts a workload restart every container.
func (c *Change) takeRestart(to *corev1.PodSpec) {
	at, restarts := c.Annotations.Set[pub.RestartedAtKey]
	if !restarts {
		return
	}
	delete(c.Annotations.Set, pub.RestartedAtKey)
	for i := range to.Containers {
		read := c.Env[to.Containers[i].Name]
		read.Annotations = with(read.Annotations, pub.RestartedAtKey, at)
		c.Env[to.Containers[i].Name] = read
	}
}

// Restarts reports whether the node agent restarts containers whose spec does not change.
func (c *Change) Restarts() bool {
	for name := range c.Env {
		if c.restarts(name) {
			return true
		}
	}
	return false
}

// restarts reports whether the node agent restarts a container. One with a new image is replaced by the kubelet.
func (c *Change) restarts(container string) bool {
	_, restarts := c.Env[container].Annotations[pub.RestartedAtKey]
	_, replaced := c.Images[container]
	return restarts && !replaced
}

// with sets an entry, and makes the map if there is none.
func with(values map[string]string, key, value string) map[string]string {
	if values == nil {
		values = map[string]string{}
	}
	values[key] = value
	return values
}

// diffMaps returns the change from one map to another.
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

// apply makes the change in a map, and returns it. A nil map is made.
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
