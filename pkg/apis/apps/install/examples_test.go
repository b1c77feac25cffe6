package install_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/validation"
)

// TestExamplesAreValid reads each example as strictly as the server does. All of them may be
// applied in one namespace, so their names and labels differ.
func TestExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob("../../../../artifacts/examples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	decoder := serializer.NewCodecFactory(newScheme(t), serializer.EnableStrict).UniversalDecoder(apps.SchemeGroupVersion)
	seen := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		object, err := runtime.Decode(decoder, data)
		require.NoError(t, err, file)
		cloneSet, ok := object.(*apps.CloneSet)
		require.True(t, ok, file)
		install.DefaultCloneSetTemplate(cloneSet, nil)
		cloneSet.Namespace = "default"
		assert.Empty(t, validation.ValidateCloneSet(cloneSet), file)
		for _, key := range []string{"name " + cloneSet.Name, "app " + cloneSet.Spec.Template.Labels["app"]} {
			assert.Empty(t, seen[key], "%s: another example has the %s", file, key)
			seen[key] = file
		}
		for _, container := range cloneSet.Spec.Template.Spec.Containers {
			assert.Equal(t, "kruise.local/demo:v1", container.Image, file)
		}
	}
}
