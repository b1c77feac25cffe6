package podunavailablebudget

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/admission"
	genericinitializer "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/features"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/protectionlog"
	"kruise.io/kruise/pkg/workload/disruption"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// stored holds the budgets in the store. The cache may differ.
type stored map[string]*policyv1beta1.PodUnavailableBudget

func (s stored) UpdateStatus(_ context.Context, _, name string, update func(*policyv1beta1.PodUnavailableBudget) error) error {
	budget, found := s[name]
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "podunavailablebudgets"}, name)
	}
	changed := budget.DeepCopy()
	if err := update(changed); err != nil {
		return err
	}
	s[name] = changed
	return nil
}

// world is a plugin with its clients and stores.
type world struct {
	*Plugin
	t      *testing.T
	stored stored
	kruise *kruisefake.Clientset
	kube   *fake.Clientset
	closed error
	events *record.FakeRecorder
	log    bytes.Buffer
	known  *policyv1beta1.PodUnavailableBudget
}

// newWorld creates a CloneSet c, a Pod p, and a budget b that allows left more disruptions.
func newWorld(t *testing.T, left int32, gates string, host ...runtime.Object) *world {
	t.Helper()
	budget := &policyv1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", UID: "b", Generation: 1},
		Spec: policyv1beta1.PodUnavailableBudgetSpec{
			MaxUnavailable: new(intstr.FromString("30%")),
			TargetRef:      &policyv1beta1.TargetReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "c"},
		},
		Status: policyv1beta1.PodUnavailableBudgetStatus{
			ObservedGeneration: 1, TotalReplicas: 10, DesiredAvailable: 7, CurrentAvailable: 10, UnavailableAllowed: left,
		},
	}
	w := &world{Plugin: New(clocktesting.NewFakePassiveClock(now)), t: t, stored: stored{"b": budget.DeepCopy()}, known: budget}
	require.Error(t, w.ValidateInitialization())
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.Set(gates))
	namespaces := []runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going"}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}},
	}
	client := fake.NewClientset(append(host, newPod())...)
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, namespace := range namespaces {
		require.NoError(t, factory.Core().V1().Namespaces().Informer().GetIndexer().Add(namespace))
	}
	kruise := kruisefake.NewClientset(&v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", UID: "c"}})
	w.kruise, w.kube = kruise, client
	own := externalversions.NewSharedInformerFactory(kruise, 0)
	drained := make(chan struct{})
	t.Cleanup(func() { close(drained) })
	for _, i := range []admission.PluginInitializer{
		genericinitializer.New(client, nil, factory, nil, nil, nil, drained, meta.NewDefaultRESTMapper(nil)),
		&initializer.Initializer{
			Kruise: kruise, Features: gate, Metadata: metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()),
			ProtectionLog: protectionlog.New(&w.log),
		},
		&initializer.Stores{Informers: own, Budgets: w.stored, Check: func() error { return w.closed }},
	} {
		i.Initialize(w.Plugin)
	}
	require.NoError(t, w.ValidateInitialization())
	w.events = record.NewFakeRecorder(100)
	w.Plugin.events = w.events
	w.SetReadyFunc(func() bool { return true })
	require.NoError(t, w.Plugin.known.Add(budget))
	return w
}

func newPod(edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", Namespace: "ns", UID: "p", Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "c", UID: "c", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func ownedBy(apiVersion, kind, name, uid string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences[0] = metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}
	}
}

func image(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "app:2" }

// asked is a request.
type asked struct {
	operation   admission.Operation
	subresource string
	object, old runtime.Object
	dryRun      bool
}

func deletion(pod *corev1.Pod) asked { return asked{operation: admission.Delete, old: pod} }

func eviction(dryRun ...string) asked {
	return asked{operation: admission.Create, subresource: "eviction", object: &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{DryRun: dryRun}}}
}

func update(old, pod *corev1.Pod) asked {
	return asked{operation: admission.Update, object: pod, old: old}
}

