//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/spread"
)

// spreadOver returns a WorkloadSpread web of a workload, with a list of subsets.
func spreadOver(apiVersion, kind, subsets string) string {
	return strings.NewReplacer("VERSION", apiVersion, "KIND", kind, "SUBSETS", subsets).Replace(`apiVersion: apps.kruise.io/v1alpha1
kind: WorkloadSpread
metadata: {name: web}
spec:
  targetRef: {apiVersion: VERSION, kind: KIND, name: web}
  subsets: SUBSETS
`)
}

// spreads applies a WorkloadSpread web, as spreadOver returns it, and waits until new Pods go to its subsets. The answer to the write waits
// for this too, but only some seconds, which can be too short on a busy machine.
func (e *env) spreads(apiVersion, kind, subsets string) {
	e.t.Helper()
	e.apply(spreadOver(apiVersion, kind, subsets))
	// A dry run takes no place in a subset, so it does not show the subset. Pods of another WorkloadSpread are created instead: it is written
	// later, so who knows it knows the first one too.
	e.apply(strings.Replace(spreadOver("batch/v1", "Job", `[{name: any}]`), "name: web", "name: probe", 2))
	pods := e.core.CoreV1().Pods(e.namespace)
	e.eventually("new Pods go to subsets", func(c *require.Assertions, ctx context.Context) {
		pod := podOf(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "probe", UID: "none"}})
		pod.GenerateName, pod.Labels = "probe-", map[string]string{"app": "probe"}
		created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		c.NoError(err)
		if err = pods.Delete(ctx, created.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); !apierrors.IsNotFound(err) {
			c.NoError(err)
		}
		matched, _ := spread.MatchedOf(created)
		c.Equal("any", matched.Subset)
	})
	e.kubectl("delete", "workloadspread", "probe")
}

// spreadable returns workload web of a kind with replicas.
func spreadable(apiVersion, kind, replicas string) string {
	return strings.NewReplacer("VERSION", apiVersion, "KIND", kind, "REPLICAS", replicas).Replace(`apiVersion: VERSION
kind: KIND
metadata: {name: web}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "kruise.local/demo:v1"}]
`)
}

// spread waits until the active Pods are in subsets as given, and the status says so with nothing pending.
func (e *env) spread(want map[string]int) (pods map[string][]corev1.Pod) {
	e.t.Helper()
	e.eventually("Pods are spread", func(c *require.Assertions, ctx context.Context) {
		object, err := e.kruise.AppsV1beta1().WorkloadSpreads(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		pods = map[string][]corev1.Pod{}
		counts := map[string]int{}
		for _, pod := range e.pods("web") {
			if podstate.Active(&pod) {
				matched, _ := spread.MatchedOf(&pod)
				pods[matched.Subset] = append(pods[matched.Subset], pod)
				counts[matched.Subset]++
			}
		}
		c.Equal(want, counts)
		c.Equal(object.Generation, object.Status.ObservedGeneration)
		for _, status := range object.Status.SubsetStatuses {
			c.EqualValues(want[status.Name], status.Replicas, status.Name)
			c.Empty(status.CreatingPods)
			c.Empty(status.DeletingPods)
		}
	})
	return pods
}

// running waits until all Pods are ready. Scale-in removes Pods that are not ready before it compares costs.
func (e *env) running(number int) {
	e.t.Helper()
	e.eventually("Pods are ready", func(c *require.Assertions, _ context.Context) {
		ready := 0
		for _, pod := range e.pods("web") {
			if podstate.Active(&pod) && podstate.Ready(&pod) {
				ready++
			}
		}
		c.Equal(number, ready)
	})
}

// Cases workloadspread 1, 2, 8, 9.
func TestPodsFillSubsetsAndLeaveThemInReverse(t *testing.T) {
	t.Parallel()
	for name, workload := range map[string][2]string{
		"CloneSet": {"apps.kruise.io/v1alpha1", "CloneSet"}, "Deployment": {"apps/v1", "Deployment"}, "ReplicaSet": {"apps/v1", "ReplicaSet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			version, kind := workload[0], workload[1]
			e.spreads(version, kind,
				`[{name: a, maxReplicas: 2, patch: {metadata: {labels: {tier: cheap}}}}, {name: b, maxReplicas: 2}, {name: c}]`)
			e.apply(spreadable(version, kind, "6"))
			pods := e.spread(map[string]int{"a": 2, "b": 2, "c": 2})
			require.Equal(t, "cheap", pods["a"][0].Labels["tier"])
			e.eventually("Pods of the first subset have its cost", func(c *require.Assertions, ctx context.Context) {
				pod, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, pods["a"][0].Name, metav1.GetOptions{})
				c.NoError(err)
				c.Equal("300", pod.Annotations[pub.PodDeletionCostKey])
			})
			e.kubectl("delete", "pod", pods["a"][0].Name, "--wait=false")
			e.spread(map[string]int{"a": 2, "b": 2, "c": 2})
			e.running(6)
			for _, step := range []struct {
				replicas string
				want     map[string]int
			}{
				{"5", map[string]int{"a": 2, "b": 2, "c": 1}}, {"3", map[string]int{"a": 2, "b": 1}}, {"1", map[string]int{"a": 1}},
				{"4", map[string]int{"a": 2, "b": 2}}, {"10", map[string]int{"a": 2, "b": 2, "c": 6}}, {"2", map[string]int{"a": 2}},
			} {
				e.apply(spreadable(version, kind, step.replicas))
				pods := e.spread(step.want)
				e.running(len(pods["a"]) + len(pods["b"]) + len(pods["c"]))
			}
		})
	}
}

