package controller_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/controller"
)

// greeter is a whole controller: it gives each ConfigMap a greeting.
type greeter struct {
	client  kubernetes.Interface
	lister  corelisters.ConfigMapLister
	greeted chan string
}

// newGreeter makes it. A real one takes controller.Deps.
func newGreeter(client kubernetes.Interface, factory informers.SharedInformerFactory, greeted chan string) (*controller.Controller, error) {
	configMaps := factory.Core().V1().ConfigMaps()
	g := &greeter{client: client, lister: configMaps.Lister(), greeted: greeted}
	c := controller.New("greeter", controller.Options{Workers: 1}, g.reconcile)
	return c, c.Watch(configMaps.Informer(), controller.Self)
}

// reconcile reads the cache, decides in a pure function, and writes once.
func (g *greeter) reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	configMap, err := g.lister.ConfigMaps(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, fmt.Errorf("get ConfigMap: %w", err)
	}
	wanted := greet(configMap)
	if wanted == nil {
		return controller.Result{}, nil
	}
	klog.FromContext(ctx).V(2).Info("Greeting")
	if _, err := g.client.CoreV1().ConfigMaps(key.Namespace).Update(ctx, wanted, metav1.UpdateOptions{}); err != nil {
		return controller.Result{}, fmt.Errorf("update ConfigMap: %w", err)
	}
	g.greeted <- key.String()
	return controller.Result{}, nil
}

// greet returns what the ConfigMap should be, or nil when it already is.
func greet(configMap *corev1.ConfigMap) *corev1.ConfigMap {
	greeting := "hello " + configMap.Name
	if configMap.Data["greeting"] == greeting {
		return nil
	}
	wanted := configMap.DeepCopy()
	if wanted.Data == nil {
		wanted.Data = map[string]string{}
	}
	wanted.Data["greeting"] = greeting
	return wanted
}

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "world"}})
	factory := informers.NewSharedInformerFactory(client, 0)
	greeted := make(chan string, 1)
	c, err := newGreeter(client, factory, greeted)
	if err != nil {
		fmt.Println(err)
		return
	}
	factory.Start(ctx.Done())
	stopped := make(chan error)
	go func() { stopped <- c.Run(ctx) }()
	fmt.Println("greeted", <-greeted)
	cancel()
	fmt.Println("stopped", <-stopped)
	// Output:
	// greeted ns/world
	// stopped <nil>
}
