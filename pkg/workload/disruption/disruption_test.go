package disruption

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// newPod returns a Pod that serves.
func newPod(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ns", UID: types.UID(name), ResourceVersion: "1", Labels: map[string]string{"app": "web"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Image: "app:1", ImageID: "sha256:1"}},
		},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func notReady(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }

func annotated(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations = map[string]string{key: value} }
}

func labelled(key string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Labels[key] = "x" } }

// newBudget returns the base of the cases: 10 replicas, all available; 3 may be unavailable.
func newBudget(edits ...func(*v1beta1.PodUnavailableBudget)) *v1beta1.PodUnavailableBudget {
	budget := &v1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", Generation: 1},
		Spec:       v1beta1.PodUnavailableBudgetSpec{MaxUnavailable: new(intstr.FromString("30%"))},
		Status: v1beta1.PodUnavailableBudgetStatus{
			ObservedGeneration: 1, TotalReplicas: 10, DesiredAvailable: 7, CurrentAvailable: 10, UnavailableAllowed: 3,
		},
	}
	for _, edit := range edits {
		edit(budget)
	}
	return budget
}

func used(b *v1beta1.PodUnavailableBudget) { b.Status.UnavailableAllowed = 0 }

func protecting(operations ...v1beta1.PubOperation) func(*v1beta1.PodUnavailableBudget) {
	return func(b *v1beta1.PodUnavailableBudget) { b.Spec.ProtectOperations = operations }
}

func evicting(policy v1beta1.UnhealthyPodEvictionPolicyType) func(*v1beta1.PodUnavailableBudget) {
	return func(b *v1beta1.PodUnavailableBudget) { b.Spec.UnhealthyPodEvictionPolicy = &policy }
}

func grants(n int) func(*v1beta1.PodUnavailableBudget) {
	return func(b *v1beta1.PodUnavailableBudget) {
		b.Status.DisruptedPods = map[string]metav1.Time{}
		for i := range n {
			b.Status.DisruptedPods[fmt.Sprintf("gone-%d", i)] = metav1.NewTime(now)
		}
	}
}

func granted(at time.Time) func(*v1beta1.PodUnavailableBudget) {
	return func(b *v1beta1.PodUnavailableBudget) {
		b.Status.DisruptedPods = map[string]metav1.Time{"p": metav1.NewTime(at)}
	}
}

// decide asks a budget the way admission does.
func decide(budget *v1beta1.PodUnavailableBudget, request *Request) error {
	if Exempt(request) {
		return nil
	}
	return Spend(budget, request, now)
}

