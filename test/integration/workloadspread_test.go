//go:build integration

package integration

import (
	"cmp"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/workloadspread"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/spread"
)

// spreadOfJob returns a WorkloadSpread of a Job.
func spreadOfJob(name, job string, subsets ...v1beta1.WorkloadSpreadSubset) *v1beta1.WorkloadSpread {
	return &v1beta1.WorkloadSpread{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.WorkloadSpreadSpec{
		TargetRef: &v1beta1.TargetReference{APIVersion: "batch/v1", Kind: "Job", Name: job}, Subsets: subsets,
	}}
}

// Of two WorkloadSpreads of one workload that are created at the same time, one is refused.
// Case workloadspread 5.
func TestWorkloadHasOneWorkloadSpread(t *testing.T) {
	t.Parallel()
	spreads := env.kruise.AppsV1beta1().WorkloadSpreads(newNamespace(t))
	for i := range 20 {
		var errs [2]error
		var clients sync.WaitGroup
		for side := range errs {
			clients.Go(func() {
				object := spreadOfJob(fmt.Sprintf("%d-%d", i, side), fmt.Sprint("job-", i), v1beta1.WorkloadSpreadSubset{Name: "a"})
				_, errs[side] = spreads.Create(t.Context(), object, metav1.CreateOptions{})
			})
		}
		clients.Wait()
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
		require.ErrorContains(t, cmp.Or(errs[0], errs[1]), "already has this target")
	}
}

// Case pod-admission 13.
func TestRefusedEvictionReturnsNoSlot(t *testing.T) {
	b := creating(t, env.kruise)
	asking := rest.CopyConfig(env.config)
	asking.Wrap(asksOnce)
	var err error
	b.kube, err = kubernetes.NewForConfig(asking)
	require.NoError(t, err)
	job := b.job()
	spreads := env.kruise.AppsV1beta1().WorkloadSpreads(b.namespace)
	_, err = spreads.Create(t.Context(), spreadOfJob("web", "web",
		v1beta1.WorkloadSpreadSubset{Name: "a", MaxReplicas: new(intstr.FromInt32(2))}, v1beta1.WorkloadSpreadSubset{Name: "b"},
	), metav1.CreateOptions{})
	require.NoError(t, err)
	pod, err := b.make(newWebPod(ofJob(job, "web-0")))
	require.NoError(t, err)
	_, err = b.ready(pod.Name)
	require.NoError(t, err)
	returned := func() int {
		object, err := spreads.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.Len(t, object.Status.SubsetStatuses, 2)
		return len(object.Status.SubsetStatuses[0].DeletingPods)
	}
	require.Error(t, b.evict(pod.Name))
	require.Error(t, b.remove(pod.Name))
	require.Zero(t, returned())
	require.NoError(t, env.kruise.PolicyV1beta1().PodUnavailableBudgets(b.namespace).Delete(t.Context(), "b", metav1.DeleteOptions{}))
	eventually(t, func() bool { return b.evict(pod.Name) == nil })
	require.Equal(t, 1, returned())
}

// job creates a Job that no controller runs. Kubernetes before 1.32 runs every Job.
func (b *budgeted) job() *batchv1.Job {
	b.t.Helper()
	job, err := b.kube.BatchV1().Jobs(b.namespace).Create(b.t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: batchv1.JobSpec{
			ManagedBy: new("example.com/nobody"),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "web", Image: "kruise.local/demo:v1"}},
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(b.t, err)
	if job.Spec.ManagedBy == nil {
		b.t.Skip("this version of Kubernetes does not leave a Job to another controller")
	}
	return job
}

// ofJob makes the Job the controller of a Pod, and names the Pod. The name may be empty.
func ofJob(job *batchv1.Job, name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Name, pod.OwnerReferences = name, []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	}
}

