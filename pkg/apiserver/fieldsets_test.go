package apiserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
)

// managed returns a CloneSet with a set of managed fields for each text.
func managed(name string, fields ...string) *apps.CloneSet {
	set := &apps.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i, text := range fields {
		set.ManagedFields = append(set.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: fmt.Sprint("manager-", i), Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps.kruise.io/v1beta1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(text),
		})
	}
	return set
}

// Objects that are read from the store share equal sets of managed fields, and are otherwise as they were stored.
func TestDecodedObjectsShareManagedFields(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	scheme, err := NewScheme()
	require.NoError(t, err)
	factory := NewStorageFactory(gate, storagebackend.Config{}, runtime.ContentTypeProtobuf, serializer.NewCodecFactory(scheme))
	config, err := factory.NewConfig(schema.GroupResource{Group: apps.GroupName, Resource: "clonesets"}, nil)
	require.NoError(t, err)
	decoded := map[string]*apps.CloneSet{}
	for _, set := range []*apps.CloneSet{
		managed("a", `{"f:spec":{}}`, `{"f:status":{}}`), managed("b", `{"f:spec":{}}`), managed("c", `{"f:metadata":{}}`), managed("d"),
	} {
		data, err := runtime.Encode(config.Codec, set)
		require.NoError(t, err)
		object, err := runtime.Decode(config.Codec, data)
		require.NoError(t, err)
		decoded[set.Name] = object.(*apps.CloneSet)
		assert.Equal(t, set.ManagedFields, decoded[set.Name].ManagedFields)
	}
	shared := func(a, b string) bool {
		return decoded[a].ManagedFields[0].FieldsV1 == decoded[b].ManagedFields[0].FieldsV1
	}
	assert.True(t, shared("a", "b"))
	assert.False(t, shared("a", "c"))
	assert.NotSame(t, decoded["a"].ManagedFields[0].FieldsV1, decoded["a"].DeepCopy().ManagedFields[0].FieldsV1, "a copy may be changed")
}

// Many different sets do not stay in memory.
func TestRememberedFieldSetsAreLimited(t *testing.T) {
	sets := newFieldSets()
	text := strings.Repeat("x", 1<<10)
	for i := range 3 * mostFieldSetBytes >> 10 {
		object := managed("a", fmt.Sprint(text, i))
		sets.share(object)
		assert.Equal(t, fmt.Sprint(text, i), object.ManagedFields[0].FieldsV1.GetRawString())
	}
	assert.LessOrEqual(t, sets.bytes, mostFieldSetBytes)
	assert.LessOrEqual(t, len(sets.of), mostFieldSetBytes>>10)
	huge := managed("a", strings.Repeat("y", mostFieldSetBytes+1))
	sets.share(huge)
	assert.Len(t, huge.ManagedFields[0].FieldsV1.GetRawString(), mostFieldSetBytes+1)
	assert.LessOrEqual(t, sets.bytes, mostFieldSetBytes)
}

// Two sets with one hash are not confused.
func TestFieldSetsWithOneHash(t *testing.T) {
	sets := newFieldSets()
	one, other := metav1.NewFieldsV1(`{"f:a":{}}`), metav1.NewFieldsV1(`{"f:b":{}}`)
	require.Same(t, one, sets.one(one))
	for hash := range sets.of {
		sets.of[hash] = other
	}
	assert.Equal(t, `{"f:a":{}}`, sets.one(metav1.NewFieldsV1(`{"f:a":{}}`)).GetRawString())
}
