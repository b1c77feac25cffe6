package install_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
)

const minimal = `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"a"},"spec":{"selector":` +
	`{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"d"}]}}}}`

// FuzzDecode feeds bytes to what a server does with a request: decode and default, default
// the template, validate, encode for the store and for each version. Nothing may panic, and
// what is encoded must be read back.
func FuzzDecode(f *testing.F) {
	for _, pattern := range []string{"testdata/HEAD/*.pb", "testdata/HEAD/*.json", "testdata/HEAD/*.yaml"} {
		names, err := filepath.Glob(pattern)
		require.NoError(f, err)
		require.NotEmpty(f, names)
		for _, name := range names {
			data, err := os.ReadFile(name)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Add([]byte(minimal))
	scheme := newScheme(f)
	codecs := serializer.NewCodecFactory(scheme)
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := runtime.Decode(codecs.UniversalDecoder(apps.SchemeGroupVersion), data)
		cloneSet, ok := object.(*apps.CloneSet)
		if err != nil || !ok {
			return
		}
		old := cloneSet.DeepCopy()
		install.DefaultCloneSetTemplate(cloneSet, nil)
		validation.ValidateCloneSet(cloneSet)
		validation.ErrorsIn("v1alpha1", validation.ValidateCloneSetUpdate(cloneSet, old))
		validation.ValidateCloneSetStatusUpdate(cloneSet, old)
		store := codecs.LegacyCodec(v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion)
		stored, err := runtime.Encode(store, cloneSet)
		require.NoError(t, err)
		_, err = runtime.Decode(store, stored)
		require.NoError(t, err)
		_, err = runtime.Encode(codecs.LegacyCodec(v1alpha1.SchemeGroupVersion), cloneSet)
		require.NoError(t, err)
	})
}
