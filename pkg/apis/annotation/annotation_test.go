package annotation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apis/annotation"
)

const key = "example.com/kept"

type fields struct {
	Name   string `json:"name"`
	Number int    `json:"number"`
}

func TestMapsAreCopied(t *testing.T) {
	values := map[string]string{"a": "b"}
	assert.Equal(t, map[string]string{"a": "b", "c": "d"}, annotation.With(values, "c", "d"))
	assert.Equal(t, map[string]string{"a": "x"}, annotation.With(values, "a", "x"))
	assert.Equal(t, map[string]string{"a": "b"}, annotation.With(nil, "a", "b"))
	assert.Empty(t, annotation.Without(values, "a"))
	assert.Equal(t, map[string]string{"a": "b"}, annotation.Without(values, "c"))
	assert.Empty(t, annotation.Without(nil, "a"))
	assert.Equal(t, map[string]string{"a": "b"}, values)
}

func TestFieldsComeBack(t *testing.T) {
	annotations := map[string]string{"a": "b"}
	kept, err := annotation.Keep(annotations, key, fields{Name: "x", Number: 5})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "b", key: `{"name":"x","number":5}`}, kept)
	assert.Equal(t, map[string]string{"a": "b"}, annotations)

	var back fields
	rest, found := annotation.Take(kept, key, &back)
	assert.True(t, found)
	assert.Equal(t, annotations, rest)
	assert.Equal(t, fields{Name: "x", Number: 5}, back)

	_, err = annotation.Keep(nil, key, func() {})
	assert.ErrorContains(t, err, "write annotation "+key)
}

// Anybody may write the annotation: what cannot be read as a whole says nothing.
func TestForeignAnnotationsAreKept(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"none":      nil,
		"no JSON":   {key: "mine"},
		"in a part": {key: `{"name":"x","number":"many"}`},
	} {
		back := fields{Name: "before"}
		rest, found := annotation.Take(annotations, key, &back)
		assert.False(t, found, name)
		assert.Equal(t, annotations, rest, name)
		assert.Equal(t, fields{Name: "before"}, back, name)
	}
}
