package install_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
)

// TestStoredBytes compares each version, with every field set, to the files in testdata/HEAD,
// and reads back what earlier releases wrote (testdata/v*). Stored objects outlive a
// release: a file may gain a field and must never change otherwise. On a release, copy HEAD
// to a folder named for it.
func TestStoredBytes(t *testing.T) {
	scheme := newScheme(t)
	options := roundtrip.NewCompatibilityTestOptions(scheme)
	for kind := range scheme.KnownTypes(apps.SchemeGroupVersion) {
		for _, version := range scheme.PrioritizedVersionsForGroup(apps.GroupName) {
			if !strings.HasSuffix(kind, "List") && !roundtrip.GlobalNonRoundTrippableTypes().Has(kind) {
				options.Kinds = append(options.Kinds, version.WithKind(kind))
			}
		}
	}
	options.Complete(t).Run(t)
}

// TestObjectFullOfMistakesCanBeUpdated judges an update of an object whose every field is
// set, most of them wrongly: what it leaves alone does not stop it.
func TestObjectFullOfMistakesCanBeUpdated(t *testing.T) {
	scheme := newScheme(t)
	for _, version := range scheme.PrioritizedVersionsForGroup(apps.GroupName) {
		data, err := os.ReadFile("testdata/HEAD/" + apps.GroupName + "." + version.Version + ".CloneSet.pb")
		require.NoError(t, err)
		object, err := runtime.Decode(serializer.NewCodecFactory(scheme).UniversalDecoder(apps.SchemeGroupVersion), data)
		require.NoError(t, err)
		stored := object.(*apps.CloneSet)
		require.NotEmpty(t, validation.ValidateCloneSet(stored))

		stored.ManagedFields = nil
		updated := stored.DeepCopy()
		updated.Spec.Template.Spec.Containers[0].Image = "demo:v2"
		require.Empty(t, validation.ValidateCloneSetUpdate(updated, stored))
	}
}
