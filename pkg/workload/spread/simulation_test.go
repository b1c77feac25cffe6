package spread

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// cluster simulates Pods, an administrator, a lagging cache and recounts of one WorkloadSpread.
type cluster struct {
	t       *testing.T
	rand    *rand.Rand
	now     time.Time
	spread  *v1beta1.WorkloadSpread
	version int
	// history are the states of all Pods. cached is the one that the cache shows.
	history []map[string]*corev1.Pod
	cached  int
	// granted are Pods that were admitted and are not stored yet. leaving are Pods whose deletion was admitted.
	granted map[string]*corev1.Pod
	leaving map[string]bool
	names   int
	// created is when a Pod of the name was last admitted. API times do not tell two Pods of the same two seconds apart.
	created map[string]time.Time
	// recount is a recount that has read and not written yet.
	recount        *v1beta1.WorkloadSpread
	recountVersion int
	log            []string
}

const start = 1_700_000_000

func newCluster(t *testing.T, seed uint64) *cluster {
	spread := &v1beta1.WorkloadSpread{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ws"},
		Spec: v1beta1.WorkloadSpreadSpec{
			TargetRef: &v1beta1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web"},
			Subsets: []v1beta1.WorkloadSpreadSubset{
				{Name: "a", MaxReplicas: new(intstr.FromInt32(3))}, {Name: "b", MaxReplicas: new(intstr.FromInt32(2))}, {Name: "c"},
			},
		},
	}
	return &cluster{
		t: t, rand: rand.New(rand.NewPCG(seed, 0)), now: time.Unix(start, 0), spread: spread, history: []map[string]*corev1.Pod{{}},
		granted: map[string]*corev1.Pod{}, leaving: map[string]bool{}, created: map[string]time.Time{},
	}
}

func (c *cluster) pods() map[string]*corev1.Pod { return c.history[len(c.history)-1] }

func (c *cluster) logf(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf(format, args...))
}

// edit makes a new state of the Pods.
func (c *cluster) edit(change func(map[string]*corev1.Pod)) {
	next := make(map[string]*corev1.Pod, len(c.pods()))
	maps.Copy(next, c.pods())
	change(next)
	c.history = append(c.history, next)
}

// update changes the stored record, as a write of admission does.
func (c *cluster) update(change func(*v1beta1.WorkloadSpread)) {
	changed := c.spread.DeepCopy()
	change(changed)
	c.spread = changed
	c.version++
}

// pick returns a Pod whose deletion was not admitted, or "".
func (c *cluster) pick() string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.pods())), func(name string) bool { return c.leaving[name] })
	if len(names) == 0 {
		return ""
	}
	return names[c.rand.IntN(len(names))]
}

func (c *cluster) create() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
	request := &Request{Version: Unversioned}
	c.names++
	if name := fmt.Sprintf("fixed-%d", c.rand.IntN(6)); c.rand.IntN(2) == 0 && c.pods()[name] == nil && c.granted[name] == nil &&
		c.now.Sub(c.created[name]) > clockPrecision {
		c.created[name] = c.now
		pod.Name, request.Pod, request.Key = name, name, name
	} else {
		pod.Name, request.Key = fmt.Sprintf("web-%d", c.names), fmt.Sprintf("uid-%d", c.names)
	}
	index := None
	c.update(func(spread *v1beta1.WorkloadSpread) { index = Reserve(spread, request, c.now) })
	require.NotEqual(c.t, None, index, "the last subset has no limit")
	matched := Matched{Name: "ws", Subset: c.spread.Spec.Subsets[index].Name}
	if request.Pod == "" {
		matched.UID = request.Key
	}
	pod.Annotations = map[string]string{pub.MatchedWorkloadSpreadKey: matched.String()}
	c.granted[pod.Name] = pod
	delete(c.leaving, pod.Name)
	c.logf("grant %s to %s", pod.Name, matched.Subset)
}