// Cases podunavailablebudget 2, 4, 5, 6, 7, 8, 9, 16, 23, 30.
func TestDecisions(t *testing.T) {
	const (
		phrase = "pub unavailable allowed is negative"
		left   = "0 are allowed of 10 available Pods, 7 of 10 replicas must stay available"
	)
	pod := newPod("p")
	tests := map[string]struct {
		budget  *v1beta1.PodUnavailableBudget
		request Request
		refused []string
		// spent is how much unavailableAllowed decreases.
		spent int32
	}{
		"a deletion":                    {budget: newBudget(), spent: 1},
		"the one too many":              {budget: newBudget(used), refused: []string{phrase, "no disruption allowed", left, "ns/b", "no-protect"}},
		"a dry run":                     {budget: newBudget(), request: Request{DryRun: true}},
		"a dry run too many":            {budget: newBudget(used), request: Request{DryRun: true}, refused: []string{phrase}},
		"not ready":                     {budget: newBudget(used), request: Request{Pod: newPod("p", notReady)}},
		"not protected":                 {budget: newBudget(used), request: Request{Pod: newPod("p", annotated("pub.kruise.io/no-protect", "true"))}},
		"not protected, otherwise":      {budget: newBudget(used), request: Request{Pod: newPod("p", annotated("pub.kruise.io/no-protect", "1"))}},
		"protected":                     {budget: newBudget(used), request: Request{Pod: newPod("p", annotated("pub.kruise.io/no-protect", "no"))}, refused: []string{phrase}},
		"eviction where deletions are":  {budget: newBudget(used, protecting("DELETE")), request: Request{Operation: "EVICT"}},
		"deletion where deletions are":  {budget: newBudget(used, protecting("DELETE")), refused: []string{phrase}},
		"an eviction":                   {budget: newBudget(used), request: Request{Operation: "EVICT"}, refused: []string{phrase}},
		"an update":                     {budget: newBudget(used), request: Request{Operation: "UPDATE"}, refused: []string{phrase}},
		"none must stay":                {budget: newBudget(used, func(b *v1beta1.PodUnavailableBudget) { b.Status.DesiredAvailable = 0 })},
		"marked unavailable":            {budget: newBudget(used), request: Request{Pod: newPod("p", labelled("unavailable-pod.kruise.io/x"))}},
		"too many grants":               {budget: newBudget(grants(2001)), refused: []string{"DisruptedPods and UnavailablePods map too big", "2001"}},
		"as many as fit":                {budget: newBudget(grants(2000)), spent: 1},
		"granted before":                {budget: newBudget(used, granted(now.Add(-time.Second)))},
		"granted before, and an update": {budget: newBudget(used, granted(now.Add(-9*time.Second))), request: Request{Operation: "UPDATE"}},
		"new":                           {budget: newBudget(func(b *v1beta1.PodUnavailableBudget) { b.Status = v1beta1.PodUnavailableBudgetStatus{} }), refused: []string{"not observed yet", "try again"}},
		"changed":                       {budget: newBudget(func(b *v1beta1.PodUnavailableBudget) { b.Generation = 2 }), refused: []string{"not observed yet"}},
		"new, of what is not protected": {budget: newBudget(protecting("UPDATE"), func(b *v1beta1.PodUnavailableBudget) { b.Status = v1beta1.PodUnavailableBudgetStatus{} })},
		"ignored": {budget: newBudget(used, func(b *v1beta1.PodUnavailableBudget) {
			b.Spec.IgnoredPodSelector = &metav1.LabelSelector{MatchLabels: pod.Labels}
		})},
		"goes already":                          {budget: newBudget(used), request: Request{Pod: newPod("p", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now)) })}},
		"finished":                              {budget: newBudget(used), request: Request{Pod: newPod("p", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })}},
		"resize":                                {budget: newBudget(used), request: Request{Operation: "RESIZE"}},
		"resize, bounded as an update":          {budget: newBudget(used), request: Request{Operation: "RESIZE", ResizeIsUpdate: true}, refused: []string{phrase}},
		"resize, bounded as such":               {budget: newBudget(used, protecting("RESIZE")), request: Request{Operation: "RESIZE"}, refused: []string{phrase}},
		"evicted though sick, by default":       {budget: newBudget(used), request: Request{Operation: "EVICT", Pod: newPod("p", notReady)}},
		"evicted though sick, always":           {budget: newBudget(used, evicting(v1beta1.AlwaysAllow)), request: Request{Operation: "EVICT", Pod: newPod("p", notReady)}},
		"evicted though sick, of a healthy one": {budget: newBudget(used, evicting(v1beta1.IfHealthyBudget)), request: Request{Operation: "EVICT", Pod: newPod("p", notReady)}},
		"deleted though sick, of a sick one": {budget: newBudget(used, evicting(v1beta1.IfHealthyBudget), func(b *v1beta1.PodUnavailableBudget) { b.Status.CurrentAvailable = 6 }),
			request: Request{Pod: newPod("p", notReady)}},
		"evicted though sick, of a sick one": {budget: newBudget(used, evicting(v1beta1.IfHealthyBudget), func(b *v1beta1.PodUnavailableBudget) { b.Status.CurrentAvailable = 6 }),
			request: Request{Operation: "EVICT", Pod: newPod("p", notReady)}, refused: []string{phrase}},
		"evicted before it ran": {budget: newBudget(used, evicting(v1beta1.IfHealthyBudget), func(b *v1beta1.PodUnavailableBudget) { b.Status.CurrentAvailable = 6 }),
			request: Request{Operation: "EVICT", Pod: newPod("p", notReady, func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := test.request
			if request.Pod == nil {
				request.Pod = pod
			}
			if request.Operation == "" {
				request.Operation = v1beta1.PubDeleteOperation
			}
			before := test.budget.DeepCopy()
			err := decide(test.budget, &request)
			assert.Equal(t, test.spent, before.Status.UnavailableAllowed-test.budget.Status.UnavailableAllowed)
			if len(test.refused) == 0 {
				require.NoError(t, err)
				return
			}
			assert.Equal(t, before, test.budget, "a refusal writes nothing")
			var refusal *Refusal
			require.ErrorAs(t, err, &refusal)
			assert.Equal(t, refusal.Reason == NotObserved, refusal.RetryAfter() > 0, "only what passes by itself has a time")
			for _, part := range test.refused {
				assert.ErrorContains(t, err, part)
			}
		})
	}
}

