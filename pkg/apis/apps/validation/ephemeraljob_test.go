package validation_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func job(change func(*apps.EphemeralJobSpec, *corev1.EphemeralContainer)) *apps.EphemeralJob {
	result := &apps.EphemeralJob{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1"},
		Spec: apps.EphemeralJobSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}},
			Template: apps.EphemeralContainerTemplateSpec{EphemeralContainers: []corev1.EphemeralContainer{
				{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
					Name: "debug", Image: "demo:v1", ImagePullPolicy: corev1.PullAlways, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
				}},
				{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "more", Image: "demo:v1"}},
			}},
		},
	}
	if change != nil {
		change(&result.Spec, &result.Spec.Template.EphemeralContainers[0])
	}
	return result
}

const debugPath = "spec.template.ephemeralContainers[0]."

// jobCases is the table of its rules.
var jobCases = map[string]struct {
	change func(*apps.EphemeralJobSpec, *corev1.EphemeralContainer)
	want   []string
}{
	"valid":            {},
	"no containers":    {func(s *apps.EphemeralJobSpec, _ *corev1.EphemeralContainer) { s.Template.EphemeralContainers = nil }, nil},
	"selector missing": {func(s *apps.EphemeralJobSpec, _ *corev1.EphemeralContainer) { s.Selector = nil }, []string{"spec.selector: Required"}},
	"selector empty": {
		func(s *apps.EphemeralJobSpec, _ *corev1.EphemeralContainer) { s.Selector = &metav1.LabelSelector{} },
		[]string{"spec.selector: empty selector is not valid for EphemeralJob"},
	},
	"numbers": {
		func(s *apps.EphemeralJobSpec, _ *corev1.EphemeralContainer) {
			s.Replicas, s.Parallelism = ptr.To[int32](0), ptr.To[int32](0)
			s.ActiveDeadlineSeconds, s.TTLSecondsAfterFinished = ptr.To[int64](0), ptr.To[int32](0)
		}, nil,
	},
	"negative numbers": {
		func(s *apps.EphemeralJobSpec, _ *corev1.EphemeralContainer) {
			s.Replicas, s.Parallelism = ptr.To[int32](-1), ptr.To[int32](-1)
			s.ActiveDeadlineSeconds, s.TTLSecondsAfterFinished = ptr.To[int64](-1), ptr.To[int32](-1)
		}, []string{"spec.replicas: -1", "spec.parallelism: -1", "spec.activeDeadlineSeconds: -1", "spec.ttlSecondsAfterFinished: -1"},
	},
	"no name":      {func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.Name = "" }, []string{debugPath + "name: Required"}},
	"bad name":     {func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.Name = "Not_DNS" }, []string{debugPath + "name: Not_DNS"}},
	"a name twice": {func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.Name = "more" }, []string{"spec.template.ephemeralContainers[1].name: Duplicate"}},
	"no image":     {func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.Image = "" }, []string{debugPath + "image: Required"}},
	"padded image": {func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.Image = " demo" }, []string{debugPath + "image: whitespace"}},
	"terminationMessagePolicy": {
		func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.TerminationMessagePolicy = "Maybe" },
		[]string{debugPath + "terminationMessagePolicy: Maybe"},
	},
	"imagePullPolicy": {
		func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.ImagePullPolicy = "Maybe" },
		[]string{debugPath + "imagePullPolicy: Maybe"},
	},
	"no policies": {
		func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) {
			c.ImagePullPolicy, c.TerminationMessagePolicy = "", ""
		}, nil,
	},
	"env":     {func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.Env = []corev1.EnvVar{{}} }, []string{debugPath + "env[0].name: Required"}},
	"envFrom": {func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.EnvFrom = []corev1.EnvFromSource{{}} }, []string{debugPath + "envFrom: "}},
	"securityContext": {
		func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) {
			c.SecurityContext = &corev1.SecurityContext{RunAsUser: ptr.To[int64](-1)}
		}, []string{debugPath + "securityContext.runAsUser: -1"},
	},
	"ports": {
		func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) {
			c.Ports = []corev1.ContainerPort{{ContainerPort: 80}}
		},
		[]string{debugPath + "ports: cannot be set for an Ephemeral Container"},
	},
	"resources": {
		func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) {
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: oneGi}
		}, []string{debugPath + "resources: cannot be set for an Ephemeral Container"},
	},
	"probe": {
		func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) {
			c.ReadinessProbe = new(execProbe().Probe)
		},
		[]string{debugPath + "readinessProbe: cannot be set for an Ephemeral Container"},
	},
	"lifecycle": {
		func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.Lifecycle = &corev1.Lifecycle{} },
		[]string{debugPath + "lifecycle: cannot be set for an Ephemeral Container"},
	},
	"mount": {mounting(corev1.VolumeMount{Name: "data", MountPath: "/data"}), nil},
	"subPath": {
		mounting(corev1.VolumeMount{Name: "data", MountPath: "/data", SubPath: "a"}),
		[]string{debugPath + "volumeMounts[0].subPath: cannot be set for an Ephemeral Container"},
	},
	"subPathExpr": {
		mounting(corev1.VolumeMount{Name: "data", MountPath: "/data", SubPathExpr: "$(A)"}),
		[]string{debugPath + "volumeMounts[0].subPathExpr: cannot be set for an Ephemeral Container"},
	},
	"mount of what cannot be": {mounting(corev1.VolumeMount{Name: "Not_DNS", MountPath: "/data"}), []string{debugPath + "volumeMounts[0].name: Not_DNS"}},
	"device": {
		func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) {
			c.VolumeDevices = []corev1.VolumeDevice{{Name: "disk", DevicePath: "/dev/x"}}
		}, nil,
	},
	"targetContainerName is not judged": {
		func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.TargetContainerName = "whatever" }, nil,
	},
}

