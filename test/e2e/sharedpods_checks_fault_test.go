//go:build e2e && fault

package e2e

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// sharedPods is the number of Pods of each app that the users want. The DaemonSet has one on each simulated node.
var sharedPods = map[string]int32{"clones": 4, "spread": 5, "states": 4, "united": 6, "plain": 3}

// settled waits until everything is as the users want it.
func (u *sharedUsers) settled() {
	u.t.Helper()
	u.ready("clones", sharedPods["clones"])
	u.ready("spread", sharedPods["spread"])
	u.statesSettled()
	u.united("united", map[string]int32{"a": 2, "b": 4}, allReady(sharedPods["united"]))
	nodes, err := u.core.CoreV1().Nodes().List(u.t.Context(), metav1.ListOptions{LabelSelector: "type=kwok"})
	require.NoError(u.t, err)
	u.daemonReady("daemons", int32(len(nodes.Items)))
	u.broadcast("broadcast", "runs on each simulated node", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
		count, status := int32(len(nodes.Items)), job.Status
		c.Equal(v1beta1.BroadcastJobRunning, status.Phase)
		c.Equal([]int32{count, count, 0}, []int32{status.Desired, status.Active, status.Succeeded})
	})
	u.podsSettled(len(nodes.Items))
	u.claimsSettled()
	u.pullsSettled()
	u.probesSettled()
	u.sidecarsSettled()
	u.budgetSettled("clones", sharedPods["clones"])
	u.budgetSettled("plain", sharedPods["plain"])
	u.spreadSettled()
	u.recorded("states", "states-0", "states-2", "states-3", "states-4")
	u.eventually("the copy of the ConfigMap", func(c *require.Assertions, ctx context.Context) {
		settings, err := u.core.CoreV1().ConfigMaps(u.namespace).Get(ctx, "settings", metav1.GetOptions{})
		c.NoError(err)
		c.Equal(map[string]string{"level": "high"}, settings.Data)
	})
}

func (u *sharedUsers) statesSettled() {
	u.t.Helper()
	u.eventually("the StatefulSet is settled", func(c *require.Assertions, ctx context.Context) {
		set, err := u.kruise.AppsV1beta1().StatefulSets(u.namespace).Get(ctx, "states", metav1.GetOptions{})
		c.NoError(err)
		want, status := sharedPods["states"], set.Status
		c.Equal(set.Generation, status.ObservedGeneration)
		c.Equal([]int32{want, want, want, want}, []int32{status.Replicas, status.ReadyReplicas, status.UpdatedReplicas, status.UpdatedReadyReplicas})
		c.Equal(status.UpdateRevision, status.CurrentRevision)
		u.serve(ctx, c, set, set.Spec.Selector, want)
	})
}

// podsSettled checks that no other Pods are there, and that each is ready and has the wanted image and variable.
func (u *sharedUsers) podsSettled(nodes int) {
	u.t.Helper()
	u.eventually("each Pod is as its template wants it", func(c *require.Assertions, ctx context.Context) {
		counts := map[string]int32{}
		for _, pod := range u.allPods(ctx, c) {
			counts[pod.Labels["app"]]++
			c.Nil(pod.DeletionTimestamp, "%s is being deleted", pod.Name)
			c.True(podstate.Ready(&pod), "%s is ready", pod.Name)
			main := containerOf(&pod, "main")
			c.NotNil(main, pod.Name)
			c.Equal("kruise.local/demo:r1", main.Image, pod.Name)
			c.Equal("a", main.Env[0].Value, pod.Name)
		}
		want := maps.Clone(sharedPods)
		want["daemons"], want["broadcast"] = int32(nodes), int32(nodes)
		c.Equal(want, counts)
	})
}