func (w *world) ask(a asked) error {
	namespace := "ns"
	if pod, ok := a.old.(*corev1.Pod); ok {
		namespace = pod.Namespace
	}
	return w.Validate(w.t.Context(), admission.NewAttributesRecord(a.object, a.old, corev1.SchemeGroupVersion.WithKind("Pod"), namespace, "p",
		corev1.SchemeGroupVersion.WithResource("pods"), a.subresource, a.operation, nil, a.dryRun, &user.DefaultInfo{Name: "jane"}), nil)
}

const everyGate = "PodUnavailableBudgetUpdateGate=true"

// Cases podunavailablebudget 2, 5, 8, 9, 11, 26.
func TestValidate(t *testing.T) {
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: "r", Namespace: "ns", UID: "r",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "c", UID: "c", Controller: new(true)}},
	}}
	tests := map[string]struct {
		asked asked
		gates string
		// code is the status code of the refusal if the budget allows nothing, or zero if the budget does not apply.
		code int
	}{
		"a deletion":                      {asked: deletion(newPod()), code: http.StatusForbidden},
		"an eviction":                     {asked: eviction(), code: http.StatusTooManyRequests},
		"an update":                       {asked: update(newPod(), newPod(image)), gates: everyGate, code: http.StatusForbidden},
		"labels alone":                    {asked: update(newPod(), newPod(func(p *corev1.Pod) { p.Labels = nil })), gates: everyGate},
		"an update without its gate":      {asked: update(newPod(), newPod(image))},
		"a resize":                        {asked: asked{operation: admission.Update, subresource: "resize", old: newPod(), object: newPod(image)}, gates: everyGate, code: http.StatusForbidden},
		"another subresource":             {asked: asked{operation: admission.Update, subresource: "status", old: newPod(), object: newPod(image)}, gates: everyGate},
		"a deletion without its gate":     {asked: deletion(newPod()), gates: "PodUnavailableBudgetDeleteGate=false"},
		"an eviction without its gate":    {asked: eviction(), gates: "PodUnavailableBudgetDeleteGate=false"},
		"a collection":                    {asked: asked{operation: admission.Delete}},
		"not ready":                       {asked: deletion(newPod(func(p *corev1.Pod) { p.Status.Conditions = nil }))},
		"its owner is gone":               {asked: deletion(newPod(ownedBy("apps.kruise.io/v1beta1", "CloneSet", "gone", "gone")))},
		"its owner is another":            {asked: deletion(newPod(ownedBy("apps.kruise.io/v1beta1", "CloneSet", "c", "old")))},
		"below what it owns":              {asked: deletion(newPod(ownedBy("apps/v1", "ReplicaSet", "r", "r"))), code: http.StatusForbidden},
		"of a kind that is not served":    {asked: deletion(newPod(ownedBy("example.com/v1", "Game", "g", "g")))},
		"of another workload":             {asked: deletion(newPod(ownedBy("apps/v1", "ReplicaSet", "gone", "gone")))},
		"in a namespace without a budget": {asked: deletion(newPod(func(p *corev1.Pod) { p.Namespace = "other" }))},
		"the annotation makes no budget another's": {asked: deletion(newPod(func(p *corev1.Pod) {
			p.OwnerReferences = nil
			p.Annotations = map[string]string{"kruise.io/related-pub": "b"}
		}))},
		"without the annotation": {asked: deletion(newPod(func(p *corev1.Pod) { p.Annotations = nil })), code: http.StatusForbidden},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, test.gates, replicaSet.DeepCopy())
			require.NoError(t, w.ask(test.asked))
			status := w.stored["b"].Status
			granted := len(status.DisruptedPods) + len(status.UnavailablePods)
			assert.Equal(t, test.code != 0, granted == 1, "it is recorded")
			assert.Empty(t, w.events.Events)

			w = newWorld(t, 0, test.gates, replicaSet.DeepCopy())
			before := w.stored["b"].DeepCopy()
			err := w.ask(test.asked)
			assert.Equal(t, before, w.stored["b"])
			if test.code == 0 {
				require.NoError(t, err)
				return
			}
			var status2 *apierrors.StatusError
			require.ErrorAs(t, err, &status2)
			assert.EqualValues(t, test.code, status2.ErrStatus.Code)
			assert.True(t, apierrors.HasStatusCause(err, disruption.Cause))
			assert.ErrorContains(t, err, "pub unavailable allowed is negative")
			_, delays := apierrors.SuggestsClientDelay(err)
			assert.False(t, delays, "client libraries would ask again by themselves")
		})
	}
}

