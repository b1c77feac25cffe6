package apps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/registry/rest"
)

func TestDaemonSetIsDescribed(t *testing.T) {
	kind, ok := daemonSet(nil).(*rest.Kind[*apps.DaemonSet])
	require.True(t, ok)
	set := &apps.DaemonSet{
		Spec: apps.DaemonSetSpec{Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b:v1"}, {Name: "c", Image: "d"}}},
		}},
		Status: apps.DaemonSetStatus{
			DesiredNumberScheduled: 5, CurrentNumberScheduled: 4, NumberReady: 3, UpdatedNumberScheduled: 2, NumberAvailable: 1,
		},
	}
	narrow, wide := cells(kind, set)
	assert.Equal(t, []string{"DESIRED 5", "CURRENT 4", "READY 3", "UP-TO-DATE 2", "AVAILABLE 1", "AGE <unknown>"}, narrow)
	assert.Equal(t, []string{"CONTAINERS a,c", "IMAGES b:v1,d"}, wide)
	assert.Equal(t, []string{"daemon", "ads"}, kind.Short)
	assert.Nil(t, kind.Scale, "the nodes decide how many Pods there are")
	kept := set.DeepCopy()
	kind.Default(set, nil)
	assert.Equal(t, kept, set, "the template is stored as it is written")
}