// arrive stores an admitted Pod, unless something else refuses it.
func (c *cluster) arrive() {
	names := slices.Sorted(maps.Keys(c.granted))
	if len(names) > 0 {
		name := names[c.rand.IntN(len(names))]
		pod := c.granted[name]
		delete(c.granted, name)
		if c.rand.IntN(8) == 0 {
			c.logf("refuse %s", name)
			return
		}
		pod.CreationTimestamp = metav1.NewTime(c.now)
		c.edit(func(pods map[string]*corev1.Pod) { pods[name] = pod })
		c.logf("store %s", name)
	}
}

func (c *cluster) remove() {
	name := c.pick()
	if name == "" {
		return
	}
	pod := c.pods()[name]
	matched, _ := MatchedOf(pod)
	c.update(func(spread *v1beta1.WorkloadSpread) { Release(spread, pod, matched, c.now) })
	c.leaving[name] = true
	c.logf("release %s", name)
}

// vanish deletes the Pods whose deletion was admitted, or lets them terminate first.
func (c *cluster) vanish() {
	for _, name := range slices.Sorted(maps.Keys(c.leaving)) {
		pod := c.pods()[name]
		if pod == nil {
			delete(c.leaving, name)
			continue
		}
		c.edit(func(pods map[string]*corev1.Pod) {
			if c.rand.IntN(2) == 0 {
				pods[name] = pod.DeepCopy()
				pods[name].DeletionTimestamp = &metav1.Time{Time: c.now}
			}
			delete(pods, name)
		})
		delete(c.leaving, name)
		c.logf("delete %s", name)
	}
}

// begin reads for a recount. finish writes it if the record has not changed.
func (c *cluster) begin() {
	c.recount, c.recountVersion = c.spread.DeepCopy(), c.version
	pods := make([]*corev1.Pod, 0, len(c.history[c.cached]))
	for _, name := range slices.Sorted(maps.Keys(c.history[c.cached])) {
		pods = append(pods, c.history[c.cached][name])
	}
	Recount(c.recount, pods, 10, Unversioned, c.now)
}

func (c *cluster) finish() {
	if c.recount != nil && c.recountVersion == c.version {
		c.spread = c.recount
		c.version++
		c.logf("recount %v", c.spread.Status.SubsetStatuses)
	}
	c.recount = nil
}

func (c *cluster) step() {
	switch c.rand.IntN(10) {
	case 0, 1:
		c.create()
	case 2, 3:
		c.arrive()
	case 4:
		c.remove()
	case 5:
		c.cached += c.rand.IntN(len(c.history) - c.cached)
	case 6:
		c.begin()
	case 7:
		c.finish()
	case 8:
		c.vanish()
	case 9:
		// What was admitted happens within a second. A cache lags at most as long.
		for len(c.granted) > 0 {
			c.arrive()
		}
		c.vanish()
		c.cached = len(c.history) - 1
		c.finish()
		c.now = c.now.Add(time.Duration(c.rand.IntN(4)) * time.Second)
	}
}

// bound checks that no subset has more Pods than it may have. A Pod whose deletion was admitted does not count.
func (c *cluster) bound() {
	counts := map[string]int{}
	for name, pod := range c.pods() {
		if matched, _ := MatchedOf(pod); !c.leaving[name] && pod.DeletionTimestamp == nil {
			counts[matched.Subset]++
		}
	}
	for _, pod := range c.granted {
		matched, _ := MatchedOf(pod)
		counts[matched.Subset]++
	}
	require.LessOrEqual(c.t, counts["a"], 3, "%v", c.log)
	require.LessOrEqual(c.t, counts["b"], 2, "%v", c.log)
}

// Case workloadspread 8.
func TestSubsetNeverHasMorePodsThanItMay(t *testing.T) {
	for seed := range uint64(100) {
		c := newCluster(t, seed)
		for range 300 {
			c.step()
			c.bound()
		}
		// At rest, the record is what the Pods say.
		for len(c.granted) > 0 {
			c.arrive()
		}
		c.vanish()
		c.now = c.now.Add(time.Minute)
		c.cached = len(c.history) - 1
		c.begin()
		c.finish()
		for i, limit := range []int32{3, 2} {
			status := c.spread.Status.SubsetStatuses[i]
			require.Empty(t, status.CreatingPods)
			require.Empty(t, status.DeletingPods)
			require.Equal(t, limit, status.Replicas+status.MissingReplicas)
		}
	}
}
