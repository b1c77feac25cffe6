package disruption

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

// seenIn returns an observation whose cache differs from the server.
func seenIn(cached, live []*corev1.Pod, at time.Time) *Observation {
	return &Observation{
		Pods: cached, Replicas: 10, Now: at,
		Cached: func(name string) *corev1.Pod { return named(cached, name) },
		Server: NewServer(func(name string) (*metav1.ObjectMeta, error) {
			if pod := named(live, name); pod != nil {
				return &pod.ObjectMeta, nil
			}
			return nil, nil
		}),
	}
}

func named(pods []*corev1.Pod, name string) *corev1.Pod {
	for _, pod := range pods {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

func tenPods() (pods []*corev1.Pod) {
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		pods = append(pods, newPod(name))
	}
	return pods
}

// but returns a copy of the Pods in which one Pod is changed.
func but(pods []*corev1.Pod, name string, edit func(*corev1.Pod)) []*corev1.Pod {
	changed := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		if pod.Name == name {
			pod = pod.DeepCopy()
			pod.ResourceVersion += "1"
			edit(pod)
		}
		changed = append(changed, pod)
	}
	return changed
}

func goes(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.NewTime(now)) }

func without(pods []*corev1.Pod, name string) (others []*corev1.Pod) {
	for _, pod := range pods {
		if pod.Name != name {
			others = append(others, pod)
		}
	}
	return others
}

// Case podunavailablebudget 1.
func TestRecountOfTenPods(t *testing.T) {
	count, err := Recount(newBudget(func(b *v1beta1.PodUnavailableBudget) { b.Status = v1beta1.PodUnavailableBudgetStatus{} }),
		seenIn(tenPods(), tenPods(), now))
	require.NoError(t, err)
	assert.Equal(t, newBudget().Status, count.Status)
	assert.Zero(t, count.Recheck)
}

// Cases podunavailablebudget 10, 12.
func TestStandingGrants(t *testing.T) {
	pods := tenPods()
	created := func(after time.Duration) []*corev1.Pod {
		return but(pods, "a", func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(now.Add(after)) })
	}
	tests := map[string]struct {
		cached, live []*corev1.Pod
		after        time.Duration
		update       bool
		stands       bool
		current      int32
		recheck      time.Duration
		notDeleted   int
	}{
		"not observed yet":                       {cached: pods, live: pods, stands: true, current: 9, recheck: 20 * time.Second},
		"seen":                                   {cached: but(pods, "a", goes), live: but(pods, "a", goes), current: 9},
		"seen, and gone since":                   {cached: but(pods, "a", goes), live: without(pods, "a"), stands: true, current: 9, recheck: time.Second},
		"gone":                                   {cached: without(pods, "a"), live: without(pods, "a"), current: 9},
		"there, and the cache does not know":     {cached: without(pods, "a"), live: pods, stands: true, current: 9, recheck: time.Second},
		"another of that name":                   {cached: but(pods, "a", goes), live: but(pods, "a", func(p *corev1.Pod) { p.UID = "new" }), stands: true, current: 9, recheck: time.Second},
		"never came":                             {cached: pods, live: pods, after: 20 * time.Second, current: 10, notDeleted: 1},
		"never came, and the Pod is as old":      {cached: created(0), live: created(0), after: 20 * time.Second, current: 10, notDeleted: 1},
		"a Pod of that name came after":          {cached: created(time.Second), live: created(time.Second), after: 20 * time.Second, current: 10},
		"a Pod of that name came, not expired":   {cached: created(time.Second), live: created(time.Second), stands: true, current: 9, recheck: 20 * time.Second},
		"came late, and the cache does not know": {cached: pods, live: but(pods, "a", goes), after: 20 * time.Second, stands: true, current: 9, recheck: time.Second},
		"an update not seen yet":                 {cached: pods, live: pods, update: true, after: 9 * time.Second, stands: true, current: 9, recheck: time.Second},
		"an update that changed nothing":         {cached: pods, live: pods, update: true, after: 10 * time.Second, current: 10},
		"an update under way":                    {cached: but(pods, "a", notReady), live: but(pods, "a", notReady), update: true, after: 10 * time.Second, current: 9},
		"an update that the cache does not know": {cached: pods, live: but(pods, "a", notReady), update: true, after: 10 * time.Second, stands: true, current: 9, recheck: time.Second},
		"an update that the node does not know":  {cached: unseen(pods), live: unseen(pods), update: true, after: 10 * time.Second, current: 9},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			grants := map[string]metav1.Time{"a": metav1.NewTime(now)}
			budget := newBudget(func(b *v1beta1.PodUnavailableBudget) { b.Status.DisruptedPods = grants })
			if test.update {
				budget = newBudget(func(b *v1beta1.PodUnavailableBudget) { b.Status.UnavailablePods = grants })
			}
			count, err := Recount(budget, seenIn(test.cached, test.live, now.Add(test.after)))
			require.NoError(t, err)
			assert.Equal(t, test.stands, len(count.Status.DisruptedPods)+len(count.Status.UnavailablePods) == 1, "stands")
			assert.Equal(t, test.current, count.Status.CurrentAvailable)
			assert.Equal(t, test.current-7, count.Status.UnavailableAllowed)
			assert.Equal(t, test.recheck, count.Recheck)
			assert.Len(t, count.NotDeleted, test.notDeleted)
		})
	}
}

func unseen(pods []*corev1.Pod) []*corev1.Pod {
	return but(pods, "a", func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = 2, 1 })
}

