package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestTrim(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{SizeBytes: 1}}}}
	node.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	trimmed, err := Trim(node)
	require.NoError(t, err)
	assert.Equal(t, &corev1.Node{}, trimmed)
}

func TestTemplatesOfReplicaSetsAndJobsKeepTheirMetadata(t *testing.T) {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
	}
	want := corev1.PodTemplateSpec{ObjectMeta: template.ObjectMeta}
	trimmed, err := Trim(&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: template}})
	require.NoError(t, err)
	assert.Equal(t, want, trimmed.(*appsv1.ReplicaSet).Spec.Template)
	trimmed, err = Trim(&batchv1.Job{Spec: batchv1.JobSpec{Template: template}})
	require.NoError(t, err)
	assert.Equal(t, want, trimmed.(*batchv1.Job).Spec.Template)
	trimmed, err = Trim(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template}})
	require.NoError(t, err)
	assert.Equal(t, template, trimmed.(*appsv1.Deployment).Spec.Template, "it is compared")
}

func TestDataOfOtherRevisionsIsDropped(t *testing.T) {
	for apiVersion, kept := range map[string]bool{
		"apps/v1": false, "apps.kruise.io/v1beta1": true, "apps.kruise.io/v1alpha1": true, "example.com/v1": false,
		"notkruise.io/v1": false, "a/b/c": false,
	} {
		revision := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte("{}")}}
		revision.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: "StatefulSet", Name: "s", Controller: new(true)}}
		trimmed, err := Trim(revision)
		require.NoError(t, err)
		assert.Equal(t, kept, trimmed.(*appsv1.ControllerRevision).Data.Raw != nil, apiVersion)
	}
	adoptable, err := Trim(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte("{}")}})
	require.NoError(t, err)
	assert.NotNil(t, adoptable.(*appsv1.ControllerRevision).Data.Raw)
}
