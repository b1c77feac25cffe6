package containerreport

import (
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// Variable is an environment variable that reads a label or an annotation of the Pod. A running container keeps the value that
// it was started with.
type Variable struct {
	Name string
	// Label is true for a label, false for an annotation.
	Label bool
	Key   string
}

var metadataPath = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.+)'\]$`)

// ownKeys are labels and annotations that workloads and the node agent write in the course of an update. A container that reads one
// keeps the value that it started with: otherwise every update would restart it.
var ownKeys = []string{
	pub.ControllerRevisionHashKey, pub.PodTemplateHashKey, pub.KruiseControllerRevisionHashKey, pub.LifecycleStateKey,
	pub.LifecycleTimestampKey, pub.SpecifiedDeleteKey, pub.InPlaceUpdateStateKey, pub.InPlaceUpdateGraceKey, pub.RuntimeContainerMetaKey,
	pub.SidecarSetHashKey, pub.SidecarSetHashWithoutImageKey, pub.SidecarSetInPlaceUpdateStateKey,
}

// VariablesOf returns a container's variables that read metadata, by name. Those that hold the version of a sidecar change
// without a restart and do not count, nor do those that read what an update itself writes.
func VariablesOf(container *corev1.Container) (variables []Variable) {
	later := make(map[string]bool, len(container.Env))
	// Of several with one name the last counts. A Pod can have thousands, so each one is looked at once.
	for i := len(container.Env) - 1; i >= 0; i-- {
		env := &container.Env[i]
		if later[env.Name] {
			continue
		}
		later[env.Name] = true
		if env.Name == pub.SidecarSetVersionEnv || env.Name == pub.SidecarSetVersionAltEnv ||
			env.Value != "" || env.ValueFrom == nil || env.ValueFrom.FieldRef == nil {
			continue
		}
		if parts := metadataPath.FindStringSubmatch(env.ValueFrom.FieldRef.FieldPath); parts != nil && !slices.Contains(ownKeys, parts[2]) {
			variables = append(variables, Variable{Name: env.Name, Label: parts[1] == "labels", Key: parts[2]})
		}
	}
	slices.SortFunc(variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return variables
}

// Value returns what a container that starts now gets. A key that is not there reads as empty.
func (v Variable) Value(labels, annotations map[string]string) string {
	if v.Label {
		return labels[v.Key]
	}
	return annotations[v.Key]
}

// Expected is the hash of the variables in a container that starts now.
func Expected(variables []Variable, labels, annotations map[string]string) uint64 {
	return Hash(variables, func(v Variable) string { return v.Value(labels, annotations) })
}

// Hash returns the hash of variables, which VariablesOf ordered, with the values given. It is never zero.
func Hash(variables []Variable, value func(Variable) string) uint64 {
	hash := fnv.New32a()
	for _, v := range variables {
		// No variable holds a zero byte, so different lists of variables never give the same bytes. A write to a hash never fails.
		_, _ = hash.Write([]byte(v.Name + "=" + value(v) + "\x00"))
	}
	return max(1, uint64(hash.Sum32()))
}
