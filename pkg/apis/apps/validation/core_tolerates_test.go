package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
)

// spreadOver is a term that newer rules refuse where the value is no label's.
func spreadOver(pod *corev1.PodTemplateSpec, value string) {
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}},
	}}
}

// Core's own rules let an old kind of mistake be made again where the stored Pods have it.
func TestUpdateOfPodsThatCoreTolerates(t *testing.T) {
	united := func(template func(*apps.UnitedDeploymentSpec) *corev1.PodTemplateSpec) func(now, old string) field.ErrorList {
		with := func(value string) *apps.UnitedDeployment {
			return changedUnitedDeployment(func(s *apps.UnitedDeploymentSpec) { spreadOver(template(s), value) })
		}
		return func(now, old string) field.ErrorList {
			return validation.ValidateUnitedDeploymentUpdate(with(now), with(old))
		}
	}
	for name, update := range map[string]func(now, old string) field.ErrorList{
		"CloneSet": func(now, old string) field.ErrorList {
			with := func(value string) *apps.CloneSet {
				return changed(func(s *apps.CloneSetSpec, _ *rolling) { spreadOver(&s.Template, value) })
			}
			return validation.ValidateCloneSetUpdate(with(now), with(old))
		},
		"StatefulSet": func(now, old string) field.ErrorList {
			with := func(value string) *apps.StatefulSet {
				return changedStatefulSet(func(s *stsSpec, _ *stsRolling) { spreadOver(&s.Template, value) })
			}
			return validation.ValidateStatefulSetUpdate(with(now), with(old))
		},
		"DaemonSet": func(now, old string) field.ErrorList {
			with := func(value string) *apps.DaemonSet {
				return changedDaemonSet(func(s *dsSpec, _ *dsRolling) { spreadOver(&s.Template, value) })
			}
			return validation.ValidateDaemonSetUpdate(with(now), with(old))
		},
		"BroadcastJob": func(now, old string) field.ErrorList {
			with := func(value string) *apps.BroadcastJob {
				return broadcastJob(broadcastSpec(func(s *apps.BroadcastJobSpec) { spreadOver(&s.Template, value) }))
			}
			return validation.ValidateBroadcastJobUpdate(with(now), with(old))
		},
		"SidecarSet": func(now, old string) field.ErrorList {
			with := func(value string) *apps.SidecarSet { return sidecars(onContainer(hugePages(value))) }
			return validation.ValidateSidecarSetUpdate(with(now), with(old))
		},
		"UnitedDeployment of CloneSets": united(func(s *apps.UnitedDeploymentSpec) *corev1.PodTemplateSpec {
			return &s.Template.CloneSetTemplate.Spec.Template
		}),
		"UnitedDeployment of StatefulSets": united(func(s *apps.UnitedDeploymentSpec) *corev1.PodTemplateSpec {
			return &nativeSet(s).Template
		}),
		"UnitedDeployment of advanced StatefulSets": united(func(s *apps.UnitedDeploymentSpec) *corev1.PodTemplateSpec {
			return &advanced(s).Template
		}),
		"UnitedDeployment of Deployments": united(func(s *apps.UnitedDeploymentSpec) *corev1.PodTemplateSpec {
			return &deployment(s).Template
		}),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, update("not valid", "valid"))
			require.Empty(t, update("not valid either", "not valid"))
		})
	}
}

// The templates of an AdvancedCronJob cannot change, and may stay as they are.
func TestUpdateOfScheduledPodsThatCoreTolerates(t *testing.T) {
	bad := func(t *batchv1.JobSpec) { spreadOver(&t.Template, "not valid") }
	for name, template := range map[string]apps.CronJobTemplate{
		"Job":          jobTemplate(bad),
		"BroadcastJob": broadcastTemplate(broadcastSpec(func(s *apps.BroadcastJobSpec) { spreadOver(&s.Template, "not valid") })),
	} {
		t.Run(name, func(t *testing.T) {
			job := cronJob(func(s *apps.AdvancedCronJobSpec) { s.Template = template })
			require.NotEmpty(t, validation.ValidateAdvancedCronJob(job))
			require.Empty(t, validation.ValidateAdvancedCronJobUpdate(job, job.DeepCopy()))
		})
	}
}

// hugePages asks for memory in pages of 2 MiB: for a whole number of them, unless the value is wrong.
func hugePages(value string) func(*apps.SidecarContainer) {
	size := map[string]string{"valid": "4Mi", "not valid": "3Mi", "not valid either": "5Mi"}[value]
	return func(c *apps.SidecarContainer) {
		c.Resources.Limits = corev1.ResourceList{"hugepages-2Mi": resource.MustParse(size), corev1.ResourceMemory: oneGi}
	}
}
