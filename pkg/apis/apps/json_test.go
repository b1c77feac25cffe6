package apps_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps"
)

func TestOneJSONForm(t *testing.T) {
	for written, want := range map[string]string{
		`{"a":1}`:                       `{"a":1}`,
		"{ \"b\" : [1, 2],\n\"a\": {}}": `{"a":{},"b":[1,2]}`,
		`{"a":null}`:                    `{"a":null}`,
		`{"n":9007199254740993}`:        `{"n":9007199254740993}`,
		`null`:                          "",
		`no JSON`:                       `no JSON`,
		``:                              ``,
	} {
		bytes := []byte(written)
		form := apps.CanonicalJSON(bytes)
		assert.Equal(t, want, string(form))
		assert.Equal(t, want, string(apps.CanonicalJSON(form)), "it is the same again")
		assert.Equal(t, written, string(bytes), "the argument stays")
	}
}

func TestPatchInOneForm(t *testing.T) {
	assert.Nil(t, apps.CanonicalPatch(nil))
	assert.Nil(t, apps.CanonicalPatch(&runtime.RawExtension{}))
	assert.Nil(t, apps.CanonicalPatch(&runtime.RawExtension{Raw: []byte("null")}))
	assert.Equal(t, `{"a":1}`, string(apps.CanonicalPatch(&runtime.RawExtension{Raw: []byte(`{"a": 1}`)}).Raw))
}