// Case podunavailablebudget 4.
func TestDryRunsSpendNothing(t *testing.T) {
	for name, dry := range map[string]asked{
		"deletion":                     {operation: admission.Delete, old: newPod(), dryRun: true},
		"eviction":                     {operation: admission.Create, subresource: "eviction", object: &policyv1.Eviction{}, dryRun: true},
		"eviction that says so itself": eviction(metav1.DryRunAll),
		"update":                       {operation: admission.Update, old: newPod(), object: newPod(image), dryRun: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, everyGate)
			before := w.stored["b"].DeepCopy()
			require.NoError(t, w.ask(dry))
			assert.Equal(t, before, w.stored["b"])
			w = newWorld(t, 0, everyGate)
			require.Error(t, w.ask(dry))
			assert.Empty(t, w.events.Events)
			assert.Empty(t, w.log.String())
		})
	}
}

// kube-apiserver asks again about a Pod that changes during the request.
func TestRepeatedReviewSpendsOnce(t *testing.T) {
	young := func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(now) }
	w := newWorld(t, 2, everyGate)
	require.NoError(t, w.ask(deletion(newPod(young))))
	require.NoError(t, w.ask(deletion(newPod(young, func(pod *corev1.Pod) { pod.ResourceVersion = "2" }))))
	assert.EqualValues(t, 1, w.stored["b"].Status.UnavailableAllowed)
	require.NoError(t, w.ask(deletion(newPod(young, func(pod *corev1.Pod) { pod.UID = "successor" }))))
	assert.EqualValues(t, 0, w.stored["b"].Status.UnavailableAllowed)
}

// Another webhook refuses the deletion each time, and the client never gives up.
// Case podunavailablebudget 12a.
func TestEndlessRetriesDoNotKeepAGrant(t *testing.T) {
	w := newWorld(t, 1, everyGate)
	clock, ok := w.clock.(*clocktesting.FakePassiveClock)
	require.True(t, ok)
	for after := time.Duration(0); after <= 24*time.Second; after += 2 * time.Second {
		clock.SetTime(now.Add(after))
		require.NoError(t, w.ask(deletion(newPod())))
	}
	require.LessOrEqual(t, w.stored["b"].Status.DisruptedPods["p"].Add(disruption.DeletionExpiry), now.Add(30*time.Second))

	clock.SetTime(now.Add(28 * time.Second))
	assert.True(t, apierrors.IsForbidden(w.ask(deletion(newPod()))))
	evicted := w.ask(eviction())
	require.True(t, apierrors.IsTooManyRequests(evicted), "%v", evicted)
	assert.ErrorContains(t, evicted, "try again after 2026-01-01T12:00:30Z")
	_, delayed := apierrors.SuggestsClientDelay(evicted)
	assert.False(t, delayed, "a client library would sleep, and the user would not learn why")
}

// Case podunavailablebudget 24.
func TestDeletedBudgetAllows(t *testing.T) {
	w := newWorld(t, 0, "")
	delete(w.stored, "b")
	require.NoError(t, w.ask(deletion(newPod())))
}

