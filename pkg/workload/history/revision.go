package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"

	"kruise.io/kruise/pkg/apis/pub"
)

// maxOwnerName is how much of the workload's name goes into the name of a revision.
const maxOwnerName = 223

// Data returns what a revision stores of a template: a patch that replaces the template as a whole.
func Data(template *corev1.PodTemplateSpec) ([]byte, error) {
	encoded, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode template: %w", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, fmt.Errorf("encode template: %w", err)
	}
	fields["$patch"] = "replace"
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
	if err != nil {
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	return data, nil
}

// Template returns the template that a revision stores.
func Template(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var stored struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &stored); err != nil {
		return nil, fmt.Errorf("decode revision %q: %w", revision.Name, err)
	}
	return &stored.Spec.Template, nil
}

// hash is FNV-32 over the data and the collision count, in letters that form no words.
func hash(data []byte, collisionCount *int32) string {
	h := fnv.New32()
	_, _ = h.Write(data)
	if collisionCount != nil {
		_, _ = h.Write([]byte(strconv.FormatInt(int64(*collisionCount), 10)))
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// New builds the revision of a template for its owner. The labels are the template's, so that the owner's selector finds it.
func New(owner metav1.Object, ref metav1.OwnerReference, template *corev1.PodTemplateSpec, data []byte, number int64,
	collisionCount *int32) *appsv1.ControllerRevision {
	sum := hash(data, collisionCount)
	labels := maps.Clone(template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[pub.ControllerRevisionDataHashKey] = sum
	name := owner.GetName()
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name[:min(len(name), maxOwnerName)] + "-" + sum,
			Namespace:       owner.GetNamespace(),
			Labels:          labels,
			Annotations:     maps.Clone(owner.GetAnnotations()),
			OwnerReferences: []metav1.OwnerReference{ref},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}
}

// SameData tells whether two revisions store the same template. Bytes decide where they are equal; else the templates that
// they decode to, so that a field which a newer release writes in another form starts no rollout.
func SameData(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	templateA, errA := Template(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: a}})
	templateB, errB := Template(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: b}})
	return errA == nil && errB == nil && apiequality.Semantic.DeepEqual(templateA, templateB)
}

// ShortHash returns what follows the last dash: the hash of a revision, from its name or from a Pod's label in either form.
func ShortHash(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// Matches tells whether a Pod's revision label, full or short, names the revision.
func Matches(label, revisionName string) bool {
	return label != "" && (label == revisionName || ShortHash(label) == ShortHash(revisionName))
}
