package spread

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Kinds of Kubernetes with revisions have slots for each revision. They and CloneSets remove Pods in the order of costs.
func TestKindsWithRevisionsAndCosts(t *testing.T) {
	labeled := &metav1.ObjectMeta{Labels: map[string]string{"pod-template-hash": "h", "controller-revision-hash": "r"}}
	for kind, want := range map[v1beta1.TargetReference]struct {
		version string
		ordered bool
	}{
		{APIVersion: "apps/v1", Kind: "Deployment"}:                  {"h", true},
		{APIVersion: "apps/v1", Kind: "ReplicaSet"}:                  {"h", true},
		{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet"}:    {"versionIgnored", true},
		{APIVersion: "apps.kruise.io/v1alpha1", Kind: "StatefulSet"}: {"versionIgnored", false},
		{APIVersion: "batch/v1", Kind: "Job"}:                        {"versionIgnored", false},
		{APIVersion: "example.com/v1", Kind: "Deployment"}:           {"versionIgnored", false},
	} {
		spread := &v1beta1.WorkloadSpread{Spec: v1beta1.WorkloadSpreadSpec{TargetRef: &kind}}
		assert.Equal(t, want.version, VersionOf(spread, labeled), "%v", kind)
		assert.Equal(t, Unversioned, VersionOf(spread, &metav1.ObjectMeta{}), "%v", kind)
		assert.Equal(t, want.ordered, Ordered(spread), "%v", kind)
	}
}