// TestClosedStoreRefuses checks that a closed store refuses the request immediately. A missing owner or budget
// allows the request, but a closed store does not prove that an object is missing.
func TestClosedStoreRefuses(t *testing.T) {
	closed := apierrors.NewServiceUnavailable("the store is closed: it was wiped")
	refused := func(w *world) {
		t.Helper()
		for _, a := range []asked{deletion(newPod()), eviction()} {
			assert.ErrorContains(t, w.ask(a), "the store is closed: it was wiped")
		}
		assert.Empty(t, w.stored["b"].Status.DisruptedPods)
	}
	w := newWorld(t, 1, "")
	w.closed = closed
	// The cache is empty, and the plugin must not wait for it.
	w.SetReadyFunc(func() bool { return false })
	require.NoError(t, w.Plugin.known.Delete(w.known))
	start := time.Now()
	refused(w)
	assert.Less(t, time.Since(start), 5*time.Second)

	w = newWorld(t, 1, "")
	w.kruise.PrependReactor("get", "clonesets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, closed })
	w.budgets = refusing{closed}
	refused(w)

	w = newWorld(t, 1, "")
	w.budgets = refusing{closed}
	refused(w)
}

// An owner that cannot be read does not refuse the disruptions of Pods that no budget can govern. A budget that governs the Pod without
// a look at its owner decides.
// Case podunavailablebudget 19c.
func TestOwnerThatCannotBeRead(t *testing.T) {
	down := apierrors.NewInternalError(errors.New("conversion webhook failed"))
	game := ownedBy("apps.kruise.io/v1beta1", "CloneSet", "other", "other")
	replicaSet := ownedBy("apps/v1", "ReplicaSet", "r", "r")
	named := func(pod *corev1.Pod) { pod.Annotations = map[string]string{"kruise.io/related-pub": "b"} }
	targets := func(kind string) func(*policyv1beta1.PodUnavailableBudget) {
		return func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.TargetRef = &policyv1beta1.TargetReference{APIVersion: "apps/v1", Kind: kind, Name: "d"}
		}
	}
	selects := func(b *policyv1beta1.PodUnavailableBudget) {
		b.Spec.TargetRef, b.Spec.Selector = nil, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	}
	none := func(b *policyv1beta1.PodUnavailableBudget) {
		b.Spec.TargetRef, b.Spec.Selector = nil, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	}
	tests := map[string]struct {
		pod    *corev1.Pod
		budget func(*policyv1beta1.PodUnavailableBudget)
		// code is the status code of the refusal if the budget allows nothing, or zero if the budget does not apply.
		code, reads int
	}{
		"the budget of its controller":              {newPod(), func(*policyv1beta1.PodUnavailableBudget) {}, http.StatusForbidden, 1},
		"the budget of its labels":                  {newPod(game), selects, http.StatusForbidden, 1},
		"a budget of other labels":                  {newPod(game), none, 0, 0},
		"a budget of another workload":              {newPod(game), targets("StatefulSet"), 0, 1},
		"a budget of what may be above":             {newPod(replicaSet), targets("Deployment"), http.StatusInternalServerError, 1},
		"the same, and the Pod names it":            {newPod(replicaSet, named), targets("Deployment"), http.StatusForbidden, 1},
		"a budget of a kind that is never above it": {newPod(game), targets("Deployment"), 0, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0, "")
			reads := 0
			refuse := func(clienttesting.Action) (bool, runtime.Object, error) {
				reads++
				return true, nil, down
			}
			w.kruise.PrependReactor("get", "clonesets", refuse)
			w.kube.PrependReactor("get", "replicasets", refuse)
			require.NoError(t, w.Plugin.known.Delete(w.known))
			budget := w.known.DeepCopy()
			test.budget(budget)
			require.NoError(t, w.Plugin.known.Add(budget))
			w.stored["b"].Spec = budget.Spec
			err := w.ask(deletion(test.pod))
			assert.Equal(t, test.reads, reads)
			if test.code == 0 {
				require.NoError(t, err)
				return
			}
			var status *apierrors.StatusError
			require.ErrorAs(t, err, &status)
			assert.EqualValues(t, test.code, status.ErrStatus.Code)
		})
	}
}