// Only the controller may read the workload. Half of its four main Pods go to the first subset.
// Case workloadspread 24.
func TestPodsOfACustomWorkloadAreSpread(t *testing.T) {
	b := creating(t, env.kruise)
	plural := b.games("kruise-manager")
	configure(t, map[string]string{pub.WorkloadSpreadWorkloadsKey: `{"workloads":[{"group":"example.com","version":"v1","kind":"Game` + plural +
		`","replicasPath":"spec.replicas"}]}`})
	runController(t, b.namespace, func(deps controller.Deps) (*reconcile.Controller, error) {
		return workloadspread.New(deps, workloadspread.Options{Namespace: ownNamespace})
	})
	b.apply("apiVersion: example.com/v1\nkind: Game" + plural + "\nmetadata: {name: chess}\nspec: {replicas: 9, roles: {main: {replicas: 4}}}\n")
	uid := mustKubectl(t, "--namespace", b.namespace, "get", plural, "chess", "--output=jsonpath={.metadata.uid}")
	spreads := env.kruise.AppsV1beta1().WorkloadSpreads(b.namespace)
	_, err := spreads.Create(t.Context(), &v1beta1.WorkloadSpread{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1beta1.WorkloadSpreadSpec{
		TargetRef: &v1beta1.TargetReference{APIVersion: "example.com/v1", Kind: "Game" + plural, Name: "chess"},
		TargetFilter: &v1beta1.TargetFilter{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "main"}}, ReplicasPathList: []string{"spec.roles.main.replicas"},
		},
		Subsets: []v1beta1.WorkloadSpreadSubset{{Name: "a", MaxReplicas: new(intstr.FromString("50%"))}, {Name: "b"}},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	status := func(replicas, missing int32) {
		t.Helper()
		eventually(t, func() bool {
			object, err := spreads.Get(t.Context(), "web", metav1.GetOptions{})
			require.NoError(t, err)
			all := object.Status.SubsetStatuses
			return len(all) == 2 && all[0].Replicas == replicas && all[0].MissingReplicas == missing
		})
	}
	status(0, 2)
	var subsets []string
	for _, role := range []string{"main", "other", "main", "main"} {
		pod, err := b.make(newWebPod(func(pod *corev1.Pod) {
			pod.Labels["role"] = role
			pod.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "example.com/v1", Kind: "Game" + plural, Name: "chess", UID: types.UID(uid), Controller: new(true),
			}}
		}))
		require.NoError(t, err)
		matched, _ := spread.MatchedOf(pod)
		subsets = append(subsets, matched.Subset)
	}
	require.Equal(t, []string{"a", "", "a", "b"}, subsets)
	status(2, 0)
}

// Clients create and delete Pods of one Job through two apiservers on one etcd, while the controller recounts. No controller runs the
// Job, so the Pods that the clients create are all its Pods. A busy server may not answer the review of a Pod in time. kube-apiserver then
// creates the Pod without a subset, so this round does not count and is repeated. In every round, no subset has more Pods than its limit.
// Case workloadspread 8.
func TestSubsetIsNotOverfilledThroughTwoServers(t *testing.T) {
	const creators, limit, rounds, attempts = 64, 2, 4, 5
	twoServers(t)
	protected(t)
	b := &budgeted{t: t, namespace: newNamespace(t), kube: env.kube}
	job := b.job()
	spreads := env.kruise.AppsV1beta1().WorkloadSpreads(b.namespace)
	_, err := spreads.Create(t.Context(), spreadOfJob("web", "web",
		v1beta1.WorkloadSpreadSubset{Name: "a", MaxReplicas: new(intstr.FromInt32(limit))}, v1beta1.WorkloadSpreadSubset{Name: "b"},
	), metav1.CreateOptions{})
	require.NoError(t, err)
	runController(t, b.namespace, func(deps controller.Deps) (*reconcile.Controller, error) {
		return workloadspread.New(deps, workloadspread.Options{Namespace: ownNamespace})
	})
	// subset creates a Pod, and returns its subset.
	subset := func(kube kubernetes.Interface, name string) string {
		pod, err := kube.CoreV1().Pods(b.namespace).Create(t.Context(), newWebPod(ofJob(job, name)), metav1.CreateOptions{})
		assert.NoError(t, err)
		matched, _ := spread.MatchedOf(pod)
		return matched.Subset
	}
	clear := func() {
		require.NoError(t, b.kube.CoreV1().Pods(b.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	eventually(t, func() bool { return subset(b.kube, "") == "a" }) // both servers and kube-apiserver know the WorkloadSpread
	clear()
	var last *v1beta1.WorkloadSpread
	defer func() {
		if t.Failed() && last != nil {
			t.Logf("%+v", last.Status)
		}
	}()
	// free waits until the first subset has all its places again. The place of a Pod whose review nobody waited for is free after a while.
	free := func() {
		eventually(t, func() bool {
			object, err := spreads.Get(t.Context(), "web", metav1.GetOptions{})
			require.NoError(t, err)
			last = object
			status := object.Status.SubsetStatuses
			return status[0].Replicas == 0 && status[0].MissingReplicas == limit && len(status[0].CreatingPods)+len(status[0].DeletingPods) == 0
		})
	}
	for round, attempt := 0, 1; round < rounds; {
		subsets := make([]string, creators)
		var clients sync.WaitGroup
		for i := range creators {
			config := rest.CopyConfig(env.config)
			config.QPS = -1
			kube, err := kubernetes.NewForConfig(config)
			require.NoError(t, err)
			name := ""
			if i%2 == 0 {
				name = fmt.Sprintf("web-%d-%d-%d", round, attempt, i)
			}
			clients.Go(func() { subsets[i] = subset(kube, name) })
		}
		clients.Wait()
		counts := map[string]int{}
		for _, name := range subsets {
			counts[name]++
		}
		require.LessOrEqual(t, counts["a"], limit, "round %d", round)
		if lost := counts[""]; lost > 0 && attempt < attempts {
			t.Logf("round %d, attempt %d: %d Pods were created without a review", round, attempt, lost)
			attempt++
			clear()
			free()
			continue
		}
		require.Equal(t, map[string]int{"a": limit, "b": creators - limit}, counts, "round %d", round)
		clear()
		round, attempt = round+1, 1
	}
	free()
}
