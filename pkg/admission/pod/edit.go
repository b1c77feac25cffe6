package pod

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/admission/review"
)

// edit is a new Pod and the operations that changed it so far. Each method changes the Pod, and adds the operation that makes the
// same change in the Pod that kube-apiserver has. Operations touch nothing but what changes.
type edit struct {
	// pod shows all changes. Mutators must only read it; they change it by the methods of edit. It is a copy, so the
	// object of the request stays as it is.
	pod *corev1.Pod
	// operations is the JSON patch so far. kube-apiserver applies the operations in this order, so an operation may
	// refer to what an earlier one created.
	operations []review.Operation
}

// list is one of the two lists of containers of a Pod. Its value is the JSON pointer of the list.
type list string

const (
	containers     list = "/spec/containers"
	initContainers list = "/spec/initContainers"
)

// do appends an operation. All changes of the patch pass here.
func (e *edit) do(op, path string, value any) {
	e.operations = append(e.operations, review.Operation{Op: op, Path: path, Value: value})
}

// annotate sets an annotation. It adds nothing if the value is there already, so a second call of the chain gives no
// patch. A patch cannot add a key to a missing map, so the map is added first.
func (e *edit) annotate(key, value string) {
	if existing, found := e.pod.Annotations[key]; found && existing == value {
		return
	}
	if len(e.pod.Annotations) == 0 {
		e.pod.Annotations = map[string]string{}
		e.do("add", "/metadata/annotations", map[string]string{})
	}
	e.pod.Annotations[key] = value
	e.do("add", "/metadata/annotations/"+pointer(key), value)
}

// unannotate removes an annotation. The removal of a missing key would make the whole patch fail, so nothing is added
// then.
func (e *edit) unannotate(key string) {
	if _, found := e.pod.Annotations[key]; !found {
		return
	}
	delete(e.pod.Annotations, key)
	e.do("remove", "/metadata/annotations/"+pointer(key), nil)
}

// of returns the containers of a list.
func (e *edit) of(in list) *[]corev1.Container {
	if in == initContainers {
		return &e.pod.Spec.InitContainers
	}
	return &e.pod.Spec.Containers
}

// insert adds a container before the one with the index. An index equal to the length appends. The list is cloned,
// because a savepoint or an injection may still share its array.
func (e *edit) insert(in list, index int, container *corev1.Container) {
	all := e.of(in)
	e.start(string(in), len(*all))
	*all = slices.Insert(slices.Clone(*all), index, *container)
	e.do("add", string(in)+"/"+strconv.Itoa(index), container)
}

// replace replaces the container with the index.
func (e *edit) replace(in list, index int, container *corev1.Container) {
	(*e.of(in))[index] = *container
	e.do("replace", string(in)+"/"+strconv.Itoa(index), container)
}

// addEnv appends a variable to the container with the index, in the main containers only.
func (e *edit) addEnv(index int, env corev1.EnvVar) {
	container, path := &e.pod.Spec.Containers[index], string(containers)+"/"+strconv.Itoa(index)+"/env"
	e.start(path, len(container.Env))
	container.Env = append(slices.Clone(container.Env), env)
	e.do("add", path+"/-", env)
}

// name sets the name of a Pod that has none yet. kube-apiserver then does not generate one.
func (e *edit) name(name string) {
	e.pod.Name = name
	e.do("add", "/metadata/name", name)
}

// addVolume appends a volume.
func (e *edit) addVolume(volume *corev1.Volume) {
	e.start("/spec/volumes", len(e.pod.Spec.Volumes))
	e.pod.Spec.Volumes = append(e.pod.Spec.Volumes, *volume)
	e.do("add", "/spec/volumes/-", volume)
}

// setPullSecrets replaces the pull secrets. The operation add replaces an existing value, so the list need not exist.
func (e *edit) setPullSecrets(secrets []corev1.LocalObjectReference) {
	if slices.Equal(e.pod.Spec.ImagePullSecrets, secrets) {
		return
	}
	e.pod.Spec.ImagePullSecrets = secrets
	e.do("add", "/spec/imagePullSecrets", secrets)
}

// selectNode adds a label that the node of the Pod must have. It replaces another value of the same label.
func (e *edit) selectNode(key, value string) {
	if existing, found := e.pod.Spec.NodeSelector[key]; found && existing == value {
		return
	}
	if len(e.pod.Spec.NodeSelector) == 0 {
		e.pod.Spec.NodeSelector = map[string]string{}
		e.do("add", "/spec/nodeSelector", map[string]string{})
	}
	e.pod.Spec.NodeSelector[key] = value
	e.do("add", "/spec/nodeSelector/"+pointer(key), value)
}

// preferNode appends a preference of nodes. The caller checks that the Pod does not have it yet. The parents are
// created first, because a patch cannot add to a missing parent.
func (e *edit) preferNode(term *corev1.PreferredSchedulingTerm) {
	const path = "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution"
	if e.pod.Spec.Affinity == nil {
		e.pod.Spec.Affinity = &corev1.Affinity{}
		e.do("add", "/spec/affinity", map[string]any{})
	}
	if e.pod.Spec.Affinity.NodeAffinity == nil {
		e.pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
		e.do("add", "/spec/affinity/nodeAffinity", map[string]any{})
	}
	preferred := &e.pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	e.start(path, len(*preferred))
	*preferred = append(*preferred, *term)
	e.do("add", path+"/-", term)
}

// addGate appends a readiness gate. The caller checks that the Pod does not have it yet.
func (e *edit) addGate(gate corev1.PodReadinessGate) {
	e.start("/spec/readinessGates", len(e.pod.Spec.ReadinessGates))
	e.pod.Spec.ReadinessGates = append(e.pod.Spec.ReadinessGates, gate)
	e.do("add", "/spec/readinessGates/-", gate)
}

// start creates a list that has no element yet. The operation "add" with the path "/-" fails if the list is missing.
func (e *edit) start(path string, length int) {
	if length == 0 {
		e.do("add", path, []any{})
	}
}

// savepoint returns a copy to which the edit can return. It shares nothing with the edit.
func (e *edit) savepoint() edit {
	return edit{pod: e.pod.DeepCopy(), operations: slices.Clone(e.operations)}
}

// pointer escapes a name for the path of an operation, as RFC 6901 requires: annotation keys contain slashes.
func pointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// annotateAll sets annotations in the order of their keys.
func (e *edit) annotateAll(values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		e.annotate(key, values[key])
	}
}