// A request that comes before the cache of budgets is filled does not wait for it.
func TestRequestsDoNotWaitForTheCache(t *testing.T) {
	w := newWorld(t, 1, "")
	w.SetReadyFunc(func() bool { return false })
	start := time.Now()
	assert.True(t, apierrors.IsServiceUnavailable(w.ask(deletion(newPod()))))
	assert.Less(t, time.Since(start), time.Second)
}

// refusing is a closed store of budgets.
type refusing struct{ err error }

func (r refusing) UpdateStatus(context.Context, string, string, func(*policyv1beta1.PodUnavailableBudget) error) error {
	return r.err
}

func TestRecreatedBudgetIsNotObservedYet(t *testing.T) {
	w := newWorld(t, 1, "")
	w.stored["b"].UID = "new"
	err := w.ask(deletion(newPod()))
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	assert.ErrorContains(t, err, "not observed yet")
}

func TestBudgetThatIsNotObservedYet(t *testing.T) {
	w := newWorld(t, 1, "")
	w.stored["b"].Status = policyv1beta1.PodUnavailableBudgetStatus{}
	err := w.ask(deletion(newPod()))
	require.True(t, apierrors.IsTooManyRequests(err), "also of a deletion: %v", err)
	seconds, _ := apierrors.SuggestsClientDelay(err)
	assert.Equal(t, 1, seconds)
	assert.Empty(t, w.events.Events)
}

func TestTerminatingNamespace(t *testing.T) {
	w := newWorld(t, 0, "")
	there := w.known.DeepCopy()
	there.Namespace = "going"
	require.NoError(t, w.Plugin.known.Add(there))
	require.NoError(t, w.ask(deletion(newPod(func(p *corev1.Pod) { p.Namespace = "going" }))))
}

func TestPodThatItsWorkloadSelectsByScale(t *testing.T) {
	w := newWorld(t, 0, "")
	w.known.Spec.TargetRef = &policyv1beta1.TargetReference{APIVersion: "example.com/v1", Kind: "Game", Name: "g"}
	loose := newPod(func(p *corev1.Pod) { p.OwnerReferences = nil })
	require.NoError(t, w.ask(deletion(loose)))
	loose.Annotations = map[string]string{"kruise.io/related-pub": "b"}
	require.Error(t, w.ask(deletion(loose)))
	loose.Annotations = map[string]string{"kruise.io/related-pub": "nothing"}
	require.NoError(t, w.ask(deletion(loose)))
}

// A refusal appears in events on both objects, in the metric and in the protection log.
func TestTracesOfARefusal(t *testing.T) {
	refused.Reset()
	w := newWorld(t, 0, "")
	require.Error(t, w.ask(deletion(newPod())))
	require.Len(t, w.events.Events, 2)
	for range 2 {
		event := <-w.events.Events
		assert.Contains(t, event, "Warning PubPreventPodDeletion")
		assert.Contains(t, event, "ns/b")
	}
	value, err := testutil.GetCounterMetricValue(refused.WithLabelValues("CloneSet_ns_c", "jane"))
	require.NoError(t, err)
	assert.InDelta(t, 1, value, 0)
	assert.JSONEq(t, `{"Event":"PodUnavailableBudget","Kind":"Pod","Namespace":"ns","Name":"p","UserAgent":"jane"}`, w.log.String())
	assert.Equal(t, "unknown_ns_p", workloadLabel(newPod(func(p *corev1.Pod) { p.OwnerReferences = nil })))
}

func TestUnrelatedRequestsAreAllowed(t *testing.T) {
	w := newWorld(t, 0, "")
	for _, resource := range []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("nodes"), {Group: "mine", Version: "v1", Resource: "pods"},
	} {
		require.NoError(t, w.Validate(t.Context(), admission.NewAttributesRecord(nil, newPod(), schema.GroupVersionKind{}, "ns", "p", resource, "",
			admission.Delete, nil, false, nil), nil))
	}
	w.SetReadyFunc(func() bool { return false })
}
