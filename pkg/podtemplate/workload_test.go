package podtemplate_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/podtemplate"
)

func labelled() corev1.PodTemplateSpec {
	result := *template(nil)
	result.Labels = map[string]string{"app": "demo"}
	return result
}

func fieldsOf(errs field.ErrorList) (fields []string) {
	for _, err := range errs {
		fields = append(fields, err.Field)
	}
	return fields
}

func TestValidateStatefulSetSpec(t *testing.T) {
	path := field.NewPath("spec")
	spec := &appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}}, Template: labelled()}
	before := spec.DeepCopy()
	require.Empty(t, podtemplate.ValidateStatefulSetSpec(spec, nil, path), "what is unset counts as defaulted")
	require.Equal(t, before, spec)

	spec.PodManagementPolicy, spec.Replicas = "Sometimes", ptr.To[int32](-1)
	spec.Template.Spec.Containers[0].Name = "Bad_Name"
	require.ElementsMatch(t, []string{"spec.podManagementPolicy", "spec.replicas", "spec.template.spec.containers[0].name"},
		fieldsOf(podtemplate.ValidateStatefulSetSpec(spec, nil, path)))
}

func TestValidateDeploymentSpec(t *testing.T) {
	path := field.NewPath("spec")
	spec := &appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}}, Template: labelled()}
	before := spec.DeepCopy()
	require.Empty(t, podtemplate.ValidateDeploymentSpec(spec, nil, path), "what is unset counts as defaulted")
	require.Equal(t, before, spec)

	spec.Strategy.Type, spec.MinReadySeconds = "Sometimes", -1
	spec.Template.Spec.Containers[0].Name = "Bad_Name"
	require.ElementsMatch(t, []string{"spec.strategy", "spec.minReadySeconds", "spec.template.spec.containers[0].name"},
		fieldsOf(podtemplate.ValidateDeploymentSpec(spec, nil, path)))
}

// Values that newer rules refuse may stay in an embedded template as in one of its own.
func TestValidateWorkloadsLetStoredValuesStay(t *testing.T) {
	path := field.NewPath("spec")
	spread := labelled()
	spread.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: badLabelValue(),
	}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}}
	set := &appsv1.StatefulSetSpec{Selector: selector, Template: spread}
	require.NotEmpty(t, podtemplate.ValidateStatefulSetSpec(set, nil, path))
	require.Empty(t, podtemplate.ValidateStatefulSetSpec(set, set, path))
	deployment := &appsv1.DeploymentSpec{Selector: selector, Template: spread}
	require.NotEmpty(t, podtemplate.ValidateDeploymentSpec(deployment, nil, path))
	require.Empty(t, podtemplate.ValidateDeploymentSpec(deployment, deployment, path))
}

func TestValidateNodeSelectorTerm(t *testing.T) {
	path := field.NewPath("term")
	require.Empty(t, podtemplate.ValidateNodeSelectorTerm(&corev1.NodeSelectorTerm{}, path))
	term := &corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "Near"}},
		MatchFields:      []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}},
	}
	require.Equal(t, []string{"term.matchExpressions[0].operator"}, fieldsOf(podtemplate.ValidateNodeSelectorTerm(term, path)))
}

func TestValidateTolerations(t *testing.T) {
	path := field.NewPath("tolerations")
	good := corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists}
	require.Empty(t, podtemplate.ValidateTolerations([]corev1.Toleration{good}, path))
	bad := corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Value: "b"}
	require.Equal(t, []string{"tolerations[1].operator"}, fieldsOf(podtemplate.ValidateTolerations([]corev1.Toleration{good, bad}, path)))
}
