package podtemplate_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/podtemplate"
)

func template(change func(*corev1.PodSpec)) *corev1.PodTemplateSpec {
	result := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "demo:v1"}}}}
	if change != nil {
		change(&result.Spec)
	}
	return result
}

func TestDefault(t *testing.T) {
	cases := map[string]struct {
		change func(*corev1.PodSpec)
		get    func(*corev1.PodSpec) any
		want   any
	}{
		"restartPolicy":                 {nil, func(s *corev1.PodSpec) any { return s.RestartPolicy }, corev1.RestartPolicyAlways},
		"dnsPolicy":                     {nil, func(s *corev1.PodSpec) any { return s.DNSPolicy }, corev1.DNSClusterFirst},
		"schedulerName":                 {nil, func(s *corev1.PodSpec) any { return s.SchedulerName }, "default-scheduler"},
		"terminationGracePeriodSeconds": {nil, func(s *corev1.PodSpec) any { return *s.TerminationGracePeriodSeconds }, int64(30)},
		"securityContext":               {nil, func(s *corev1.PodSpec) any { return s.SecurityContext }, &corev1.PodSecurityContext{}},
		"a value stays": {
			func(s *corev1.PodSpec) { s.SchedulerName = "mine" }, func(s *corev1.PodSpec) any { return s.SchedulerName }, "mine",
		},
		"terminationMessagePath": {nil, func(s *corev1.PodSpec) any { return s.Containers[0].TerminationMessagePath }, "/dev/termination-log"},
		"terminationMessagePolicy": {
			nil, func(s *corev1.PodSpec) any { return s.Containers[0].TerminationMessagePolicy }, corev1.TerminationMessageReadFile,
		},
		"imagePullPolicy of a tag": {nil, func(s *corev1.PodSpec) any { return s.Containers[0].ImagePullPolicy }, corev1.PullAlways},
		"imagePullPolicy stays": {
			func(s *corev1.PodSpec) { s.Containers[0].ImagePullPolicy = corev1.PullNever },
			func(s *corev1.PodSpec) any { return s.Containers[0].ImagePullPolicy }, corev1.PullNever,
		},
		"imagePullPolicy of an init container's tag": {
			func(s *corev1.PodSpec) { s.InitContainers = []corev1.Container{{Name: "i", Image: "demo:v1"}} },
			func(s *corev1.PodSpec) any { return s.InitContainers[0].ImagePullPolicy }, corev1.PullIfNotPresent,
		},
		"imagePullPolicy of an init container's latest": {
			func(s *corev1.PodSpec) { s.InitContainers = []corev1.Container{{Name: "i", Image: "demo"}} },
			func(s *corev1.PodSpec) any { return s.InitContainers[0].ImagePullPolicy }, corev1.PullAlways,
		},
		"port protocol": {
			func(s *corev1.PodSpec) { s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}} },
			func(s *corev1.PodSpec) any { return s.Containers[0].Ports[0].Protocol }, corev1.ProtocolTCP,
		},
		"hostPort is left to the Pod": {
			func(s *corev1.PodSpec) {
				s.HostNetwork, s.Containers[0].Ports = true, []corev1.ContainerPort{{ContainerPort: 80}}
			},
			func(s *corev1.PodSpec) any { return s.Containers[0].Ports[0].HostPort }, int32(0),
		},
		"probe": {
			func(s *corev1.PodSpec) { s.Containers[0].LivenessProbe = httpProbe() },
			func(s *corev1.PodSpec) any { return *s.Containers[0].LivenessProbe },
			corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
					Path: "/", Port: intstr.FromInt32(80), Scheme: corev1.URISchemeHTTP,
				}},
				TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
			},
		},
		"fieldRef": {
			func(s *corev1.PodSpec) {
				s.Containers[0].Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{}}}}
			},
			func(s *corev1.PodSpec) any { return s.Containers[0].Env[0].ValueFrom.FieldRef.APIVersion }, "v1",
		},
		"volume source": {
			func(s *corev1.PodSpec) { s.Volumes = []corev1.Volume{{Name: "v"}} },
			func(s *corev1.PodSpec) any { return s.Volumes[0].EmptyDir }, &corev1.EmptyDirVolumeSource{},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := template(test.change)
			podtemplate.Default(written, nil, nil)
			require.Equal(t, test.want, test.get(&written.Spec))
			again := written.DeepCopy()
			podtemplate.Default(again, nil, nil)
			require.Equal(t, written, again, "defaulting twice must change nothing")
		})
	}
}

func httpProbe() *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}}}
}

// A stored template without a default keeps it that way until a user changes the template.
func TestDefaultOnUpdate(t *testing.T) {
	old := template(nil)
	same := old.DeepCopy()
	podtemplate.Default(same, old, nil)
	require.Equal(t, old, same)

	changed := template(func(s *corev1.PodSpec) { s.HostNetwork = true })
	podtemplate.Default(changed, old, nil)
	require.Equal(t, corev1.RestartPolicyAlways, changed.Spec.RestartPolicy)
}