func mounting(mount corev1.VolumeMount) func(*apps.EphemeralJobSpec, *corev1.EphemeralContainer) {
	return func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) {
		c.VolumeMounts = []corev1.VolumeMount{mount}
	}
}

// Cases ephemeraljob 13, 14, 15.
func TestEphemeralJob(t *testing.T) {
	for name, test := range jobCases {
		t.Run(name, func(t *testing.T) {
			created := job(test.change)
			rulestest.Create(t, created, validation.ValidateEphemeralJob, test.want)
			rulestest.Errors(t, test.want, validation.ValidateEphemeralJobUpdate(created, job(nil)))
			rulestest.UpdateOfLabels(t, created, job(test.change), validation.ValidateEphemeralJobUpdate)
		})
	}
	created := job(nil)
	created.Name = "Not_DNS"
	rulestest.Errors(t, []string{"metadata.name: Not_DNS"}, validation.ValidateEphemeralJob(created))
}

func TestEphemeralJobKeepsItsTemplateOnceStarted(t *testing.T) {
	stored := job(nil)
	stored.Status.StartTime = new(metav1.Now())
	changed := job(func(_ *apps.EphemeralJobSpec, c *corev1.EphemeralContainer) { c.Image = "demo:v2" })
	rulestest.Errors(t, []string{"spec.template: after the job has started"}, validation.ValidateEphemeralJobUpdate(changed, stored))
	rulestest.Errors(t, nil, validation.ValidateEphemeralJobUpdate(changed, job(nil)))

	tuned := job(func(s *apps.EphemeralJobSpec, _ *corev1.EphemeralContainer) {
		s.Paused, s.Parallelism = true, ptr.To[int32](5)
	})
	rulestest.Errors(t, nil, validation.ValidateEphemeralJobUpdate(tuned, stored))
}

func TestEphemeralJobStatus(t *testing.T) {
	written := job(nil)
	written.Status = apps.EphemeralJobStatus{Match: -1, Succeeded: -1, Failed: -1, Running: -1, Waiting: -1}
	rulestest.Errors(t, []string{"status.match: -1", "status.succeeded: -1", "status.failed: -1", "status.running: -1", "status.waiting: -1"},
		validation.ValidateEphemeralJobStatusUpdate(written, job(nil)))
	rulestest.Errors(t, nil, validation.ValidateEphemeralJobStatusUpdate(written, written))
}
