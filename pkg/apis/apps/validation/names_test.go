package validation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
)

// The revision of a workload is a label of its Pods, and labels have at most 63 characters.
func TestNamesThatPodsCannotHaveAreWarnedOf(t *testing.T) {
	named := func(length int) *apps.CloneSet {
		return &apps.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", length)}}
	}
	assert.Empty(t, WarnCloneSet(t.Context(), named(52), nil))
	warnings := WarnCloneSet(t.Context(), named(53), nil)
	require.Len(t, warnings, 1)
	assert.Equal(t, "metadata.name: has 53 characters; with more than 52, no Pod can be created, because the names of revisions are labels of Pods; "+
		"use a shorter name, or turn on the feature gate CloneSetShortHash of the manager", warnings[0])
	assert.Empty(t, WarnCloneSet(t.Context(), named(53), named(53)), "the name cannot change any more")
	assert.Len(t, WarnStatefulSet(t.Context(), &apps.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", 53)}}, nil), 1)
}