// An older release stored the template without a default of today. An update in place stays one: nothing else changes with it.
func TestNewDefaultKeepsInPlaceUpdates(t *testing.T) {
	stored := template(nil)
	podtemplate.Default(stored, nil, nil)
	stored.Spec.DNSPolicy, stored.Spec.Containers[0].TerminationMessagePolicy = "", ""

	written := template(func(s *corev1.PodSpec) {
		s.Containers[0].Image = "demo:v2"
		s.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	written.Labels = map[string]string{"app": "new"}
	podtemplate.Default(written, stored, nil)
	want := stored.DeepCopy()
	want.Spec.Containers[0].Image, want.Labels = "demo:v2", map[string]string{"app": "new"}
	want.Spec.Containers[0].Resources = written.Spec.Containers[0].Resources
	require.Equal(t, want, written)

	recreates := template(func(s *corev1.PodSpec) {
		s.Containers[0].Image, s.Containers[0].Args = "demo:v2", []string{"-v"}
	})
	podtemplate.Default(recreates, stored, nil)
	require.Equal(t, corev1.DNSClusterFirst, recreates.Spec.DNSPolicy, "a change that recreates Pods takes the defaults of today along")
}

func TestDefaultHostPorts(t *testing.T) {
	pod := func(hostNetwork bool, ports ...corev1.ContainerPort) *corev1.PodTemplateSpec {
		return template(func(s *corev1.PodSpec) {
			s.HostNetwork, s.Containers[0].Ports = hostNetwork, ports
			s.InitContainers = []corev1.Container{{Name: "init", Image: "demo:v1", Ports: append([]corev1.ContainerPort(nil), ports...)}}
		})
	}
	for name, test := range map[string]struct {
		written *corev1.PodTemplateSpec
		more    func(*corev1.PodSpec)
		want    []int32
	}{
		"network of the node":          {pod(true, corev1.ContainerPort{ContainerPort: 80}, corev1.ContainerPort{ContainerPort: 90}), podtemplate.DefaultHostPorts, []int32{80, 90}},
		"the port is set":              {pod(true, corev1.ContainerPort{ContainerPort: 80, HostPort: 81}), podtemplate.DefaultHostPorts, []int32{81}},
		"network of the Pod":           {pod(false, corev1.ContainerPort{ContainerPort: 80}), podtemplate.DefaultHostPorts, []int32{0}},
		"network of the node, not set": {pod(true, corev1.ContainerPort{ContainerPort: 80}), nil, []int32{0}},
	} {
		t.Run(name, func(t *testing.T) {
			podtemplate.Default(test.written, nil, test.more)
			spec := &test.written.Spec
			for _, container := range []*corev1.Container{&spec.Containers[0], &spec.InitContainers[0]} {
				var ports []int32
				for _, port := range container.Ports {
					ports = append(ports, port.HostPort)
				}
				require.Equal(t, test.want, ports, container.Name)
			}
		})
	}
	// The template was stored before there was this default, so an update in place does not bring it.
	stored := pod(true, corev1.ContainerPort{ContainerPort: 80})
	podtemplate.Default(stored, nil, nil)
	written := pod(true, corev1.ContainerPort{ContainerPort: 80})
	written.Spec.Containers[0].Image = "demo:v2"
	podtemplate.Default(written, stored, podtemplate.DefaultHostPorts)
	require.Zero(t, written.Spec.Containers[0].Ports[0].HostPort)
}

func TestDefaultClaims(t *testing.T) {
	claims := []corev1.PersistentVolumeClaim{{}, {}}
	stored := []corev1.PersistentVolumeClaim{{}, {}}
	podtemplate.DefaultClaims(claims, stored)
	require.Equal(t, stored, claims, "unchanged claims stay as they are stored")

	podtemplate.DefaultClaims(claims, nil)
	for _, claim := range claims {
		require.Equal(t, corev1.PersistentVolumeFilesystem, *claim.Spec.VolumeMode)
		require.Equal(t, corev1.ClaimPending, claim.Status.Phase)
	}
}

func TestValidate(t *testing.T) {
	path := field.NewPath("spec", "template")
	require.Empty(t, podtemplate.Validate(template(nil), nil, path), "what is unset counts as defaulted")

	bad := template(func(s *corev1.PodSpec) {
		s.Containers[0].Name = "Bad_Name"
		s.DNSPolicy = "Somewhere"
	})
	before := bad.DeepCopy()
	errs := podtemplate.Validate(bad, nil, path)
	require.Len(t, errs, 2)
	require.Equal(t, before, bad)
	fields := []string{errs[0].Field, errs[1].Field}
	require.ElementsMatch(t, []string{"spec.template.spec.containers[0].name", "spec.template.spec.dnsPolicy"}, fields)
}

// A Deployment lets a value stay that a later rule refuses; so do we.
func TestValidateLetsStoredValuesStay(t *testing.T) {
	path := field.NewPath("spec", "template")
	spread := func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: badLabelValue(),
		}}
	}
	require.NotEmpty(t, podtemplate.Validate(template(spread), nil, path))
	require.Empty(t, podtemplate.Validate(template(spread), template(spread), path))
}

func TestValidateClaimSpec(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{}
	before := claim.DeepCopy()
	errs := podtemplate.ValidateClaimSpec(claim, field.NewPath("claim"))
	require.Equal(t, before, claim)
	fields := map[string]bool{}
	for _, err := range errs {
		fields[err.Field] = true
	}
	require.Equal(t, map[string]bool{"claim.accessModes": true, "claim.resources[storage]": true}, fields)
}

func TestWarnings(t *testing.T) {
	duplicate := template(func(s *corev1.PodSpec) { s.Containers[0].Env = []corev1.EnvVar{{Name: "A"}, {Name: "A"}} })
	warnings := podtemplate.Warnings(t.Context(), duplicate, nil, field.NewPath("spec", "template"))
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "spec.template.spec.containers[0].env[1]")
	require.Empty(t, podtemplate.Warnings(t.Context(), template(nil), nil, field.NewPath("spec", "template")))
}

func badLabelValue() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "not valid"}}
}
