package controller_test

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/reconcile"
)

var (
	secretResource = corev1.SchemeGroupVersion.WithResource("secrets")
	configMapKind  = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

// greeter is a complete controller: it gives each ConfigMap a Secret with a greeting.
type greeter struct {
	client  kubernetes.Interface
	secrets cache.Indexer
	guard   *consistency.Guard
	greeted chan string
}

// newGreeter constructs the controller. If a feature gate can switch the controller off, the gate is a column of the table in
// cmd/controller/app. If the controller had options of its own, they would be a second argument.
func newGreeter(deps controller.Deps, greeted chan string) (*reconcile.Controller, error) {
	core := deps.KubeInformers.Core().V1()
	g := &greeter{client: deps.Kube, greeted: greeted}
	c := controller.For(deps, "greeter", core.ConfigMaps(), g.reconcile)
	g.guard, g.secrets = c.Guard(), c.Owns(secretResource, core.Secrets())
	return c.Build()
}

// reconcile reads the cache, decides in a pure function, and writes once. The skeleton calls it only when the caches show its
// earlier writes. A kind with a status would be written with UpdateStatus.
func (g *greeter) reconcile(ctx context.Context, configMap *corev1.ConfigMap) (reconcile.Result, error) {
	owned, err := controller.ByOwner[*corev1.Secret](g.secrets, configMap)
	if err != nil {
		return reconcile.Result{}, err
	}
	wanted := greet(configMap, owned)
	if wanted == nil {
		return reconcile.Result{}, nil
	}
	klog.FromContext(ctx).V(2).Info("Greeting")
	created, err := g.client.CoreV1().Secrets(configMap.Namespace).Create(ctx, wanted, metav1.CreateOptions{})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("create Secret: %w", err)
	}
	g.guard.Wrote(configMap.UID, secretResource.GroupResource(), created.ResourceVersion)
	g.greeted <- created.Namespace + "/" + created.Name
	return reconcile.Result{}, nil
}

// greet returns the Secret that the ConfigMap lacks, or nil.
func greet(configMap *corev1.ConfigMap, owned []*corev1.Secret) *corev1.Secret {
	if len(owned) > 0 {
		return nil
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: configMap.Namespace, Name: "hello-" + configMap.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(configMap, configMapKind)},
		},
	}
}

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "world", UID: "1"}})
	greeted := make(chan string, 1)

	// The program does the following with each controller.
	caches := controller.NewCaches(client, kruisefake.NewClientset(), "", 0)
	deps := caches.For(controller.Deps{Kube: client, Clock: clock.RealClock{}, Options: reconcile.Options{Workers: 1}})
	c, err := newGreeter(deps, greeted)
	if err != nil {
		fmt.Println(err)
		return
	}
	caches.Start(ctx, deps.Needs())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	fmt.Println("greeted by", <-greeted)
	cancel()
	running.Wait()
	caches.Wait()
	// Output:
	// greeted by ns/hello-world
}
