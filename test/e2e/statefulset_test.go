//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/podstate"
)

// ordinals is a StatefulSet that both groups serve, with a volume for each Pod.
const ordinals = `apiVersion: GROUP
kind: StatefulSet
metadata:
  name: web
spec:
  replicas: 3
  serviceName: web
  podManagementPolicy: OrderedReady
  updateStrategy:
    type: RollingUpdate
  selector:
    matchLabels: {app: web}
  volumeClaimTemplates:
  - metadata:
      name: data
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: standard
      resources:
        requests: {storage: 10Mi}
  template:
    metadata:
      labels: {app: web}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: main
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        volumeMounts:
        - {name: data, mountPath: /data}
        resources:
          requests: {cpu: 10m, memory: 16Mi}
`

const (
	ourGroup  = "apps.kruise.io/v1beta1"
	coreGroup = "apps/v1"
)

func statefulSet(group string, replacements ...string) string {
	return replaced(ordinals, append([]string{"GROUP", group}, replacements...)...)
}

// Parts of the manifest that tests replace.
const (
	orderedPolicy = "podManagementPolicy: OrderedReady"
	inOrderUpdate = "    type: RollingUpdate\n"
	inPlaceUpdate = "    type: RollingUpdate\n    rollingUpdate:\n      podUpdatePolicy: InPlaceIfPossible\n"
	noGates       = "      terminationGracePeriodSeconds: 5\n"
	inPlaceGate   = noGates + "      readinessGates: [{conditionType: InPlaceUpdateReady}]\n"
)

// asts is the full name of the resource, because apps/v1 has one of the same name.
const asts = "statefulsets.apps.kruise.io"

