package controller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

// A Pod without a controller triggers exactly the objects that select it, both when the Pod is created and when its controller
// releases it.
func TestPodsWithoutAControllerAreSeenByWhatSelectsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		selecting := func(name, app string) *appsv1.ReplicaSet {
			return &appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
				Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
			}
		}
		pod := func(name string, owners ...metav1.OwnerReference) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: name, Labels: map[string]string{"app": "web", "x": "y"}, OwnerReferences: owners,
			}}
		}
		client := fake.NewClientset(selecting("web", "web"), selecting("db", "db"))
		deps, caches := newDeps(client)
		sets, pods := deps.KubeInformers.Apps().V1().ReplicaSets(), deps.KubeInformers.Core().V1().Pods()
		var orphans func() []string
		seen := map[string][]string{}
		of := controller.For(deps, "test", sets, func(_ context.Context, set *appsv1.ReplicaSet) (reconcile.Result, error) {
			seen[set.Name] = orphans()
			return reconcile.Result{}, nil
		})
		list := of.Adopts(sets, pods, func(set *appsv1.ReplicaSet) *metav1.LabelSelector { return set.Spec.Selector })
		orphans = func() (names []string) {
			found, err := list("ns", selectorindex.Parse(selecting("web", "web").Spec.Selector))
			require.NoError(t, err)
			for _, pod := range found {
				names = append(names, pod.Name)
			}
			return names
		}
		c, err := of.Build()
		require.NoError(t, err)
		stop := run(t, caches, deps.Needs(), c)
		defer stop()
		<-time.After(time.Second)
		after := func(write func(context.Context, *corev1.Pod) error, pod *corev1.Pod) {
			synctest.Wait()
			clear(seen)
			require.NoError(t, write(t.Context(), pod))
			<-time.After(time.Second)
			synctest.Wait()
		}
		create := func(ctx context.Context, pod *corev1.Pod) error {
			_, err := client.CoreV1().Pods("ns").Create(ctx, pod, metav1.CreateOptions{})
			return err
		}
		update := func(ctx context.Context, pod *corev1.Pod) error {
			_, err := client.CoreV1().Pods("ns").Update(ctx, pod, metav1.UpdateOptions{})
			return err
		}

		owned := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "c", Controller: new(true)}
		after(create, pod("held", owned))
		assert.Empty(t, seen, "it has a controller")
		after(update, pod("held"))
		assert.Equal(t, map[string][]string{"web": {"held"}}, seen)
		after(update, pod("held", owned))
		assert.Empty(t, orphans())
	})
}
