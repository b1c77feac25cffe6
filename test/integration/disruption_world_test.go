//go:build integration

package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	appsv1beta1 "kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/podunavailablebudget"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workloadclient"
)

// budgeted is a namespace in which budgets are counted and enforced.
type budgeted struct {
	t         *testing.T
	namespace string
	kube      kubernetes.Interface
	// annotations are the annotations of new Pods.
	annotations map[string]string
}

// withBudgets runs the controller of budgets in a new namespace, with its service account, and installs the webhooks of the chart.
// Nothing of ours changes new Pods of the namespace, as its label says.
func withBudgets(t *testing.T) *budgeted {
	t.Helper()
	protected(t)
	asking := rest.CopyConfig(env.config)
	asking.QPS = -1
	asking.Wrap(asksOnce)
	client, err := kubernetes.NewForConfig(asking)
	require.NoError(t, err)
	namespace := newLabelledNamespace(t, map[string]string{pub.PodCreationKey: pub.PodCreationIgnored})
	b := &budgeted{t: t, namespace: namespace, kube: client}
	runController(t, b.namespace, func(deps controller.Deps) (*reconcile.Controller, error) {
		return podunavailablebudget.New(deps, podunavailablebudget.Options{Namespace: ownNamespace})
	})
	return b
}

// runController runs a controller in a namespace until the test ends, with its service account and the feature gates of the server.
func runController(t *testing.T, namespace string, construct func(controller.Deps) (*reconcile.Controller, error)) {
	t.Helper()
	runControllerWith(t, env.gate, namespace, construct)
}

// eventScheme returns a scheme with the kinds that events of controllers are about.
var eventScheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, policyv1beta1.AddToScheme, appsv1beta1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
})

// runControllerWith runs a controller with these feature gates.
func runControllerWith(t *testing.T, gate featuregate.FeatureGate, namespace string,
	construct func(controller.Deps) (*reconcile.Controller, error),
) {
	t.Helper()
	config := as(t, "kruise-manager")
	config.QPS, config.Burst = -1, -1
	kube, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	kruise, err := versioned.NewForConfig(config)
	require.NoError(t, err)
	dynamicClient, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
	caches := controller.NewCaches(kube, kruise, namespace, 0)
	deps := caches.For(controller.Deps{
		Kube: kube, Kruise: kruise, Dynamic: dynamicClient,
		Mapper: workloadclient.NewFreshMapper(restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kube.Discovery())), clock.RealClock{}),
		Recorder: func(component string) record.EventRecorder {
			return broadcaster.NewRecorder(eventScheme(), corev1.EventSource{Component: component})
		},
		Features: gate, Clock: clock.RealClock{}, ExpectationTimeout: 5 * time.Minute,
	})
	c, err := construct(deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	caches.Start(ctx, deps.Needs())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		c.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-stopped
		broadcaster.Shutdown()
	})
}

// pod creates a Pod that cannot be scheduled, and marks it as ready.
func (b *budgeted) pod(name string) (*corev1.Pod, error) {
	pods := b.kube.CoreV1().Pods(b.namespace)
	_, err := pods.Create(b.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}, Annotations: b.annotations},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"no": "such-node"}, Containers: []corev1.Container{{Name: "web", Image: "kruise.local/demo:v1"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return b.ready(name)
}

func (b *budgeted) ready(name string) (*corev1.Pod, error) {
	return b.kube.CoreV1().Pods(b.namespace).Patch(b.t.Context(), name, types.MergePatchType,
		[]byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
}

// budget creates ten Pods and a budget that allows three unavailable Pods, and waits until the controller has counted them.
func (b *budgeted) budget(pods int, unavailable int, edits ...func(*policyv1beta1.PodUnavailableBudget)) []string {
	b.t.Helper()
	names := make([]string, 0, pods)
	for i := range pods {
		names = append(names, fmt.Sprintf("p-%d", i))
		_, err := b.pod(names[i])
		require.NoError(b.t, err)
	}
	budget := &policyv1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec: policyv1beta1.PodUnavailableBudgetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			MaxUnavailable: new(intstr.FromInt(unavailable)), ProtectTotalReplicas: new(int32(pods)),
		},
	}
	for _, edit := range edits {
		edit(budget)
	}
	_, err := env.kruise.PolicyV1beta1().PodUnavailableBudgets(b.namespace).Create(b.t.Context(), budget, metav1.CreateOptions{})
	require.NoError(b.t, err)
	b.settled(func(s policyv1beta1.PodUnavailableBudgetStatus) bool {
		return s.CurrentAvailable == int32(pods) && s.UnavailableAllowed == int32(unavailable)
	})
	b.governed("b", pods)
	b.reviewed("b")
	return names
}

// reviewed waits until kube-apiserver has seen the label of a namespace with budgets. It then asks about evictions there, and about new
// Pods, which get the budget for the label app=web.
func (b *budgeted) reviewed(budget string) {
	b.t.Helper()
	eventually(b.t, func() bool {
		pod, err := b.make(newWebPod(), metav1.DryRunAll)
		return err == nil && pod.Annotations["kruise.io/related-pub"] == budget
	})
}

// governed waits until the given number of Pods is annotated with the budget.
func (b *budgeted) governed(budget string, pods int) {
	b.t.Helper()
	eventually(b.t, func() bool {
		list, err := b.kube.CoreV1().Pods(b.namespace).List(b.t.Context(), metav1.ListOptions{})
		count := 0
		for i := range list.Items {
			annotations := list.Items[i].Annotations
			if annotations["kruise.io/related-pub"] == budget && annotations["pub.kruise.io/related-pub"] == budget {
				count++
			}
		}
		return err == nil && count == pods
	})
}

func (b *budgeted) status() policyv1beta1.PodUnavailableBudgetStatus {
	b.t.Helper()
	budget, err := env.kruise.PolicyV1beta1().PodUnavailableBudgets(b.namespace).Get(b.t.Context(), "b", metav1.GetOptions{})
	require.NoError(b.t, err)
	return budget.Status
}

func (b *budgeted) settled(reached func(policyv1beta1.PodUnavailableBudgetStatus) bool) {
	b.t.Helper()
	eventually(b.t, func() bool { return reached(b.status()) })
}

func (b *budgeted) remove(name string, dryRun ...string) error {
	return b.kube.CoreV1().Pods(b.namespace).Delete(b.t.Context(), name, metav1.DeleteOptions{DryRun: dryRun})
}

func (b *budgeted) evict(name string) error {
	return b.kube.PolicyV1().Evictions(b.namespace).Evict(b.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace}})
}

func (b *budgeted) image(name, image string) error {
	_, err := b.kube.CoreV1().Pods(b.namespace).Patch(b.t.Context(), name, types.StrategicMergePatchType,
		[]byte(`{"spec":{"containers":[{"name":"web","image":"`+image+`"}]}}`), metav1.PatchOptions{})
	return err
}

// events returns the events with a reason about objects of a kind.
func (b *budgeted) events(kind, reason string) (messages []string) {
	b.t.Helper()
	list, err := b.kube.CoreV1().Events(b.namespace).List(b.t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	require.NoError(b.t, err)
	for i := range list.Items {
		if strings.EqualFold(list.Items[i].InvolvedObject.Kind, kind) {
			messages = append(messages, list.Items[i].Message)
		}
	}
	return messages
}
