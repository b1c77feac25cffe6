package validation_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
	"kruise.io/kruise/pkg/podtemplate"
)

// Case cloneset 9.
func TestInPlaceOnlyRefusesOtherChanges(t *testing.T) {
	cases := map[string]struct {
		change change
		want   []string
	}{
		"nothing":   {nil, nil},
		"image":     {func(s *apps.CloneSetSpec, _ *rolling) { s.Template.Spec.Containers[0].Image = "demo:v2" }, nil},
		"label":     {func(s *apps.CloneSetSpec, _ *rolling) { s.Template.Labels = map[string]string{"app": "demo", "a": "b"} }, nil},
		"replicas":  {func(s *apps.CloneSetSpec, _ *rolling) { s.Replicas = ptr.To[int32](5) }, nil},
		"a default": {func(s *apps.CloneSetSpec, _ *rolling) { podtemplate.Default(&s.Template, nil, nil) }, nil},
		"environment": {
			func(s *apps.CloneSetSpec, _ *rolling) {
				s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
			},
			[]string{templatePath + "containers[0].env: with InPlaceOnly, only container images can change"},
		},
		"image and two fields": {
			func(s *apps.CloneSetSpec, _ *rolling) {
				s.Template.Spec.Containers[0].Image, s.Template.Spec.Containers[0].TTY = "demo:v2", true
				s.Template.Spec.HostNetwork = true
			},
			[]string{templatePath + "containers[0].tty: Forbidden", templatePath + "hostNetwork: Forbidden"},
		},
		"another container": {
			func(s *apps.CloneSetSpec, _ *rolling) {
				s.Template.Spec.Containers = append(s.Template.Spec.Containers, corev1.Container{Name: "b", Image: "c"})
			}, []string{templatePath + "containers: Forbidden"},
		},
		"image of an init container": {
			func(s *apps.CloneSetSpec, _ *rolling) {
				s.Template.Spec.InitContainers = []corev1.Container{{Name: "b", Image: "c"}}
			}, []string{templatePath + "initContainers: Forbidden"},
		},
		"policy changed too": {
			func(s *apps.CloneSetSpec, r *rolling) {
				r.PodUpdatePolicy, s.Template.Spec.HostNetwork = "InPlaceIfPossible", true
			}, nil,
		},
		"OnDelete": {
			func(s *apps.CloneSetSpec, _ *rolling) {
				s.UpdateStrategy.Type, s.Template.Spec.HostNetwork = "OnDelete", true
			}, nil,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			old := changed(func(_ *apps.CloneSetSpec, r *rolling) { r.PodUpdatePolicy = "InPlaceOnly" })
			cloneSet := old.DeepCopy()
			if test.change != nil {
				test.change(&cloneSet.Spec, cloneSet.Spec.UpdateStrategy.RollingUpdate)
			}
			rulestest.Errors(t, test.want, validation.ValidateCloneSetUpdate(cloneSet, old))
		})
	}
	t.Run("the policy of the stored object does not count", func(t *testing.T) {
		old := valid()
		cloneSet := changed(func(s *apps.CloneSetSpec, r *rolling) {
			r.PodUpdatePolicy, s.Template.Spec.HostNetwork = "InPlaceOnly", true
		})
		rulestest.Errors(t, []string{templatePath + "hostNetwork: Forbidden"}, validation.ValidateCloneSetUpdate(cloneSet, old))
	})
}
