package apps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

// hostPort returns the port of the node that a kind gives to the template, which is in obj.
func hostPort[T rest.Object](t *testing.T, kind rest.AnyKind, obj T, template *corev1.PodTemplateSpec) int32 {
	t.Helper()
	template.Spec = corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{
		{Name: "a", Ports: []corev1.ContainerPort{{ContainerPort: 80}}},
	}}
	typed, ok := kind.(*rest.Kind[T])
	require.True(t, ok)
	if typed.Default != nil {
		var none T
		typed.Default(obj, none)
	}
	return template.Spec.Containers[0].Ports[0].HostPort
}

func TestPortsOfTheNodeFollowTheGate(t *testing.T) {
	for name, test := range map[string]struct {
		gates map[string]bool
		want  int32
	}{
		"off":                  {nil, 0},
		"on":                   {map[string]bool{"DefaultHostNetworkHostPortsInPodTemplates": true}, 80},
		"on, but no templates": {map[string]bool{"DefaultHostNetworkHostPortsInPodTemplates": true, "TemplateNoDefaults": true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			gate, err := features.New("")
			require.NoError(t, err)
			require.NoError(t, gate.SetFromMap(test.gates))
			clone, set, job := &apps.CloneSet{}, &apps.StatefulSet{}, &apps.BroadcastJob{}
			assert.Equal(t, test.want, hostPort(t, cloneSet(gate), clone, &clone.Spec.Template), "CloneSet")
			assert.Equal(t, test.want, hostPort(t, statefulSet(gate), set, &set.Spec.Template), "StatefulSet")
			assert.Equal(t, test.want, hostPort(t, broadcastJob(gate), job, &job.Spec.Template), "BroadcastJob")

			united := &apps.UnitedDeployment{}
			united.Spec.Template.StatefulSetTemplate = &apps.StatefulSetTemplateSpec{}
			pods := &united.Spec.Template.StatefulSetTemplate.Spec.Template
			assert.Equal(t, test.want, hostPort(t, unitedDeployment(gate), united, pods), "UnitedDeployment")

			cron := &apps.AdvancedCronJob{}
			cron.Spec.Template.JobTemplate = &batchv1.JobTemplateSpec{}
			assert.Equal(t, test.want, hostPort(t, advancedCronJob(gate), cron, &cron.Spec.Template.JobTemplate.Spec.Template), "Job")
			cron = &apps.AdvancedCronJob{}
			cron.Spec.Template.BroadcastJobTemplate = &apps.BroadcastJobTemplateSpec{}
			pods = &cron.Spec.Template.BroadcastJobTemplate.Spec.Template
			assert.Equal(t, test.want, hostPort(t, advancedCronJob(gate), cron, pods), "BroadcastJob of an AdvancedCronJob")
		})
	}
}
