package install_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"

	"kruise.io/kruise/pkg/apis/apps"
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
			if !strings.HasSuffix(kind, "List") && scheme.Recognizes(version.WithKind(kind)) && !roundtrip.GlobalNonRoundTrippableTypes().Has(kind) {
				options.Kinds = append(options.Kinds, version.WithKind(kind))
			}
		}
	}
	options.Complete(t).Run(t)
}
