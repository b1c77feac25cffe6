//go:build bench

package main

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// workload is one kind under measurement, verb by verb.
type workload struct {
	kind   string
	create func(ctx context.Context, namespace, name string) error
	get    func(ctx context.Context, namespace, name string) error
	patch  func(ctx context.Context, namespace, name string) error
	list   func(ctx context.Context, namespace, _ string) error
	remove func(ctx context.Context, namespace, name string) error
}

const imagePatch = `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"kruise.local/demo:v2"}]}}}}`

// template is the Pod template of every object: about 1.9 KB as JSON.
func template(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"app": name},
			Annotations: map[string]string{"benchmark/filler": strings.Repeat("0123456789abcdef", 64)},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "kruise.local/demo:v1",
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
			}},
		}}},
	}
}

func selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func cloneSets(client versioned.Interface) workload {
	api := client.AppsV1beta1()
	return workload{
		kind: "CloneSet",
		create: func(ctx context.Context, namespace, name string) error {
			_, err := api.CloneSets(namespace).Create(ctx, &v1beta1.CloneSet{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       v1beta1.CloneSetSpec{Replicas: ptr.To[int32](0), Selector: selector(name), Template: template(name)},
			}, metav1.CreateOptions{})
			return err
		},
		get: func(ctx context.Context, namespace, name string) error {
			_, err := api.CloneSets(namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		},
		patch: func(ctx context.Context, namespace, name string) error {
			_, err := api.CloneSets(namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(imagePatch), metav1.PatchOptions{})
			return err
		},
		list: func(ctx context.Context, namespace, _ string) error {
			_, err := api.CloneSets(namespace).List(ctx, metav1.ListOptions{})
			return err
		},
		remove: func(ctx context.Context, namespace, name string) error {
			return api.CloneSets(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
	}
}

func deployments(client kubernetes.Interface) workload {
	api := client.AppsV1()
	return workload{
		kind: "Deployment",
		create: func(ctx context.Context, namespace, name string) error {
			_, err := api.Deployments(namespace).Create(ctx, &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](0), Selector: selector(name), Template: template(name)},
			}, metav1.CreateOptions{})
			return err
		},
		get: func(ctx context.Context, namespace, name string) error {
			_, err := api.Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		},
		patch: func(ctx context.Context, namespace, name string) error {
			_, err := api.Deployments(namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(imagePatch), metav1.PatchOptions{})
			return err
		},
		list: func(ctx context.Context, namespace, _ string) error {
			_, err := api.Deployments(namespace).List(ctx, metav1.ListOptions{})
			return err
		},
		remove: func(ctx context.Context, namespace, name string) error {
			return api.Deployments(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
	}
}