// Case workloadspread 3.
func TestPercentagesFollowAScaleOut(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const version, kind = "apps.kruise.io/v1alpha1", "CloneSet"
	e.spreads(version, kind, `[{name: a, maxReplicas: 30%}, {name: b}]`)
	e.apply(spreadable(version, kind, "3"))
	e.spread(map[string]int{"a": 1, "b": 2})
	e.apply(spreadable(version, kind, "10"))
	e.spread(map[string]int{"a": 3, "b": 7})
}

// Case workloadspread 12.
func TestPodsOfAStatefulSetFillSubsetsByTheirNumbers(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.spreads("apps/v1", "StatefulSet", `[{name: a, maxReplicas: 2}, {name: b}]`)
	e.apply(stateful("apps/v1", "4", ""))
	pods := e.spread(map[string]int{"a": 2, "b": 2})
	names := []string{pods["a"][0].Name, pods["a"][1].Name}
	require.ElementsMatch(t, []string{"web-0", "web-1"}, names)
}

// Case workloadspread 10.
func TestPodsThatFindNoNodeMoveOn(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const version, kind = "apps.kruise.io/v1alpha1", "CloneSet"
	e.spreads(version, kind, `
  - name: a
    maxReplicas: 2
    requiredNodeSelectorTerm: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [nowhere]}]}
  - name: b
  scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: 3}}`)
	e.apply(spreadable(version, kind, "3"))
	e.spread(map[string]int{"b": 3})
}

// Clients create Pods of one Job at the same time, while the controller recounts. No controller runs the Job, so the Pods that the clients
// create are all its Pods. They fit on no node. A busy server may not answer the review of a Pod in time. kube-apiserver then creates the Pod
// without a subset, so this round does not count and is repeated. In every round, no subset has more Pods than its limit.
// Case workloadspread 8.
func TestConcurrentClientsNeverOverfillASubset(t *testing.T) {
	t.Parallel()
	const clients, limit, rounds, attempts = 64, 2, 4, 5
	e := newEnv(t)
	e.since(32, "Jobs that its own controller does not run")
	e.apply(`apiVersion: batch/v1
kind: Job
metadata: {name: web}
spec:
  managedBy: example.com/nobody
  parallelism: 64
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: "kruise.local/demo:v1"}]}
`)
	e.spreads("batch/v1", "Job", `[{name: a, maxReplicas: 2}, {name: b}]`)
	job, err := e.core.BatchV1().Jobs(e.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	config := rest.CopyConfig(e.config)
	config.QPS = -1
	core, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	pods := core.CoreV1().Pods(e.namespace)
	for round, attempt := 0, 1; round < rounds; {
		subsets := make([]string, clients)
		var group errgroup.Group
		for i := range clients {
			group.Go(func() error {
				pod := podOf(job)
				if i%2 == 0 {
					pod.GenerateName = "web-"
				} else {
					pod.Name = fmt.Sprintf("web-%d-%d-%d", round, attempt, i)
				}
				created, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
				if err == nil {
					matched, _ := spread.MatchedOf(created)
					subsets[i] = matched.Subset
				}
				return err
			})
		}
		require.NoError(t, group.Wait())
		counts := map[string]int{}
		for _, subset := range subsets {
			counts[subset]++
		}
		require.LessOrEqual(t, counts["a"], limit, "round %d", round)
		if lost := counts[""]; lost > 0 && attempt < attempts {
			t.Logf("round %d, attempt %d: %d Pods were created without a review", round, attempt, lost)
			attempt++
			e.deletePods(pods)
			e.free(limit)
			continue
		}
		require.Equal(t, map[string]int{"a": limit, "b": clients - limit}, counts, "round %d", round)
		if round%2 == 0 {
			e.spread(map[string]int{"a": limit, "b": clients - limit})
		}
		// The next round starts before the deletions are recounted.
		e.deletePods(pods)
		round, attempt = round+1, 1
	}
}

// deletePods deletes all Pods. kube-apiserver ends a request after a minute, in which a busy machine does not delete all, so it is repeated.
func (e *env) deletePods(pods corev1client.PodInterface) {
	e.t.Helper()
	e.eventually("the Pods are deleted", func(c *require.Assertions, ctx context.Context) {
		c.NoError(pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	})
}

// free waits until the first subset has all its places again. The place of a Pod whose review nobody waited for is free after a while.
func (e *env) free(limit int32) {
	e.t.Helper()
	e.eventually("the first subset is free", func(c *require.Assertions, ctx context.Context) {
		object, err := e.kruise.AppsV1beta1().WorkloadSpreads(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		c.NotEmpty(object.Status.SubsetStatuses)
		first := object.Status.SubsetStatuses[0]
		c.Zero(first.Replicas)
		c.Equal(limit, first.MissingReplicas)
		c.Empty(first.CreatingPods)
		c.Empty(first.DeletingPods)
	})
}

// podOf returns a Pod without a name that a Job controls, and that fits on no node.
func podOf(job *batchv1.Job) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"no": "such-node"}, Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:v1"}},
		},
	}
}
