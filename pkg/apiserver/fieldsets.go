package apiserver

import (
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mostFieldSetBytes limits the size of all field sets that are remembered.
const mostFieldSetBytes = 4 << 20

// fieldSets remembers the sets of managed fields of decoded objects. Most objects of a kind are written by the same programs, so their
// sets are equal, and a watch cache with many objects needs only one copy of each. It is safe for concurrent use.
type fieldSets struct {
	seed maphash.Seed
	// lock guards the fields below.
	lock sync.Mutex
	of   map[uint64]*metav1.FieldsV1
	// bytes is the size of the remembered sets.
	bytes int
}

func newFieldSets() *fieldSets {
	return &fieldSets{seed: maphash.MakeSeed(), of: map[uint64]*metav1.FieldsV1{}}
}

// share replaces the field sets of an object by equal ones that other objects have. Afterwards they must not be changed in place: the
// object must be copied first, as objects of a cache are.
func (s *fieldSets) share(object metav1.Object) {
	entries := object.GetManagedFields()
	for i := range entries {
		if entries[i].FieldsV1 != nil {
			entries[i].FieldsV1 = s.one(entries[i].FieldsV1)
		}
	}
}

// one returns the remembered set that is equal, or remembers this one.
func (s *fieldSets) one(fields *metav1.FieldsV1) *metav1.FieldsV1 {
	raw := fields.GetRawBytes()
	hash := maphash.Bytes(s.seed, raw)
	s.lock.Lock()
	defer s.lock.Unlock()
	if known := s.of[hash]; known != nil {
		if known.Equal(*fields) {
			return known
		}
		return fields // Another set has the same hash.
	}
	if len(raw) > mostFieldSetBytes {
		return fields
	}
	// Sets that no object has any more are forgotten too. The objects keep those that they share.
	if s.bytes += len(raw); s.bytes > mostFieldSetBytes {
		clear(s.of)
		s.bytes = len(raw)
	}
	s.of[hash] = fields
	return fields
}

// sharingCodec is a codec whose decoded objects share their managed fields.
type sharingCodec struct {
	runtime.Codec
	sets *fieldSets
}

// Decode implements runtime.Decoder.
func (c sharingCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (
	runtime.Object, *schema.GroupVersionKind, error,
) {
	decoded, kind, err := c.Codec.Decode(data, defaults, into)
	if err != nil {
		return decoded, kind, err
	}
	if object, err := meta.Accessor(decoded); err == nil {
		c.sets.share(object)
	}
	return decoded, kind, nil
}
