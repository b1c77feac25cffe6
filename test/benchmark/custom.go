//go:build bench

package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

const (
	customGroup, customPlural, customKind = "benchmark.example.com", "customsets", "CustomSet"
	customName                            = customPlural + "." + customGroup
)

var customVersion = schema.GroupVersion{Group: customGroup, Version: "v1beta1"}

// custom is a CustomResourceDefinition with the schema of a CloneSet, and its webhooks.
type custom struct {
	core        kubernetes.Interface
	definitions dynamic.ResourceInterface
	objects     dynamic.NamespaceableResourceInterface
	client      dynamic.Interface
	url         string
	bundle      []byte
	webhooks    *http.Server
	// calls counts the calls to the webhooks.
	calls atomic.Int64
}

// newCustom creates the CustomResourceDefinition and waits until objects can be created.
func newCustom(ctx context.Context, config *rest.Config) (*custom, error) {
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	clients, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	extensions := schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}
	c := &custom{
		core:        core,
		definitions: clients.Resource(extensions.WithResource("customresourcedefinitions")),
		client:      clients,
		objects:     clients.Resource(customVersion.WithResource(customPlural)),
	}
	if _, err := c.definitions.Create(ctx, definition(customVersion), metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create the CustomResourceDefinition: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := c.objects.List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil, nil
	})
	if err != nil {
		c.remove(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("wait until %s is served: %w", customName, err)
	}
	return c, nil
}

func definition(version schema.GroupVersion) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": customName},
		"spec": map[string]any{
			"group": version.Group,
			"scope": "Namespaced",
			"names": map[string]any{"plural": customPlural, "kind": customKind},
			"versions": []any{map[string]any{
				"name": version.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema":       map[string]any{"openAPIV3Schema": structural(v1beta1.CloneSet{}.OpenAPIModelName())},
			}},
		},
	}}
}

// remove deletes the CustomResourceDefinition and the webhook configurations.
func (c *custom) remove(ctx context.Context) {
	api := c.core.AdmissionregistrationV1()
	_ = api.MutatingWebhookConfigurations().Delete(ctx, customName, metav1.DeleteOptions{})
	_ = api.ValidatingWebhookConfigurations().Delete(ctx, customName, metav1.DeleteOptions{})
	_ = c.definitions.Delete(ctx, customName, metav1.DeleteOptions{})
	if c.webhooks != nil {
		_ = c.webhooks.Close()
	}
}

// customSets returns the custom resource's workload. Its client uses JSON, because custom resources have no other encoding. It
// decodes into the type that a CloneSet client uses.
func customSets(client dynamic.Interface) workload {
	objects := client.Resource(customVersion.WithResource(customPlural))
	typed := func(object *unstructured.Unstructured, err error) (*v1beta1.CloneSet, error) {
		if err != nil {
			return nil, err
		}
		set := &v1beta1.CloneSet{}
		return set, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, set)
	}
	return workload{
		kind: customKind,
		create: func(ctx context.Context, namespace, name string) error {
			object, err := customSet(name)
			if err != nil {
				return err
			}
			_, err = typed(objects.Namespace(namespace).Create(ctx, object, metav1.CreateOptions{}))
			return err
		},
		read: func(ctx context.Context, namespace, name string) (runtime.Object, error) {
			return typed(objects.Namespace(namespace).Get(ctx, name, metav1.GetOptions{}))
		},
		patch: func(ctx context.Context, namespace, name string) error {
			_, err := typed(objects.Namespace(namespace).Patch(ctx, name, types.JSONPatchType, []byte(imagePatch), metav1.PatchOptions{}))
			return err
		},
		list: func(ctx context.Context, namespace, _ string) error {
			list, err := objects.Namespace(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			return list.EachListItem(func(object runtime.Object) error {
				_, err := typed(object.(*unstructured.Unstructured), nil)
				return err
			})
		},
		remove: func(ctx context.Context, namespace, name string) error {
			return objects.Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
		clear: func(ctx context.Context, namespace string) error {
			return objects.Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		watch: func(ctx context.Context, namespace string, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Namespace(namespace).Watch(ctx, options)
		},
	}
}

func customSet(name string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cloneSet(name))
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetAPIVersion(customGroup + "/v1beta1")
	object.SetKind(customKind)
	return object, nil
}