// Case podunavailablebudget 10.
func TestUpdateGrantServesTheNextUpdate(t *testing.T) {
	budget := newBudget()
	update := &Request{Operation: v1beta1.PubUpdateOperation, Pod: newPod("p")}
	require.NoError(t, Spend(budget, update, now))
	require.NoError(t, Spend(budget, update, now.Add(time.Second)))
	assert.EqualValues(t, 2, budget.Status.UnavailableAllowed)
	assert.Equal(t, map[string]metav1.Time{"p": metav1.NewTime(now)}, budget.Status.UnavailablePods)
	assert.Empty(t, budget.Status.DisruptedPods)

	require.NoError(t, Spend(budget, update, now.Add(9*time.Second)))
	assert.Equal(t, map[string]metav1.Time{"p": metav1.NewTime(now.Add(9 * time.Second))}, budget.Status.UnavailablePods,
		"it must not expire while it is used")
	require.NoError(t, Spend(budget, &Request{Operation: v1beta1.PubDeleteOperation, Pod: newPod("p")}, now.Add(18*time.Second)))
	assert.Empty(t, budget.Status.UnavailablePods)
	assert.Contains(t, budget.Status.DisruptedPods, "p", "a deletion takes longer to be seen")
	assert.EqualValues(t, 2, budget.Status.UnavailableAllowed)
}

func TestGrantDoesNotApplyToALaterPod(t *testing.T) {
	later := newPod("p", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now) })
	budget := newBudget(granted(now.Add(-time.Second)))
	require.NoError(t, Spend(budget, &Request{Operation: v1beta1.PubDeleteOperation, Pod: later}, now))
	assert.EqualValues(t, 2, budget.Status.UnavailableAllowed)
	budget = newBudget(used, granted(now.Add(-time.Second)))
	require.Error(t, Spend(budget, &Request{Operation: v1beta1.PubDeleteOperation, Pod: later}, now))
}

// kube-apiserver asks again when the Pod changes during the request. API times have whole seconds, so they do not tell whether the
// grant is for this Pod or for one before it.
func TestRepeatedReviewOfANewPodSpendsOnce(t *testing.T) {
	pod := newPod("p", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now) })
	budget := newBudget()
	request := &Request{Operation: v1beta1.PubDeleteOperation, Pod: pod}
	require.NoError(t, Spend(budget, request, now))
	left := budget.Status.UnavailableAllowed
	require.NoError(t, Spend(budget, request, now.Add(time.Second)))
	assert.Equal(t, left, budget.Status.UnavailableAllowed)

	require.NoError(t, Spend(budget, &Request{Operation: v1beta1.PubDeleteOperation, Pod: pod}, now.Add(time.Second)))
	assert.Equal(t, left-1, budget.Status.UnavailableAllowed, "without that knowledge the Pod may be another")
}

// A client can retry without end if something else refuses its request. Its Pod must not count as unavailable forever.
// Case podunavailablebudget 12a.
func TestGrantThatIsRenewedEndlesslyEnds(t *testing.T) {
	for name, operations := range map[string][]v1beta1.PubOperation{
		"a deletion": {"DELETE"}, "an eviction": {"EVICT"}, "an update": {"UPDATE"},
		"an update, then a deletion": {"UPDATE", "DELETE"}, "both in turn": {"UPDATE", "UPDATE", "EVICT"},
	} {
		for _, pause := range []time.Duration{time.Second, 1300 * time.Millisecond, 4 * time.Second, 6 * time.Second, 9 * time.Second} {
			t.Run(fmt.Sprintf("%s each %s", name, pause), func(t *testing.T) {
				budget, refused := newBudget(), 0
				for i := 0; refused < 3 && i < 100; i++ {
					at := now.Add(time.Duration(i) * pause)
					before := budget.DeepCopy()
					err := Spend(budget, &Request{Operation: operations[min(i, len(operations)-1)], Pod: newPod("a")}, at)
					if err != nil {
						assert.Greater(t, at, now.Add(25*time.Second))
						assert.ErrorContains(t, err, "the disruption of Pod a was allowed at 2026-01-01T12:00:00Z and has not happened")
						assert.Equal(t, before, budget, "a refusal writes nothing")
						refused++
						continue
					}
					require.Zero(t, refused, "the grant is used up until it ends")
					assert.EqualValues(t, 2, budget.Status.UnavailableAllowed, "one grant")
					during, err := Recount(budget, seenIn(tenPods(), tenPods(), at.Add(5*time.Second-1)))
					require.NoError(t, err)
					assert.EqualValues(t, 9, during.Status.CurrentAvailable, "it must not end during the request")
					assert.Equal(t, budget.Status.RenewedPods, during.Status.RenewedPods, "a count forgets no first grant")
				}
				require.Equal(t, 3, refused)

				after, err := Recount(budget, seenIn(tenPods(), tenPods(), now.Add(30*time.Second)))
				require.NoError(t, err)
				assert.Equal(t, newBudget().Status, after.Status, "it stands for 30 seconds in all")
				budget.Status = after.Status
				require.NoError(t, Spend(budget, &Request{Operation: operations[0], Pod: newPod("a")}, now.Add(40*time.Second)), "it competes again")
				assert.EqualValues(t, 2, budget.Status.UnavailableAllowed)
				assert.Empty(t, budget.Status.RenewedPods, "it is a new grant")
			})
		}
	}
}

