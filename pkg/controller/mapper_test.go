package controller_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/controller"
)

func TestOwnerOf(t *testing.T) {
	mapper := controller.OwnerOf(schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"})
	owned := func(apiVersion, kind string, controls bool) metav1.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: apiVersion, Kind: kind, Name: "a", Controller: &controls},
		}}}
	}
	tests := map[string]struct {
		object metav1.Object
		want   []types.NamespacedName
	}{
		"its controller":                    {owned("apps.kruise.io/v1beta1", "CloneSet", true), []types.NamespacedName{key}},
		"its controller in another version": {owned("apps.kruise.io/v1alpha1", "CloneSet", true), []types.NamespacedName{key}},
		"another group":                     {owned("apps/v1", "CloneSet", true), nil},
		"another kind":                      {owned("apps.kruise.io/v1beta1", "StatefulSet", true), nil},
		"an owner that does not control":    {owned("apps.kruise.io/v1beta1", "CloneSet", false), nil},
		"nobody":                            {&corev1.Pod{}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, mapper(tc.object)) })
	}
}

func TestClusterOwnerHasNoNamespace(t *testing.T) {
	mapper := controller.ClusterOwnerOf(schema.GroupKind{Group: "apps.kruise.io", Kind: "SidecarSet"})
	owned := func(kind string) metav1.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps.kruise.io/v1beta1", Kind: kind, Name: "x", Controller: new(true)},
		}}}
	}
	assert.Equal(t, []types.NamespacedName{{Name: "x"}}, mapper(owned("SidecarSet")))
	assert.Empty(t, mapper(owned("CloneSet")))
}