// settledSet waits until the newest generation of the StatefulSet has exactly these Pods, all ready, and the given number of updated ones.
func (e *env) settledSet(updated int, names ...string) *v1beta1.StatefulSet {
	e.t.Helper()
	var set *v1beta1.StatefulSet
	e.eventually("Pods "+strings.Join(names, " "), func(c *require.Assertions, ctx context.Context) {
		var err error
		set, err = e.kruise.AppsV1beta1().StatefulSets(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		c.Equal(set.Generation, set.Status.ObservedGeneration, "observedGeneration")
		c.Equal([]int{len(names), len(names), updated},
			[]int{int(set.Status.Replicas), int(set.Status.ReadyReplicas), int(set.Status.UpdatedReplicas)}, "replicas, ready, updated")
		c.Equal(names, e.ordinalsServing(ctx, c))
	})
	return set
}

// ordinalsServing returns the names of all Pods, and checks that each is ready and stays. The status of a StatefulSet can be older than
// the last change of a Pod.
func (e *env) ordinalsServing(ctx context.Context, c *require.Assertions) (names []string) {
	list, err := e.core.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	c.NoError(err)
	for i := range list.Items {
		pod := &list.Items[i]
		c.Nil(pod.DeletionTimestamp, pod.Name)
		c.True(podstate.Ready(pod), pod.Name)
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// uids returns the UIDs of the Pods by name.
func (e *env) uids() map[string]types.UID {
	uids := map[string]types.UID{}
	for _, pod := range e.pods("web") {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// claims returns the names of the claims.
func (e *env) claims() (names []string) {
	list, err := e.core.CoreV1().PersistentVolumeClaims(e.namespace).List(e.t.Context(), metav1.ListOptions{})
	require.NoError(e.t, err)
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

// sequence is what a watcher saw of the Pods and claims of a namespace: each Pod's creation, its first readiness, the start and the
// end of its deletion.
type sequence struct {
	lock  sync.Mutex
	pods  []string
	claim []string
	seen  map[types.UID]string
}

// follow records the sequence until the test ends.
func (e *env) follow() *sequence {
	e.t.Helper()
	s := &sequence{seen: map[types.UID]string{}}
	pods, err := e.core.CoreV1().Pods(e.namespace).Watch(e.t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	require.NoError(e.t, err)
	claims, err := e.core.CoreV1().PersistentVolumeClaims(e.namespace).Watch(e.t.Context(), metav1.ListOptions{})
	require.NoError(e.t, err)
	for _, w := range []watch.Interface{pods, claims} {
		e.t.Cleanup(w.Stop)
		go func() {
			for event := range w.ResultChan() {
				s.see(event.Type, event.Object)
			}
		}()
	}
	return s
}

func (s *sequence) see(what watch.EventType, object runtime.Object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	switch o := object.(type) {
	case *corev1.PersistentVolumeClaim:
		if what != watch.Modified {
			s.claim = append(s.claim, string(what)+" "+o.Name)
		}
	case *corev1.Pod:
		state := "created"
		switch {
		case what == watch.Deleted:
			state = "gone"
		case o.DeletionTimestamp != nil:
			state = "terminating"
		case podstate.Ready(o):
			state = "ready"
		case s.seen[o.UID] != "":
			return
		}
		if s.seen[o.UID] != state {
			s.seen[o.UID] = state
			s.pods = append(s.pods, o.Name+" "+state)
		}
	}
}

func (s *sequence) all() (pods, claims []string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.pods), slices.Clone(s.claim)
}

// rest returns the last states of the Pods that are not gone, and the claims that are left.
func (s *sequence) rest() (pods map[types.UID]string, claims map[string]bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	pods, claims = maps.Clone(s.seen), map[string]bool{}
	maps.DeleteFunc(pods, func(_ types.UID, state string) bool { return state == "gone" })
	for _, event := range s.claim {
		if what, name, _ := strings.Cut(event, " "); what == string(watch.Added) {
			claims[name] = true
		} else {
			delete(claims, name)
		}
	}
	return pods, claims
}

// complete waits until the watcher has seen all Pods and claims as they are, and returns the sequence.
func (e *env) complete(s *sequence) (pods, claims []string) {
	e.t.Helper()
	e.eventually("the watcher has seen all Pods and claims", func(c *require.Assertions, _ context.Context) {
		states, left := s.rest()
		c.ElementsMatch(slices.Collect(maps.Values(e.uids())), slices.Collect(maps.Keys(states)))
		for uid, state := range states {
			c.Equal("ready", state, uid)
		}
		c.ElementsMatch(e.claims(), slices.Collect(maps.Keys(left)))
	})
	return s.all()
}

// TestStatefulSetBehavesAsThatOfKubernetes applies one manifest as both API versions, takes both through the same operations, and
// compares the order in which Pods and claims come and go.
// Cases statefulset 1, 17.
func TestStatefulSetBehavesAsThatOfKubernetes(t *testing.T) {
	t.Parallel()
	operations := []struct{ name, old, new string }{
		{"create", "", ""},
		{"scale out", "replicas: 3", "replicas: 5"},
		{"scale in", "replicas: 3", "replicas: 2"},
		{"update", "demo:v1", "demo:v2"},
		{"update one by partition", inOrderUpdate, "    type: RollingUpdate\n    rollingUpdate: {partition: 2}\n"},
	}
	run := func(t *testing.T, group string) (pods, claims [][]string) {
		e := newEnv(t)
		for _, operation := range operations {
			seen := e.follow()
			text := statefulSet(group)
			if operation.old != "" {
				text = statefulSet(group, operation.old, operation.new)
			}
			if operation.name == "update one by partition" {
				text = replaced(text, "demo:v1", "demo:v2")
			}
			e.apply(text)
			e.stays(group)
			if operation.name == "update" {
				e.kubectl("delete", "pod", "web-0")
				e.stays(group)
			}
			podsSeen, claimsSeen := e.complete(seen)
			pods, claims = append(pods, podsSeen), append(claims, claimsSeen)
			if operation.name != "update one by partition" {
				e.apply(statefulSet(group))
				e.stays(group)
			}
		}
		return pods, claims
	}
	var theirs, theirClaims [][]string
	var wait sync.WaitGroup
	wait.Go(func() { theirs, theirClaims = run(t, coreGroup) })
	ours, ourClaims := run(t, ourGroup)
	wait.Wait()
	for i, operation := range operations {
		t.Logf("%s: %v %v", operation.name, ours[i], ourClaims[i])
		assert.Equal(t, theirs[i], ours[i], operation.name)
		assert.Equal(t, theirClaims[i], ourClaims[i], operation.name)
	}
}

// stays waits until a StatefulSet of either group has done all that its spec asks for.
func (e *env) stays(group string) {
	e.t.Helper()
	resource := "statefulsets.apps"
	if group == ourGroup {
		resource = asts
	}
	e.eventually(resource+" settled", func(c *require.Assertions, ctx context.Context) {
		out, err := e.command(ctx, "get", resource, "web", "-o", "json").Output()
		c.NoError(err)
		var set appsv1.StatefulSet // The fields that are compared have the same names in both groups.
		c.NoError(json.Unmarshal(out, &set))
		c.Equal(set.Generation, set.Status.ObservedGeneration, "observedGeneration")
		updated := *set.Spec.Replicas
		if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
			updated -= *rolling.Partition
		}
		c.Equal([]int32{*set.Spec.Replicas, *set.Spec.Replicas, updated},
			[]int32{set.Status.Replicas, set.Status.ReadyReplicas, set.Status.UpdatedReplicas}, "replicas, ready, updated")
		c.Len(e.ordinalsServing(ctx, c), int(*set.Spec.Replicas))
	})
}

// diary makes the container write a line into its volume each second. Another container prints the file from its beginning.
const diary = `        args: [write, /data/diary]
        volumeMounts:
        - {name: data, mountPath: /data}
      - name: reader
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        args: [follow, /data/diary]
`

// firstLines returns the first line of each Pod's diary.
func (e *env) firstLines(names ...string) map[string]string {
	e.t.Helper()
	lines := map[string]string{}
	e.eventually("diaries of "+strings.Join(names, ", "), func(c *require.Assertions, ctx context.Context) {
		for _, name := range names {
			out, err := e.command(ctx, "logs", name, "-c", "reader").Output()
			c.NoError(err)
			_, text, found := strings.Cut(string(out), "\n")
			c.True(found)
			first, _, found := strings.Cut(text, "\n")
			c.True(found)
			lines[name] = first
		}
	})
	return lines
}

// TestVolumesOutliveUpdatesAndScaling checks that a Pod finds its data again after an update, and after a scale in and out.
// Cases statefulset 9, 12, 50.
func TestVolumesOutliveUpdatesAndScaling(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(environment string, pairs ...string) string {
		return statefulSet(ourGroup, append([]string{
			inOrderUpdate, inPlaceUpdate, noGates, inPlaceGate, "        volumeMounts:\n", environment + diary + "        volumeMounts:\n",
		}, pairs...)...)
	}
	e.apply(text(""))
	e.settledSet(3, "web-0", "web-1", "web-2")
	before, lines := e.uids(), e.firstLines("web-0", "web-2")

	const firstImage = "- name: main\n        image: kruise.local/demo:v1"
	e.apply(text("", firstImage, strings.Replace(firstImage, "v1", "v2", 1)))
	set := e.settledSet(3, "web-0", "web-1", "web-2")
	assert.Equal(t, before, e.uids(), "updated in place")
	for _, pod := range e.pods("web") {
		assert.Equal(t, set.Status.UpdateRevision, pod.Labels["controller-revision-hash"], pod.Name)
		assert.Equal(t, int32(1), statusOf(&pod, "main").RestartCount, pod.Name)
		assert.Equal(t, int32(0), statusOf(&pod, "reader").RestartCount, pod.Name)
	}

	e.apply(text("        env: [{name: ADDED, value: \"1\"}]\n"))
	e.eventually("all Pods are recreated", func(c *require.Assertions, _ context.Context) {
		now := e.uids()
		c.Len(now, 3)
		for name, uid := range now {
			c.NotEqual(before[name], uid)
		}
	})
	e.settledSet(3, "web-0", "web-1", "web-2")
	assert.Equal(t, lines, e.firstLines("web-0", "web-2"), "after an update by recreation")

	sets := e.kruise.AppsV1beta1().StatefulSets(e.namespace)
	scale, err := sets.GetScale(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	scale.ResourceVersion, scale.Spec.Replicas = "", 1
	_, err = sets.UpdateScale(t.Context(), "web", scale, metav1.UpdateOptions{})
	require.NoError(t, err)
	e.settledSet(1, "web-0")
	assert.Equal(t, []string{"data-web-0", "data-web-1", "data-web-2"}, e.claims())
	e.kubectl("scale", asts+"/web", "--replicas=3")
	e.settledSet(3, "web-0", "web-1", "web-2")
	assert.Equal(t, lines, e.firstLines("web-0", "web-2"), "after a scale in and out")
}

// TestOrdinalsPartitionAndParallelUpdates checks reserved ordinals, a partition, and updates of several Pods at once.
// Cases statefulset 4, 5, 10, 20.
func TestOrdinalsPartitionAndParallelUpdates(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	rolling := "    type: RollingUpdate\n    rollingUpdate: {maxUnavailable: 2, partition: PARTITION}\n"
	text := func(pairs ...string) string {
		return statefulSet(ourGroup, append([]string{orderedPolicy, "podManagementPolicy: Parallel", inOrderUpdate, rolling,
			"  selector:\n", "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n  reserveOrdinals: [RESERVED]\n  selector:\n"}, pairs...)...)
	}
	e.apply(replaced(text("replicas: 3", "replicas: 4"), "PARTITION", "0", "RESERVED", ""))
	e.settledSet(4, "web-0", "web-1", "web-2", "web-3")

	e.apply(replaced(text("replicas: 3", "replicas: 4"), "PARTITION", "0", "RESERVED", "1, \"5-7\""))
	e.settledSet(4, "web-0", "web-2", "web-3", "web-4")
	e.eventually("the claim of the reserved ordinal is deleted", func(c *require.Assertions, _ context.Context) {
		c.Equal([]string{"data-web-0", "data-web-2", "data-web-3", "data-web-4"}, e.claims())
	})

	before := e.uids()
	e.apply(replaced(text("replicas: 3", "replicas: 4", "demo:v1", "demo:v2"), "PARTITION", "3", "RESERVED", "1, \"5-7\""))
	e.settledSet(1, "web-0", "web-2", "web-3", "web-4")
	now := e.uids()
	assert.NotEqual(t, before["web-4"], now["web-4"])
	for _, name := range []string{"web-0", "web-2", "web-3"} {
		assert.Equal(t, before[name], now[name], name)
	}
	e.apply(replaced(text("replicas: 3", "replicas: 4", "demo:v1", "demo:v2"), "PARTITION", "0", "RESERVED", "1, \"5-7\""))
	e.eventually("two Pods are updated at once", func(c *require.Assertions, ctx context.Context) {
		set, err := e.kruise.AppsV1beta1().StatefulSets(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		c.LessOrEqual(set.Status.ReadyReplicas, int32(2))
	})
	e.settledSet(4, "web-0", "web-2", "web-3", "web-4")
	e.kubectl("delete", asts, "web")
}

// TestMoveFromKubernetesWithoutARestart moves a running StatefulSet of Kubernetes to this project. No Pod restarts.
// Case statefulset 21.
func TestMoveFromKubernetesWithoutARestart(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(statefulSet(coreGroup))
	e.stays(coreGroup)
	before := e.uids()
	e.kubectl("delete", "statefulsets.apps", "web", "--cascade=orphan")
	e.apply(statefulSet(ourGroup))
	set := e.settledSet(3, "web-0", "web-1", "web-2")
	assert.Equal(t, before, e.uids())
	assert.Equal(t, set.Status.UpdateRevision, set.Status.CurrentRevision)
	for _, pod := range e.pods("web") {
		assert.Equal(t, int32(0), pod.Status.ContainerStatuses[0].RestartCount, pod.Name)
		assert.Equal(t, set.UID, metav1.GetControllerOf(&pod).UID, pod.Name)
		assert.Equal(t, set.Status.UpdateRevision, pod.Labels["controller-revision-hash"], pod.Name)
	}
	e.kubectl("scale", asts+"/web", "--replicas=2")
	e.settledSet(2, "web-0", "web-1")
	e.kubectl("delete", asts, "web", "--cascade=orphan")
	e.apply(statefulSet(coreGroup, "replicas: 3", "replicas: 2"))
	e.stays(coreGroup)
	now := e.uids()
	assert.Equal(t, map[string]types.UID{"web-0": before["web-0"], "web-1": before["web-1"]}, now, "the way back restarts no Pod either")
}

// A larger request in the template reaches the claims with the update of their Pods. The data stays. A StorageClass that does not allow
// expansion refuses the template.
// Cases statefulset 33, 38.
func TestClaimsGrowWithTheUpdate(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	grows := []string{"  volumeClaimTemplates:\n", "  volumeClaimUpdateStrategy: {type: OnPodRollingUpdate}\n  volumeClaimTemplates:\n"}
	manifest := func(changes ...string) string {
		return statefulSet(ourGroup, append(slices.Clone(grows), changes...)...)
	}
	e.apply(manifest())
	e.settledSet(3, "web-0", "web-1", "web-2")
	volumes := e.kubectl("get", "persistentvolumeclaims", "--output=jsonpath={.items[*].spec.volumeName}")

	e.apply(manifest("storage: 10Mi", "storage: 20Mi"))
	e.eventually("each claim has the storage of the template", func(c *require.Assertions, _ context.Context) {
		sizes := e.kubectl("get", "persistentvolumeclaims", "--output=jsonpath={.items[*].status.capacity.storage}")
		c.Equal("20Mi 20Mi 20Mi", sizes)
	})
	e.settledSet(3, "web-0", "web-1", "web-2")
	e.eventually("the status counts the claims", func(c *require.Assertions, ctx context.Context) {
		set, err := e.kruise.AppsV1beta1().StatefulSets(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		c.Len(set.Status.VolumeClaims, 1)
		c.Equal([]int32{3, 3}, []int32{set.Status.VolumeClaims[0].CompatibleReplicas, set.Status.VolumeClaims[0].CompatibleReadyReplicas})
	})
	assert.Equal(t, volumes, e.kubectl("get", "persistentvolumeclaims", "--output=jsonpath={.items[*].spec.volumeName}"))

	e.kubectl("delete", asts, "web", "--wait=true")
	e.kubectl("delete", "persistentvolumeclaims", "--all", "--wait=true")
	fixed := []string{"storageClassName: standard", "storageClassName: local"}
	e.apply(manifest(fixed...))
	e.settledSet(3, "web-0", "web-1", "web-2")
	refusal := e.refused(manifest(append(fixed, "storage: 10Mi", "storage: 20Mi")...), "apply", "-f", "-")
	assert.Contains(t, refusal, "StorageClass local does not allow volume expansion")
}
