package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
)

func TestDefaultUnitedDeploymentTemplate(t *testing.T) {
	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b:v1"}}}}
	claims := func() []corev1.PersistentVolumeClaim { return []corev1.PersistentVolumeClaim{{}} }
	cases := map[string]struct {
		write  func(*apps.SubsetTemplate)
		pod    func(*apps.SubsetTemplate) *corev1.PodTemplateSpec
		claims func(*apps.SubsetTemplate) []corev1.PersistentVolumeClaim
		want   bool
	}{
		"statefulSetTemplate": {
			func(s *apps.SubsetTemplate) {
				s.StatefulSetTemplate = &apps.StatefulSetTemplateSpec{}
				s.StatefulSetTemplate.Spec.Template, s.StatefulSetTemplate.Spec.VolumeClaimTemplates = *pod.DeepCopy(), claims()
			},
			func(s *apps.SubsetTemplate) *corev1.PodTemplateSpec { return &s.StatefulSetTemplate.Spec.Template },
			func(s *apps.SubsetTemplate) []corev1.PersistentVolumeClaim {
				return s.StatefulSetTemplate.Spec.VolumeClaimTemplates
			}, true,
		},
		"advancedStatefulSetTemplate stays": {
			func(s *apps.SubsetTemplate) {
				s.AdvancedStatefulSetTemplate = &apps.AdvancedStatefulSetTemplateSpec{}
				s.AdvancedStatefulSetTemplate.Spec.Template, s.AdvancedStatefulSetTemplate.Spec.VolumeClaimTemplates = *pod.DeepCopy(), claims()
			},
			func(s *apps.SubsetTemplate) *corev1.PodTemplateSpec {
				return &s.AdvancedStatefulSetTemplate.Spec.Template
			},
			func(s *apps.SubsetTemplate) []corev1.PersistentVolumeClaim {
				return s.AdvancedStatefulSetTemplate.Spec.VolumeClaimTemplates
			}, false,
		},
		"cloneSetTemplate stays": {
			func(s *apps.SubsetTemplate) {
				s.CloneSetTemplate = &apps.CloneSetTemplateSpec{}
				s.CloneSetTemplate.Spec.Template, s.CloneSetTemplate.Spec.VolumeClaimTemplates = *pod.DeepCopy(), claims()
			},
			func(s *apps.SubsetTemplate) *corev1.PodTemplateSpec { return &s.CloneSetTemplate.Spec.Template },
			func(s *apps.SubsetTemplate) []corev1.PersistentVolumeClaim {
				return s.CloneSetTemplate.Spec.VolumeClaimTemplates
			}, false,
		},
		"deploymentTemplate stays": {
			func(s *apps.SubsetTemplate) {
				s.DeploymentTemplate = &apps.DeploymentTemplateSpec{}
				s.DeploymentTemplate.Spec.Template = *pod.DeepCopy()
			},
			func(s *apps.SubsetTemplate) *corev1.PodTemplateSpec { return &s.DeploymentTemplate.Spec.Template }, nil, false,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := func() *apps.UnitedDeployment {
				united := &apps.UnitedDeployment{}
				test.write(&united.Spec.Template)
				return united
			}
			filled := func(united *apps.UnitedDeployment) bool {
				return test.pod(&united.Spec.Template).Spec.RestartPolicy != ""
			}
			created := written()
			install.DefaultUnitedDeploymentTemplate(created, nil, nil)
			require.Equal(t, test.want, filled(created))
			if test.claims != nil {
				require.Equal(t, test.want, test.claims(&created.Spec.Template)[0].Spec.VolumeMode != nil)
			}

			same := written()
			install.DefaultUnitedDeploymentTemplate(same, written(), nil)
			require.Equal(t, written(), same, "what an update leaves alone stays as it is stored")

			changed := written()
			test.pod(&changed.Spec.Template).Spec.HostNetwork = true
			install.DefaultUnitedDeploymentTemplate(changed, written(), nil)
			require.Equal(t, test.want, filled(changed))
		})
	}
}
