//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/workload/podstate"
)

// containerIDs returns the instances of the first container of each Pod. A restart changes one.
func containerIDs(pods []corev1.Pod) map[types.UID]string {
	ids := map[types.UID]string{}
	for i := range pods {
		ids[pods[i].UID] = pods[i].Status.ContainerStatuses[0].ContainerID
	}
	return ids
}

// A user who rolls back in the grace period knows that the new image is bad. It never runs, and the Pod is in service again at once.
// Case inplace-update 8.
func TestRollbackInTheGracePeriodRestartsNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	of := func(image string) string {
		return manifest("web", "replicas: 3", "replicas: 1", "  template:", "    inPlaceUpdateStrategy: {gracePeriodSeconds: 600}\n  template:", "demo:v1", image)
	}
	e.apply(of("demo:v1"))
	e.ready("web", 1)
	before := containerIDs(e.pods("web"))
	e.apply(of("demo:v2"))
	e.eventually("the Pod waits", func(c *require.Assertions, _ context.Context) { c.True(held(&e.pods("web")[0])) })
	e.apply(of("demo:v1"))
	e.ready("web", 1)
	assert.Equal(t, before, containerIDs(e.pods("web")))
	assert.False(t, held(&e.pods("web")[0]))
}

// An autoscaler that scales out and soon in again does not wait until Pods are available that it wants gone.
func TestScaleInDoesNotWaitForMinReadySeconds(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "  template:", "  minReadySeconds: 99999\n  template:"))
	e.eventually("all Pods are ready", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("web")
		c.Len(pods, 3)
		for i := range pods {
			c.True(podstate.Ready(&pods[i]))
		}
	})
	e.kubectl("scale", "clonesets.apps.kruise.io/web", "--replicas=1")
	e.eventually("one Pod is left", func(c *require.Assertions, _ context.Context) { c.Len(e.pods("web"), 1) })
}

// Tools stamp a build into an annotation in each deployment. Pods that can take it without a restart are not replaced by surge.
// Case cloneset 7.
func TestChangedAnnotationReplacesNoPod(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	of := func(build string) string {
		return manifest("web", "maxUnavailable: 1", "maxSurge: 2", "    metadata:\n", "    metadata:\n      annotations: {build: \""+build+"\"}\n")
	}
	e.apply(of("1"))
	e.ready("web", 3)
	before := containerIDs(e.pods("web"))
	history := e.watchPods()
	e.apply(of("2"))
	e.ready("web", 3)
	assert.Equal(t, before, containerIDs(e.pods("web")))
	for _, pod := range e.pods("web") {
		assert.Equal(t, "2", pod.Annotations["build"])
	}
	for _, seen := range history() {
		assert.Contains(t, before, seen.UID, "no other Pod was created")
	}
}

// Clients wait for the name of a Pod to disappear. Each Pod on a node therefore has another name than those before it, whatever ended them.
// Case daemonset 32.
// Case broadcastjob 21.
func TestPodOnANodeHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	history := e.watchPods()
	e.apply(e.daemonManifest("ds"))
	e.daemonReady("ds", int32(len(nodes)))
	e.apply(e.daemonManifest("ds", "demo:v1", "demo:v2"))
	e.daemonUpdated(len(nodes), len(nodes))
	for _, flags := range [][]string{nil, {"--grace-period=0", "--force"}} {
		pod := e.podOn(nodes[0])
		e.kubectl(append([]string{"delete", "pod", pod.Name, "--wait=false"}, flags...)...)
		e.gone(pod)
		e.daemonReady("ds", int32(len(nodes)))
	}
	e.apply(e.broadcastManifest("job", "600"))
	for range 2 {
		e.eventually("the job runs", func(c *require.Assertions, _ context.Context) { c.Len(e.pods("job"), len(nodes)) })
		pod := e.pods("job")[0]
		e.kubectl("delete", "pod", pod.Name, "--grace-period=0", "--force")
		e.gone(&pod)
	}
	e.eventually("the job runs", func(c *require.Assertions, _ context.Context) { c.Len(e.pods("job"), len(nodes)) })
	named := map[string]types.UID{}
	for _, seen := range history() {
		if first, found := named[seen.Name]; found {
			assert.Equal(t, first, seen.UID, seen.Name)
		}
		named[seen.Name] = seen.UID
	}
	assert.Len(t, named, 3*len(nodes)+2+2)
}

// A CloneSet is deleted without its Pods, and created again. It takes its Pods back, and nothing restarts. A Pod of a user that matches the
// selector stays alone.
// Case cloneset 40.
func TestKeptPodsOfACloneSetAreAdopted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	of := func(image string) string {
		return manifest("web", "demo:v1", image, "  template:", "  volumeClaimTemplates:\n  - metadata: {name: data}\n"+
			"    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n  template:")
	}
	e.apply(of("demo:v1"))
	e.ready("web", 3)
	before := containerIDs(e.pods("web"))
	e.kubectl("delete", "clonesets.apps.kruise.io/web", "--cascade=orphan")
	for _, pod := range e.pods("web") {
		require.Empty(t, pod.OwnerReferences)
	}
	e.kubectl("run", "alone", "--image=kruise.local/demo:v1", "--labels=app=web")
	e.apply(of("demo:v1"))
	e.ready("web", 3)
	e.said("NotAdopted", "alone")
	assert.Equal(t, "CloneSet CloneSet CloneSet", e.kubectl("get", "persistentvolumeclaims", "-o", "jsonpath={.items[*].metadata.ownerReferences[*].kind}"))
	e.apply(of("demo:v2"))
	e.ready("web", 3)
	kept := 0
	for uid := range containerIDs(e.pods("web")) {
		if _, found := before[uid]; found {
			kept++
		}
	}
	assert.Equal(t, 3, kept, "all were updated in place")
}

