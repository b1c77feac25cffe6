//go:build bench

package main

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// workload is one measured kind with its verbs.
type workload struct {
	kind                        string
	create, patch, list, remove verb
	// discover reads the resources of the kind's API group and version. The answer does not depend on any object, so its cost is that
	// of the path to the server.
	discover verb
	read     func(ctx context.Context, namespace, name string) (runtime.Object, error)
	// clear deletes all objects. watch watches them. Deployments need neither.
	clear func(ctx context.Context, namespace string) error
	watch func(ctx context.Context, namespace string, options metav1.ListOptions) (watch.Interface, error)
}

func (w workload) get(ctx context.Context, namespace, name string) error {
	_, err := w.read(ctx, namespace, name)
	return err
}

const imagePatch = `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"kruise.local/demo:v2"}]`

// template returns the Pod template of every object. An object with it is about 3 KiB of JSON in the server's answers.
func template(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"app": name},
			Annotations: map[string]string{"benchmark/filler": strings.Repeat("0123456789abcdef", 96)},
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

func cloneSet(name string) *v1beta1.CloneSet {
	return &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1beta1.CloneSetSpec{Replicas: ptr.To[int32](0), Selector: selector(name), Template: template(name)},
	}
}

func cloneSets(client versioned.Interface) workload {
	api := client.AppsV1beta1()
	return workload{
		kind: "CloneSet",
		create: func(ctx context.Context, namespace, name string) error {
			_, err := api.CloneSets(namespace).Create(ctx, cloneSet(name), metav1.CreateOptions{})
			return err
		},
		read: func(ctx context.Context, namespace, name string) (runtime.Object, error) {
			return api.CloneSets(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		patch: func(ctx context.Context, namespace, name string) error {
			_, err := api.CloneSets(namespace).Patch(ctx, name, types.JSONPatchType, []byte(imagePatch), metav1.PatchOptions{})
			return err
		},
		list: func(ctx context.Context, namespace, _ string) error {
			_, err := api.CloneSets(namespace).List(ctx, metav1.ListOptions{})
			return err
		},
		remove: func(ctx context.Context, namespace, name string) error {
			return api.CloneSets(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
		clear: func(ctx context.Context, namespace string) error {
			return api.CloneSets(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		watch: func(ctx context.Context, namespace string, options metav1.ListOptions) (watch.Interface, error) {
			return api.CloneSets(namespace).Watch(ctx, options)
		},
		discover: discovery(api.RESTClient(), v1beta1.SchemeGroupVersion),
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
		read: func(ctx context.Context, namespace, name string) (runtime.Object, error) {
			return api.Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		patch: func(ctx context.Context, namespace, name string) error {
			_, err := api.Deployments(namespace).Patch(ctx, name, types.JSONPatchType, []byte(imagePatch), metav1.PatchOptions{})
			return err
		},
		list: func(ctx context.Context, namespace, _ string) error {
			_, err := api.Deployments(namespace).List(ctx, metav1.ListOptions{})
			return err
		},
		remove: func(ctx context.Context, namespace, name string) error {
			return api.Deployments(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
		discover: discovery(api.RESTClient(), appsv1.SchemeGroupVersion),
	}
}

// discovery returns the verb that reads the resources of a group and version.
func discovery(client rest.Interface, version schema.GroupVersion) verb {
	return func(ctx context.Context, _, _ string) error {
		return client.Get().AbsPath("/apis", version.Group, version.Version).Do(ctx).Error()
	}
}
