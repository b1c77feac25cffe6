package podtemplate_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/podtemplate"
)

func parts() *podtemplate.Parts {
	return &podtemplate.Parts{
		Containers:     []corev1.Container{{Name: "main", Image: "demo:v1", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		InitContainers: []corev1.Container{{Name: "first", Image: "demo"}},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "debug", Image: "demo:v1",
		}}},
		Volumes: []corev1.Volume{{Name: "data"}},
	}
}

func TestDefaultParts(t *testing.T) {
	written := parts()
	podtemplate.DefaultParts(written, nil, nil)
	require.Equal(t, corev1.PullIfNotPresent, written.Containers[0].ImagePullPolicy, "a tag")
	require.Equal(t, corev1.PullAlways, written.InitContainers[0].ImagePullPolicy, "no tag")
	require.Equal(t, corev1.PullIfNotPresent, written.EphemeralContainers[0].ImagePullPolicy)
	require.Equal(t, corev1.TerminationMessageReadFile, written.EphemeralContainers[0].TerminationMessagePolicy)
	require.NotNil(t, written.Volumes[0].EmptyDir)

	same := parts()
	podtemplate.DefaultParts(same, parts(), nil)
	require.Equal(t, parts(), same, "what is stored without a default stays without it")
	changed := parts()
	changed.Volumes = nil
	podtemplate.DefaultParts(changed, parts(), nil)
	require.Equal(t, corev1.PullIfNotPresent, changed.Containers[0].ImagePullPolicy)
}

// A release that adds a default must not make an upgrade of images another change.
func TestDefaultPartsKeepsStoredPartsWithNewImages(t *testing.T) {
	newer := func(parts *podtemplate.Parts) {
		for i := range parts.Containers {
			parts.Containers[i].StdinOnce = true
		}
	}
	stored := func() *podtemplate.Parts {
		parts := parts()
		podtemplate.DefaultParts(parts, nil, nil)
		return parts
	}
	for name, test := range map[string]struct {
		change func(*podtemplate.Parts)
		kept   bool
	}{
		"an image":                       {func(p *podtemplate.Parts) { p.Containers[0].Image = "demo:v2" }, true},
		"the image of an init container": {func(p *podtemplate.Parts) { p.InitContainers[0].Image = "other" }, true},
		"an image, and a written default": {func(p *podtemplate.Parts) {
			p.Containers[0].Image, p.Containers[0].StdinOnce = "demo:v2", true
		}, true},
		"an image, without the defaults": {func(p *podtemplate.Parts) {
			*p = *parts()
			p.Containers[0].Image = "demo:v2"
		}, true},
		"a command": {func(p *podtemplate.Parts) { p.Containers[0].Command = []string{"run"} }, false},
		"one container more": {func(p *podtemplate.Parts) {
			p.Containers = append(p.Containers, corev1.Container{Name: "b", Image: "demo:v1"})
		}, false},
		"no volume": {func(p *podtemplate.Parts) { p.Volumes = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			written, old := stored(), stored()
			test.change(written)
			images := []string{written.Containers[0].Image, written.InitContainers[0].Image}
			podtemplate.DefaultParts(written, old, newer)
			require.Equal(t, stored(), old)
			require.Equal(t, images, []string{written.Containers[0].Image, written.InitContainers[0].Image})
			require.Equal(t, !test.kept, written.Containers[0].StdinOnce)
			require.Equal(t, corev1.PullIfNotPresent, written.Containers[0].ImagePullPolicy)
		})
	}
}

func TestValidateParts(t *testing.T) {
	debug := func(name string) corev1.EphemeralContainer {
		return corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "demo"}}
	}
	token := corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
			Path: "token", ExpirationSeconds: ptr.To[int64](3600),
		}}},
	}}}
	cases := map[string]struct {
		parts *podtemplate.Parts
		want  []string
	}{
		"valid":                  {parts(), nil},
		"nothing":                {&podtemplate.Parts{}, nil},
		"init containers alone":  {&podtemplate.Parts{InitContainers: parts().InitContainers}, nil},
		"the stand-in's name":    {&podtemplate.Parts{InitContainers: []corev1.Container{{Name: "stand-in", Image: "demo"}}}, nil},
		"a debugger of its name": {&podtemplate.Parts{EphemeralContainers: []corev1.EphemeralContainer{debug("stand-in"), debug("stand-in-x")}}, nil},
		"service account token":  {&podtemplate.Parts{Volumes: []corev1.Volume{token}}, nil},
		"no image": {
			&podtemplate.Parts{Containers: []corev1.Container{{Name: "main"}}}, []string{"spec.containers[0].image"},
		},
		"a name twice": {
			&podtemplate.Parts{Containers: []corev1.Container{{Name: "a", Image: "b"}, {Name: "a", Image: "b"}}},
			[]string{"spec.containers[1].name"},
		},
		"a volume that is not there": {
			&podtemplate.Parts{Containers: parts().Containers}, []string{"spec.containers[0].volumeMounts[0].name"},
		},
		"ports of a debugger": {
			&podtemplate.Parts{EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
				Name: "a", Image: "b", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			}}}}, []string{"spec.ephemeralContainers[0].ports"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			before := *test.parts
			errs := podtemplate.ValidateParts(test.parts, nil, field.NewPath("spec"))
			var fields []string
			for _, err := range errs {
				fields = append(fields, err.Field)
			}
			require.Equal(t, test.want, fields, "%v", errs)
			require.Equal(t, before, *test.parts)
		})
	}
}

func TestValidateProbe(t *testing.T) {
	path := field.NewPath("probe")
	require.Empty(t, podtemplate.ValidateProbe(httpProbe(), path))
	bad := httpProbe()
	bad.HTTPGet.Port, bad.PeriodSeconds = intstr.FromInt32(0), -1
	before := bad.DeepCopy()
	var fields []string
	for _, err := range podtemplate.ValidateProbe(bad, path) {
		fields = append(fields, err.Field)
	}
	require.ElementsMatch(t, []string{"probe.httpGet.port", "probe.periodSeconds"}, fields)
	require.Equal(t, before, bad)
	require.Equal(t, "probe", podtemplate.ValidateProbe(&corev1.Probe{}, path)[0].Field)
}