// A workload that updates in place restarts its containers in place, by the node agent, and no more Pods at a time than it may. Where Pods
// are recreated, a restart recreates them.
// Case inplace-update 23.
// Case kubectl-plugin 9.
func TestRestartInPlace(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.apply(manifest("only", "InPlaceIfPossible", "InPlaceOnly"))
	e.apply(manifest("again", "InPlaceIfPossible", "ReCreate"))
	for _, name := range []string{"web", "only", "again"} {
		e.ready(name, 3)
		e.reported(name)
	}
	for _, name := range []string{"web", "only"} {
		before := containerIDs(e.pods(name))
		history := e.watchPods()
		e.runs("cloneset.apps.kruise.io/"+name+" restarted\n", "rollout", "restart", "clone/"+name)
		e.ready(name, 3)
		after := containerIDs(e.pods(name))
		require.Len(t, after, 3)
		for uid, id := range before {
			assert.NotEqual(t, id, after[uid], "the container restarted in its Pod")
		}
		serving := map[types.UID]bool{}
		seen := history()
		for i := range seen {
			pod := &seen[i].Pod
			if pod.Labels["app"] != name {
				continue
			}
			serving[pod.UID] = podstate.Ready(pod)
			down := 0
			for _, ready := range serving {
				if !ready {
					down++
				}
			}
			assert.LessOrEqual(t, down, 1)
		}
	}
	before := containerIDs(e.pods("again"))
	e.runs("cloneset.apps.kruise.io/again restarted\n", "rollout", "restart", "clone/again")
	e.ready("again", 3)
	for uid := range containerIDs(e.pods("again")) {
		assert.NotContains(t, before, uid)
	}
}

// Other kinds restart in place too, a UnitedDeployment by its subsets.
// Case inplace-update 23.
func TestOtherKindsRestartInPlace(t *testing.T) {
	t.Parallel()
	for object, prepare := range map[string]func(*env) string{
		"ads/ds": func(e *env) string {
			nodes := int32(len(e.choose()))
			e.apply(e.daemonManifest("ds", "rollingUpdate:", "rollingUpdate:\n      rollingUpdateType: InPlaceIfPossible"))
			e.daemonReady("ds", nodes)
			return "ds"
		},
		"asts/web": func(e *env) string {
			e.apply(statefulSet("apps.kruise.io/v1beta1", inOrderUpdate, inPlaceUpdate, noGates, inPlaceGate))
			e.settledSet(3, "web-0", "web-1", "web-2")
			return "web"
		},
		"uniteddeployment/web": func(e *env) string {
			e.apply(strings.Replace(unitedManifest("cloneSetTemplate", "2", "v1", "{subsets: ["+anywhere+"]}"),
				"        template:\n", "        updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceIfPossible}}\n        template:\n", 1))
			e.united("web", map[string]int32{"a": 1, "b": 1}, allReady(2))
			return "web"
		},
	} {
		t.Run(strings.ReplaceAll(object, "/", " "), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			app := prepare(e)
			e.reported(app)
			before := containerIDs(e.pods(app))
			out, err := e.plugin("rollout", "restart", object)
			require.NoError(t, err, out)
			e.eventually("all containers have restarted in their Pods", func(c *require.Assertions, _ context.Context) {
				pods := e.pods(app)
				after := containerIDs(pods)
				c.Len(after, len(before))
				for uid, id := range before {
					c.Contains(after, uid)
					c.NotEqual(id, after[uid])
				}
				for i := range pods {
					c.True(podstate.Ready(&pods[i]))
				}
			})
		})
	}
}

// Programs wait for the ready Pods of a SidecarSet, whatever its policy is.
// Case sidecarset 43.
func TestReadyPodsOfASidecarSetWithoutUpdatesAreCounted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	name := e.sidecarSet("web", strings.Replace(agentSpec, "{maxUnavailable: 1}", "{type: NotUpdate}", 1))
	e.apply(manifest("web"))
	e.upgraded(name, 3)
}

// A canary removes a claim template. The old revision, which mounts the claim, still gets its Pods.
// Case cloneset 41.
func TestRemovedClaimTemplateDoesNotStopTheOldRevision(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	of := func(replicas string, claims ...string) string {
		var templates, mounts strings.Builder
		for _, claim := range claims {
			templates.WriteString("\n  - {metadata: {name: " + claim + "}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}")
			mounts.WriteString("\n        - {name: " + claim + ", mountPath: /" + claim + "}")
		}
		return manifest("web", "replicas: 3", "replicas: "+replicas, "    maxUnavailable: 1\n", "    maxUnavailable: 1\n    partition: 3\n",
			"  template:\n", "  volumeClaimTemplates:"+templates.String()+"\n  template:\n",
			"        resources:\n", "        volumeMounts:"+mounts.String()+"\n        resources:\n")
	}
	e.apply(of("1", "a", "b"))
	e.ready("web", 1)
	e.apply(of("3", "a"))
	e.eventually("three Pods of the old revision serve", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("web")
		c.Len(pods, 3)
		for i := range pods {
			c.True(podstate.Ready(&pods[i]))
			c.Len(pods[i].Spec.Containers[0].VolumeMounts, 3, "both claims, and the token")
		}
	})
}

// The StatefulSet of Kubernetes with the same name still has its Pods. A user sees that at the new one.
func TestNameOfAPodThatAnotherWorkloadHasIsReported(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(statefulSet(coreGroup))
	e.eventually("the first Pod exists", func(c *require.Assertions, _ context.Context) { c.NotEmpty(e.pods("web")) })
	e.apply(statefulSet(ourGroup))
	e.said("FailedCreate", "StatefulSet web of apps/v1 controls it")
}