func TestGrantIsKeptWhileThePodCannotBeRead(t *testing.T) {
	seen := seenIn(nil, nil, now)
	seen.Server = NewServer(func(string) (*metav1.ObjectMeta, error) { return nil, errors.New("no route") })
	_, err := Recount(newBudget(granted(now)), seen)
	require.ErrorContains(t, err, "read Pod p: no route")
	_, err = Recount(newBudget(func(b *v1beta1.PodUnavailableBudget) { b.Spec.MaxUnavailable = nil }), seen)
	require.Error(t, err)
}

// Case podunavailablebudget 13.
func TestFewerReplicasNeedFewerPods(t *testing.T) {
	seen := seenIn(tenPods(), tenPods(), now)
	seen.Replicas = 5
	count, err := Recount(newBudget(), seen)
	require.NoError(t, err)
	assert.EqualValues(t, 5, count.Status.TotalReplicas)
	assert.EqualValues(t, 3, count.Status.DesiredAvailable)
	assert.EqualValues(t, 7, count.Status.UnavailableAllowed)
}

// countAgain recounts with the Server of an earlier recount.
func countAgain(t *testing.T, server *Server, cached []*corev1.Pod, grantedAt, at time.Time) *Count {
	t.Helper()
	seen := seenIn(cached, nil, at)
	seen.Server = server
	count, err := Recount(newBudget(func(b *v1beta1.PodUnavailableBudget) {
		b.Status.DisruptedPods = map[string]metav1.Time{"a": metav1.NewTime(grantedAt)}
	}), seen)
	require.NoError(t, err)
	return count
}

// A cached answer about a deleted Pod applies only to the grant that it was read for.
func TestRecountIsRepeated(t *testing.T) {
	pods := tenPods()
	going := but(pods, "a", goes)
	var live []*corev1.Pod
	looks := 0
	newServer := func() *Server {
		return NewServer(func(name string) (*metav1.ObjectMeta, error) {
			looks++
			if pod := named(live, name); pod != nil {
				return &pod.ObjectMeta, nil
			}
			return nil, nil
		})
	}
	for name, gone := range map[string][]*corev1.Pod{"gone": without(pods, "a"), "going": going} {
		t.Run(name, func(t *testing.T) {
			server := newServer()
			live, looks = gone, 0
			for range 3 {
				assert.Empty(t, countAgain(t, server, gone, now, now).Status.DisruptedPods)
			}
			assert.Equal(t, 1, looks)
			live = but(pods, "a", func(pod *corev1.Pod) { pod.UID = "new" })
			assert.Empty(t, countAgain(t, server, gone, now, now).Status.DisruptedPods, "that grant is over")
			later := countAgain(t, server, gone, now.Add(time.Second), now.Add(time.Second))
			assert.Len(t, later.Status.DisruptedPods, 1, "its successor has a grant of its own, and the cache does not know it")
		})
	}

	server := newServer()
	live = pods
	assert.Len(t, countAgain(t, server, without(pods, "a"), now, now).Status.DisruptedPods, 1, "the cache does not know the Pod yet")
	live = going
	late := countAgain(t, server, pods, now, now.Add(DeletionExpiry))
	assert.Len(t, late.Status.DisruptedPods, 1, "it was deleted after the read")

	server, live, looks = newServer(), pods, 0
	for range 3 {
		assert.Empty(t, countAgain(t, server, pods, now, now.Add(DeletionExpiry)).Status.DisruptedPods)
	}
	assert.Equal(t, 1, looks, "it expired, and no Pod was deleted")
	live = going
	assert.Empty(t, countAgain(t, server, going, now, now.Add(DeletionExpiry)).Status.DisruptedPods)
	assert.Equal(t, 2, looks, "the cache shows another one than was seen")
}

func TestGrantsOfOneNameHaveDifferentTimes(t *testing.T) {
	for name, operations := range map[string][]v1beta1.PubOperation{
		"deletions": {"DELETE", "DELETE"}, "updates": {"UPDATE", "UPDATE"}, "a deletion of what was updated": {"UPDATE", "DELETE"},
	} {
		t.Run(name, func(t *testing.T) {
			budget := newBudget()
			require.NoError(t, Spend(budget, &Request{Operation: operations[0], Pod: newPod("p")}, now))
			first, found := grantOf(&budget.Status, &Request{Pod: newPod("p")})
			require.True(t, found)
			successor := newPod("p", func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(now) })
			require.NoError(t, Spend(budget, &Request{Operation: operations[1], Pod: successor}, now))
			second, found := grantOf(&budget.Status, &Request{Pod: newPod("p")})
			require.True(t, found)
			assert.Equal(t, first.Add(time.Second), second)
			assert.EqualValues(t, 1, budget.Status.UnavailableAllowed)
		})
	}
}

// A grant updates the status exactly as the next count will, so that count has nothing to write.
func TestRecountAfterAGrantWritesNothing(t *testing.T) {
	for _, operation := range []v1beta1.PubOperation{"DELETE", "EVICT", "UPDATE"} {
		t.Run(string(operation), func(t *testing.T) {
			budget := newBudget()
			require.NoError(t, Spend(budget, &Request{Operation: operation, Pod: newPod("a"), DryRun: true}, now))
			assert.Equal(t, newBudget(), budget)
			require.NoError(t, Spend(budget, &Request{Operation: operation, Pod: newPod("a")}, now))
			count, err := Recount(budget, seenIn(tenPods(), tenPods(), now))
			require.NoError(t, err)
			assert.Equal(t, budget.Status, count.Status)
		})
	}
	budget := newBudget()
	budget.Status.CurrentAvailable = 9 // the node has not seen the newest spec of a
	require.NoError(t, Spend(budget, &Request{Operation: "UPDATE", Pod: unseen(tenPods())[0]}, now))
	assert.EqualValues(t, 9, budget.Status.CurrentAvailable)
}
