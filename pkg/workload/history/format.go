package history

import (
	"bytes"
	"hash/fnv"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"

	"kruise.io/kruise/pkg/apis/pub"
)

// maxOwnerName is how many characters of the workload's name are used in the name of a revision.
const maxOwnerName = 223

// Format is how a kind stores its revisions. What a revision holds depends on the kind, so each kind defines when two revisions
// are equal.
type Format struct {
	// HashLabel is the label of a revision that holds its hash.
	HashLabel string
	// Hash returns the hash of a revision's data. The collision count is nil until a revision's name was already taken.
	Hash func(data []byte, collisionCount *int32) string
	// Same reports whether the data of two revisions mean the same. Annotations may say how to read the data.
	Same func(a, b *appsv1.ControllerRevision) bool
}

// PodTemplates stores a Pod template under spec.template. Templates that decode to the same value are equal. A new release that
// encodes a field differently therefore starts no rollout.
var PodTemplates = Format{HashLabel: pub.ControllerRevisionDataHashKey, Hash: DataHash, Same: SamePodTemplate}

// DataHash returns the FNV-32 hash of the data and the collision count, encoded in characters that cannot form words.
func DataHash(data []byte, collisionCount *int32) string {
	h := fnv.New32()
	_, _ = h.Write(data)
	if collisionCount != nil {
		_, _ = h.Write([]byte(strconv.FormatInt(int64(*collisionCount), 10)))
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// SamePodTemplate reports whether two revisions store the same Pod template. Data without a Pod template equals only identical
// data.
func SamePodTemplate(a, b *appsv1.ControllerRevision) bool {
	if bytes.Equal(a.Data.Raw, b.Data.Raw) {
		return true
	}
	templateA, errA := Template(a)
	templateB, errB := Template(b)
	return errA == nil && errB == nil && len(templateA.Spec.Containers) > 0 && apiequality.Semantic.DeepEqual(templateA, templateB)
}

// Content is the content of a new revision.
type Content struct {
	Data []byte
	// Labels let the owner's selector find the revision.
	Labels map[string]string
	// Annotations are copied from the workload.
	Annotations map[string]string
}

// New returns a new revision of the owner.
func (f *Format) New(owner metav1.Object, ref metav1.OwnerReference, content *Content, number int64,
	collisionCount *int32) *appsv1.ControllerRevision {
	sum := f.Hash(content.Data, collisionCount)
	labels := maps.Clone(content.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[f.HashLabel] = sum
	name := owner.GetName()
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name[:min(len(name), maxOwnerName)] + "-" + sum, Namespace: owner.GetNamespace(), Labels: labels,
			Annotations: maps.Clone(content.Annotations), OwnerReferences: []metav1.OwnerReference{ref},
		},
		Data: runtime.RawExtension{Raw: content.Data}, Revision: number,
	}
}