// claimsSettled checks that each claim is bound, that each Pod with claims has them, and that a CloneSet has no claims of deleted Pods.
func (u *sharedUsers) claimsSettled() {
	u.t.Helper()
	u.eventually("the claims are settled", func(c *require.Assertions, ctx context.Context) {
		list, err := u.core.CoreV1().PersistentVolumeClaims(u.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		claims, instances, want := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, claim := range list.Items {
			c.Nil(claim.DeletionTimestamp, "%s is being deleted", claim.Name)
			c.Equal(corev1.ClaimBound, claim.Status.Phase, claim.Name)
			claims[claim.Name] = true
			if id := claim.Labels[pub.CloneSetInstanceIDKey]; id != "" {
				instances[id] = true
			}
		}
		for _, pod := range u.pods("clones") {
			want[pod.Labels[pub.CloneSetInstanceIDKey]] = true
		}
		c.Equal(want, instances)
		for _, pod := range u.pods("states") {
			c.True(claims["data-"+pod.Name], "the claim of %s", pod.Name)
		}
	})
}

// pullsSettled checks that each simulated node is asked for what the jobs of the namespace want, and for nothing else. No agent answers, so
// a pull is active for ten minutes, and has then failed.
func (u *sharedUsers) pullsSettled() {
	u.t.Helper()
	u.eventually("the image pulls are settled", func(c *require.Assertions, ctx context.Context) {
		jobs, err := u.kruise.AppsV1beta1().ImagePullJobs(u.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		count := int32(u.nodes.size)
		var images, want, found []string
		for _, job := range jobs.Items {
			images = append(images, job.Spec.Image)
			c.Equal([]int32{count, count}, []int32{job.Status.Desired, job.Status.Active + job.Status.Failed}, job.Name)
		}
		c.ElementsMatch([]string{"kruise.local/demo:r1", "kruise.local/demo:r1", "kruise.local/demo:r3"}, images)
		for _, node := range u.nodes.list(ctx) {
			for _, job := range jobs.Items {
				want = append(want, node.Name+" "+string(job.UID)+" "+job.Spec.Image)
			}
			for image, entry := range node.Spec.Images {
				for _, tag := range entry.Tags {
					for _, owner := range tag.OwnerReferences {
						if owner.Namespace == u.namespace {
							found = append(found, node.Name+" "+string(owner.UID)+" "+image+":"+tag.Tag)
						}
					}
				}
			}
		}
		c.ElementsMatch(want, found)
		list, err := u.kruise.AppsV1beta1().ImageListPullJobs(u.namespace).Get(ctx, "pulls", metav1.GetOptions{})
		c.NoError(err)
		c.Equal([]int32{2, 2, 0}, []int32{list.Status.Desired, list.Status.Active + list.Status.Completed, list.Status.Succeeded})
	})
}

func (u *sharedUsers) allPods(ctx context.Context, c *require.Assertions) []corev1.Pod {
	list, err := u.core.CoreV1().Pods(u.namespace).List(ctx, metav1.ListOptions{})
	c.NoError(err)
	return list.Items
}

// containerOf returns the container of a Pod with the name, or nil.
func containerOf(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}

// sidecarsSettled checks that the SidecarSet counts its Pods correctly, and that each has the wanted image of the sidecar.
func (u *sharedUsers) sidecarsSettled() {
	u.t.Helper()
	u.eventually("the sidecars are settled", func(c *require.Assertions, ctx context.Context) {
		set, err := u.kruise.AppsV1beta1().SidecarSets().Get(ctx, u.namespace+"-shared", metav1.GetOptions{})
		c.NoError(err)
		since, err := time.Parse(time.RFC3339, set.Annotations[pub.SidecarSetInjectsSinceKey])
		c.NoError(err)
		injected, missing := int32(0), int32(0)
		for _, pod := range u.allPods(ctx, c) {
			agent := containerOf(&pod, "agent")
			switch {
			case agent != nil:
				injected++
				c.Equal("kruise.local/demo:r1", agent.Image, pod.Name)
			case pod.CreationTimestamp.After(since.Add(time.Second)):
				missing++
			}
		}
		status := set.Status
		c.Equal(set.Generation, status.ObservedGeneration)
		c.Equal([]int32{injected, injected, injected, injected}, []int32{status.MatchedPods, status.UpdatedPods, status.ReadyPods, status.UpdatedReadyPods})
		c.Equal(missing, status.UninjectedPods, "Pods that are younger than the SidecarSet and have no sidecar")
	})
}

// probesSettled checks that the probes of each node are those of its Pods that the PodProbeMarker selects.
func (u *sharedUsers) probesSettled() {
	u.t.Helper()
	u.eventually("the probes are settled", func(c *require.Assertions, ctx context.Context) {
		want, found := map[string]string{}, map[string]string{}
		for _, pod := range u.pods("clones") {
			want[pod.Spec.NodeName+"/"+string(pod.UID)] = "/demo idle"
		}
		nodes, err := u.kruise.AppsV1alpha1().NodePodProbes().List(ctx, metav1.ListOptions{})
		c.NoError(err)
		for _, node := range nodes.Items {
			for _, pod := range node.Spec.PodProbes {
				if pod.Namespace == u.namespace {
					c.Len(pod.Probes, 1)
					found[node.Name+"/"+pod.UID] = strings.Join(pod.Probes[0].Probe.Exec.Command, " ")
				}
			}
		}
		c.Equal(want, found)
	})
}

// budgetSettled checks that a budget counts its Pods, and that no disruption is left in its record.
func (u *sharedUsers) budgetSettled(name string, pods int32) {
	u.t.Helper()
	u.eventually("budget "+name+" is settled", func(c *require.Assertions, ctx context.Context) {
		budget, err := u.kruise.PolicyV1beta1().PodUnavailableBudgets(u.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		status := budget.Status
		c.Equal(budget.Generation, status.ObservedGeneration)
		c.Equal([]int32{pods, pods, pods - 2, 2}, []int32{status.TotalReplicas, status.CurrentAvailable, status.DesiredAvailable, status.UnavailableAllowed})
		c.Empty(status.DisruptedPods)
		c.Empty(status.UnavailablePods)
		for _, pod := range u.pods(name) {
			c.Equal(name, pod.Annotations["kruise.io/related-pub"], pod.Name)
		}
	})
}

// spreadSettled checks that the WorkloadSpread counts the Pods of each subset, and waits for none.
func (u *sharedUsers) spreadSettled() {
	u.t.Helper()
	u.eventually("the WorkloadSpread is settled", func(c *require.Assertions, ctx context.Context) {
		spread, err := u.kruise.AppsV1beta1().WorkloadSpreads(u.namespace).Get(ctx, "spread", metav1.GetOptions{})
		c.NoError(err)
		c.Equal(spread.Generation, spread.Status.ObservedGeneration)
		placed := map[string]int32{"a": 0, "b": 0}
		for _, pod := range u.pods("spread") {
			if _, ok := pod.Annotations[pub.MatchedWorkloadSpreadKey]; ok {
				placed[pod.Labels["subset"]]++
			}
		}
		counted := map[string]int32{}
		for _, subset := range spread.Status.SubsetStatuses {
			counted[subset.Name] = subset.Replicas
			c.Empty(subset.CreatingPods, subset.Name)
			c.Empty(subset.DeletingPods, subset.Name)
		}
		c.Equal(placed, counted)
	})
}

// still checks that nobody writes any more, and that everything that is owned has its owner.
func (u *sharedUsers) still() {
	u.t.Helper()
	const quiet = 30 * time.Second
	u.eventually("nobody writes for a while", func(c *require.Assertions, ctx context.Context) {
		before := u.versions(ctx, c)
		<-time.After(quiet)
		c.Equal(before, u.versions(ctx, c))
	})
	u.eventually("every owner exists", func(c *require.Assertions, ctx context.Context) {
		found := map[types.UID]bool{}
		lines := u.ownersOf(ctx, c)
		for _, fields := range lines {
			found[types.UID(fields[1])] = true
		}
		for _, fields := range lines {
			for _, owner := range fields[2:] {
				c.True(found[types.UID(owner)], "owner %s of %s", owner, fields[0])
			}
		}
	})
}

// sharedKinds are the kinds of the test's objects and of what they own.
const sharedKinds = "pods,clonesets.apps.kruise.io,statefulsets.apps.kruise.io,daemonsets.apps.kruise.io,uniteddeployments.apps.kruise.io," +
	"persistentpodstates.apps.kruise.io,workloadspreads.apps.kruise.io,podunavailablebudgets.policy.kruise.io,sidecarsets.apps.kruise.io," +
	"resourcedistributions.apps.kruise.io,podprobemarkers.apps.kruise.io,broadcastjobs.apps.kruise.io,imagepulljobs.apps.kruise.io," +
	"imagelistpulljobs.apps.kruise.io,persistentvolumeclaims,controllerrevisions.apps,deployments.apps,replicasets.apps,configmaps"

// versions returns the resource version of each object.
func (u *sharedUsers) versions(ctx context.Context, c *require.Assertions) []string {
	out, err := u.command(ctx, "get", sharedKinds, "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}@{.metadata.resourceVersion}{"\n"}{end}`).Output()
	c.NoError(err)
	return strings.Fields(string(out))
}

// ownersOf returns the name, the UID and the UIDs of the owners of each object.
func (u *sharedUsers) ownersOf(ctx context.Context, c *require.Assertions) (lines [][]string) {
	out, err := u.command(ctx, "get", sharedKinds, "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.metadata.ownerReferences[*].uid}{"\n"}{end}`).Output()
	c.NoError(err)
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 1 {
			lines = append(lines, fields)
		}
	}
	return lines
}