func TestNextPodOfTheSameNameHasItsOwnGrant(t *testing.T) {
	budget := newBudget()
	for _, after := range []time.Duration{0, 6 * time.Second} {
		require.NoError(t, Spend(budget, &Request{Operation: v1beta1.PubDeleteOperation, Pod: newPod("p")}, now.Add(after)))
	}
	require.Equal(t, map[string]metav1.Time{"p": metav1.NewTime(now)}, budget.Status.RenewedPods)
	later := newPod("p", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(8 * time.Second)) })
	require.NoError(t, Spend(budget, &Request{Operation: v1beta1.PubDeleteOperation, Pod: later}, now.Add(20*time.Second)))
	assert.Empty(t, budget.Status.RenewedPods, "the time of a Pod that is gone")
	assert.EqualValues(t, 1, budget.Status.UnavailableAllowed)
}

func TestDryRunRenewsNothing(t *testing.T) {
	budget := newBudget(granted(now))
	before := budget.DeepCopy()
	require.NoError(t, Spend(budget, &Request{Operation: v1beta1.PubDeleteOperation, Pod: newPod("p"), DryRun: true}, now.Add(9*time.Second)))
	assert.Equal(t, before, budget)
}

func TestGrantLivesForItsFullLifetime(t *testing.T) {
	budget := newBudget()
	at := now.Add(400 * time.Millisecond)
	require.NoError(t, Spend(budget, &Request{Operation: v1beta1.PubDeleteOperation, Pod: newPod("p")}, at))
	assert.False(t, budget.Status.DisruptedPods["p"].Time.Before(at), "the API has whole seconds")
}

// Cases podunavailablebudget 1, 13, 14, 15, 16.
func TestDesired(t *testing.T) {
	number, percent := func(n int) *intstr.IntOrString { return new(intstr.FromInt(n)) }, func(s string) *intstr.IntOrString { return new(intstr.FromString(s)) }
	tests := map[string]struct {
		max, min *intstr.IntOrString
		total    int32
		want     int32
	}{
		"30% of 10":                {max: percent("30%"), total: 10, want: 7},
		"30% of 5":                 {max: percent("30%"), total: 5, want: 3},
		"at least 80% of 7":        {min: percent("80%"), total: 7, want: 6},
		"10% of 3":                 {max: percent("10%"), total: 3, want: 2},
		"all of them":              {max: percent("100%"), total: 10, want: 0},
		"more than there are":      {max: number(5), total: 3, want: 0},
		"none":                     {max: number(0), total: 3, want: 3},
		"at least more than there": {min: number(5), total: 3, want: 5},
		"at least two":             {min: number(2), total: 3, want: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := &v1beta1.PodUnavailableBudgetSpec{MaxUnavailable: test.max, MinAvailable: test.min}
			got, err := Desired(spec, test.total)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
	for _, spec := range []v1beta1.PodUnavailableBudgetSpec{{}, {MaxUnavailable: percent("x")}, {MinAvailable: percent("x")}} {
		_, err := Desired(&spec, 10)
		require.Error(t, err)
	}
	assert.EqualValues(t, 4, Total(&v1beta1.PodUnavailableBudgetSpec{}, 4))
	assert.EqualValues(t, 15, Total(&v1beta1.PodUnavailableBudgetSpec{ProtectTotalReplicas: ptr.To[int32](15)}, 4))
}
