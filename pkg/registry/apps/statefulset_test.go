package apps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func statefulSetWith(t *testing.T, gates map[string]bool) *rest.Kind[*apps.StatefulSet] {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.SetFromMap(gates))
	kind, ok := statefulSet(gate).(*rest.Kind[*apps.StatefulSet])
	require.True(t, ok)
	return kind
}

// Case statefulset 2.
func TestStatefulSetColumns(t *testing.T) {
	kind := statefulSetWith(t, nil)
	set := &apps.StatefulSet{
		Spec: apps.StatefulSetSpec{
			Replicas: ptr.To[int32](5),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b:v1"}, {Name: "c", Image: "d"}}}},
		},
		Status: apps.StatefulSetStatus{Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2},
	}
	narrow, wide := cells(kind, set)
	assert.Equal(t, []string{"DESIRED 5", "CURRENT 4", "UPDATED 3", "READY 2", "AGE <unknown>"}, narrow)
	assert.Equal(t, []string{"CONTAINERS a,c", "IMAGES b:v1,d"}, wide)
	assert.Equal(t, []string{"sts", "asts"}, kind.Short)
	assert.Empty(t, kind.Categories)
}

func TestStatefulSetScale(t *testing.T) {
	scale := statefulSetWith(t, nil).Scale
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	set := &apps.StatefulSet{Spec: apps.StatefulSetSpec{Selector: selector}, Status: apps.StatefulSetStatus{Replicas: 4}}
	scale.SetReplicas(set, 7)
	assert.Equal(t, int32(7), scale.Replicas(set))
	assert.Equal(t, int32(4), scale.Current(set))
	assert.Equal(t, selector, scale.Selector(set))
}

func TestStatefulSetDefaultsFollowGates(t *testing.T) {
	const claims, resize, templates = "StatefulSetAutoDeletePVC", "StatefulSetAutoResizePVCGate", "TemplateNoDefaults"
	for name, test := range map[string]struct {
		gates                       map[string]bool
		retention, resize, template bool
	}{
		"as they are":          {nil, true, false, true},
		"claims stay":          {map[string]bool{claims: false}, false, false, true},
		"claims grow":          {map[string]bool{resize: true}, true, true, true},
		"templates as written": {map[string]bool{templates: true}, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			set := &apps.StatefulSet{}
			statefulSetWith(t, test.gates).Default(set, nil)
			assert.Equal(t, test.retention, set.Spec.PersistentVolumeClaimRetentionPolicy != nil)
			assert.Equal(t, test.resize, set.Spec.VolumeClaimUpdateStrategy.Type == "OnDelete")
			assert.Equal(t, test.template, set.Spec.Template.Spec.RestartPolicy != "")
		})
	}
}

func TestClaimRulesFollowTheGate(t *testing.T) {
	of := func(class string) *apps.StatefulSet {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
		claim.Spec.StorageClassName = &class
		return &apps.StatefulSet{Spec: apps.StatefulSetSpec{
			VolumeClaimTemplates:      []corev1.PersistentVolumeClaim{claim},
			VolumeClaimUpdateStrategy: apps.VolumeClaimUpdateStrategy{Type: apps.OnPodRollingUpdateVolumeClaimUpdateStrategyType},
		}}
	}
	for on, want := range map[bool]int{true: 1, false: 0} {
		kind, found := statefulSetWith(t, map[string]bool{"StatefulSetAutoResizePVCGate": on}), 0
		for _, err := range kind.ValidateUpdate(of("fast"), of("slow")) {
			if err.Field == "spec.volumeClaimTemplates[0].spec.storageClassName" {
				found++
			}
		}
		assert.Equal(t, want, found, "with the gate %v", on)
	}
}

func TestV1alpha1KeepsWhatItCannotSay(t *testing.T) {
	old := &apps.StatefulSet{Spec: apps.StatefulSetSpec{ReserveOrdinals: []intstr.IntOrString{intstr.FromInt32(1)}}}
	set := &apps.StatefulSet{}
	statefulSetWith(t, nil).Keep("v1alpha1", set, old)
	assert.Equal(t, old.Spec.ReserveOrdinals, set.Spec.ReserveOrdinals)
}
