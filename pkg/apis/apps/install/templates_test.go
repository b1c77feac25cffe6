package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
)

func TestDefaultCloneSetTemplate(t *testing.T) {
	written := func() *apps.CloneSet {
		return &apps.CloneSet{Spec: apps.CloneSetSpec{
			Template:             corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b:v1"}}}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{}},
		}}
	}
	cases := map[string]struct {
		old                       *apps.CloneSet
		change                    func(*apps.CloneSet)
		wantTemplate, wantVolumes bool
	}{
		"create":         {nil, func(*apps.CloneSet) {}, true, true},
		"nothing":        {written(), func(*apps.CloneSet) {}, false, false},
		"other field":    {written(), func(c *apps.CloneSet) { c.Spec.MinReadySeconds = 5 }, false, false},
		"image":          {written(), func(c *apps.CloneSet) { c.Spec.Template.Spec.Containers[0].Image = "b:v2" }, false, false},
		"host":           {written(), func(c *apps.CloneSet) { c.Spec.Template.Spec.HostNetwork = true }, true, false},
		"claim":          {written(), func(c *apps.CloneSet) { c.Spec.VolumeClaimTemplates[0].Name = "v" }, false, true},
		"first claim":    {&apps.CloneSet{Spec: apps.CloneSetSpec{Template: written().Spec.Template}}, func(*apps.CloneSet) {}, false, true},
		"template label": {written(), func(c *apps.CloneSet) { c.Spec.Template.Labels = map[string]string{"a": "b"} }, false, false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			cloneSet := written()
			test.change(cloneSet)
			install.DefaultCloneSetTemplate(cloneSet, test.old, nil)
			require.Equal(t, test.wantTemplate, cloneSet.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyAlways)
			require.Equal(t, test.wantVolumes, cloneSet.Spec.VolumeClaimTemplates[0].Spec.VolumeMode != nil)
		})
	}
}
