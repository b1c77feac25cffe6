//go:build integration

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/workload/nodefit"
)

const (
	// playedScheduler is the scheduler of Pods that kubelets binds. playedLabel is a label of the nodes that it plays, and a taint
	// that keeps other Pods off them.
	playedScheduler = "played"
	playedLabel     = "played"
	// brokenImage is the image of Pods that never become ready.
	brokenImage = "kruise.local/demo:broken"
)

// playedNodes creates nodes without a kubelet, whose names no other test uses. They stay ready until the test ends.
func playedNodes(t *testing.T, names ...string) {
	t.Helper()
	nodes, leases := env.kube.CoreV1().Nodes(), env.kube.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.Now()
	for _, name := range names {
		_, err := nodes.Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{playedLabel: "true"}},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: playedLabel, Effect: corev1.TaintEffectNoSchedule}}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: now, LastTransitionTime: now,
			}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = leases.Create(t.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: new(name), LeaseDurationSeconds: ptr.To[int32](40), RenewTime: new(metav1.NowMicro()),
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go renew(ctx, name)
		t.Cleanup(func() {
			cancel()
			_ = nodes.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
			_ = leases.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
		})
	}
	eventually(t, func() bool { // kube-controller-manager has seen that they are ready
		list, err := nodes.List(t.Context(), metav1.ListOptions{LabelSelector: playedLabel})
		return err == nil && !slices.ContainsFunc(list.Items, func(node corev1.Node) bool {
			return slices.Contains(names, node.Name) && len(node.Spec.Taints) != 1
		})
	})
}

// renew renews the lease of a node, as its kubelet does.
func renew(ctx context.Context, node string) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
		_, _ = env.kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).
			Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	}, 10*time.Second)
}

// kubelets plays the scheduler and the kubelets for the Pods of a namespace: it binds Pods, reports them as running and ready, and
// ends their deletion.
type kubelets struct {
	namespace string
	nodes     []string
	pods      corelisters.PodNamespaceLister

	lock sync.Mutex
	// sick are the Pods that are not ready, each by its name or by its name and its image. stopped are the nodes whose kubelet does
	// nothing.
	sick, stopped map[string]bool
}

// play starts the kubelets of a namespace, which run until the test ends. Pods that ask for no node get one of the nodes.
func play(t *testing.T, namespace string, nodes ...string) *kubelets {
	t.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(env.kube, 0, informers.WithNamespace(namespace))
	k := &kubelets{
		namespace: namespace, nodes: nodes, sick: map[string]bool{}, stopped: map[string]bool{},
		pods: factory.Core().V1().Pods().Lister().Pods(namespace),
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { wait.UntilWithContext(ctx, k.act, 25*time.Millisecond) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	})
	return k
}

// ail makes Pods not ready. heal makes them ready again.
func (k *kubelets) ail(pods ...string)  { k.mark(k.sick, true, pods) }
func (k *kubelets) heal(pods ...string) { k.mark(k.sick, false, pods) }

// stop stops the kubelets of nodes. start starts them again.
func (k *kubelets) stop(nodes ...string)  { k.mark(k.stopped, true, nodes) }
func (k *kubelets) start(nodes ...string) { k.mark(k.stopped, false, nodes) }

func (k *kubelets) mark(marked map[string]bool, as bool, names []string) {
	k.lock.Lock()
	defer k.lock.Unlock()
	for _, name := range names {
		marked[name] = as
	}
}

// act does one step for each Pod. What fails, because the cache is behind, is repeated.
func (k *kubelets) act(ctx context.Context) {
	pods, err := k.pods.List(labels.Everything())
	if err != nil {
		return
	}
	for _, pod := range pods {
		k.lock.Lock()
		image := pod.Spec.Containers[0].Image
		sick, stopped := k.sick[pod.Name] || k.sick[pod.Name+" "+image] || image == brokenImage, k.stopped[pod.Spec.NodeName]
		k.lock.Unlock()
		switch {
		case pod.Spec.NodeName == "":
			k.bind(ctx, pod)
		case stopped:
		case pod.DeletionTimestamp != nil:
			_ = env.kube.CoreV1().Pods(k.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
				GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
			})
		case pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning:
			k.report(ctx, pod, !sick)
		}
	}
}

// bind binds a Pod to the node that it asks for, or to one of the nodes whose kubelet runs.
func (k *kubelets) bind(ctx context.Context, pod *corev1.Pod) {
	node := nodefit.NodeOf(pod)
	if node == "" {
		k.lock.Lock()
		i := slices.IndexFunc(k.nodes, func(name string) bool { return !k.stopped[name] })
		k.lock.Unlock()
		node = k.nodes[i]
	}
	_ = env.kube.CoreV1().Pods(k.namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
}

// report writes the status of a running Pod. A Pod is ready when its containers and its readiness gates are.
func (k *kubelets) report(ctx context.Context, pod *corev1.Pod, containers bool) {
	ready := containers
	for _, gate := range pod.Spec.ReadinessGates {
		ready = ready && isTrue(pod, gate.ConditionType)
	}
	if pod.Status.Phase == corev1.PodRunning && isTrue(pod, corev1.ContainersReady) == containers && isTrue(pod, corev1.PodReady) == ready {
		return
	}
	condition := func(name corev1.PodConditionType, is bool) string {
		status := corev1.ConditionFalse
		if is {
			status = corev1.ConditionTrue
		}
		return fmt.Sprintf(`{"type":%q,"status":%q,"lastTransitionTime":%q}`, name, status, time.Now().UTC().Format(time.RFC3339))
	}
	var conditions []string
	if !isTrue(pod, corev1.PodInitialized) {
		conditions = append(conditions, condition(corev1.PodInitialized, true))
	}
	if isTrue(pod, corev1.ContainersReady) != containers {
		conditions = append(conditions, condition(corev1.ContainersReady, containers))
	}
	if isTrue(pod, corev1.PodReady) != ready {
		conditions = append(conditions, condition(corev1.PodReady, ready))
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"phase":"Running","conditions":[%s]}}`, pod.UID, strings.Join(conditions, ","))
	_, _ = env.kube.CoreV1().Pods(k.namespace).
		Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
}

func isTrue(pod *corev1.Pod, name corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == name && c.Status == corev1.ConditionTrue
	})
}
