package podtemplate_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/podtemplate"
)

// Core compares the elements of these lists with each other, so they have a limit of their own. The rest of a template is judged as ever.
func TestListsThatCoreComparesAreLimited(t *testing.T) {
	build := func(length int) *corev1.PodTemplateSpec {
		return template(func(spec *corev1.PodSpec) {
			spec.Containers[0].Name = "Not_DNS"
			for i := range length {
				name := fmt.Sprintf("c%d", i)
				spec.Containers[0].Resources.Claims = append(spec.Containers[0].Resources.Claims, corev1.ResourceClaim{Name: name})
				spec.ResourceClaims = append(spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: &name})
				spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
					MaxSkew: 1, TopologyKey: name, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{},
				})
			}
		})
	}
	path := field.NewPath("template")
	texts := func(errs field.ErrorList) (texts []string) {
		for _, err := range errs {
			texts = append(texts, err.Field+" "+string(err.Type))
		}
		return texts
	}
	name := "template.spec.containers[0].name FieldValueInvalid"
	assert.Equal(t, []string{name}, texts(podtemplate.Validate(build(100), nil, path)))
	long := build(101)
	assert.ElementsMatch(t, []string{
		name, "template.spec.topologySpreadConstraints FieldValueTooMany", "template.spec.containers[0].resources.claims FieldValueTooMany",
	}, texts(podtemplate.Validate(long, nil, path)))
	assert.Len(t, long.Spec.TopologySpreadConstraints, 101, "the template of the caller stays as it is")
}

// Each of these costs work for every write of the object and of its Pods.
func TestItemsOfContainersAreLimited(t *testing.T) {
	build := func(number int) *corev1.PodTemplateSpec {
		return template(func(spec *corev1.PodSpec) {
			spec.InitContainers = []corev1.Container{{Name: "first", Image: "app:1", TerminationMessagePolicy: "File", ImagePullPolicy: "Always"}}
			for i := range number {
				container := &spec.Containers[0]
				if i%2 == 0 {
					container = &spec.InitContainers[0]
				}
				container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("V", i), Value: "v"})
			}
		})
	}
	path := field.NewPath("template")
	assert.Empty(t, podtemplate.Validate(build(1000), nil, path))
	errs := podtemplate.Validate(build(1001), nil, path)
	assert.Len(t, errs, 1)
	assert.Equal(t, "template.spec.containers: Too many: 1001: all containers together must have at most 1000 variables, volume mounts, devices "+
		"and ports; put variables into a ConfigMap, and refer to it in envFrom", errs[0].Error())
}

// Core compares each path of a volume with all others to warn about those that overlap.
func TestLargeTemplatesHaveNoWarnings(t *testing.T) {
	build := func(number int) *corev1.PodTemplateSpec {
		return template(func(spec *corev1.PodSpec) {
			source := &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}
			for i := range number {
				source.Items = append(source.Items, corev1.KeyToPath{Key: fmt.Sprint(i), Path: fmt.Sprintf("a/%d", i)})
			}
			source.Items = append(source.Items, corev1.KeyToPath{Key: "k", Path: "a"})
			spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ConfigMap: source}}},
			}}}
		})
	}
	path := field.NewPath("template")
	assert.NotEmpty(t, podtemplate.Warnings(t.Context(), build(10), nil, path))
	assert.Empty(t, podtemplate.Warnings(t.Context(), build(100_000), nil, path))
}
