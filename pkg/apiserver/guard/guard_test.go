package guard

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

// memory is an in-memory store.
type memory struct {
	lock   sync.Mutex
	stored Reading
	holds  bool
	err    error
	// refuse is the error of every write.
	refuse error
}

func (m *memory) Read(context.Context) (Reading, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.stored, m.err
}

func (m *memory) Holds(context.Context) (bool, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.holds, m.err
}

func (m *memory) Write(_ context.Context, record Record, version int64) (Reading, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.err != nil {
		return Reading{}, m.err
	}
	if m.refuse != nil {
		return Reading{}, m.refuse
	}
	if version != m.stored.Version {
		return Reading{}, ErrChanged
	}
	m.stored.Revision++
	m.stored.Record, m.stored.Version = &record, m.stored.Revision
	return m.stored, nil
}

func (m *memory) Endpoint() string { return "memory" }

func (m *memory) change(f func(*memory)) {
	m.lock.Lock()
	defer m.lock.Unlock()
	f(m)
}

// world is a cluster with a store and a guard.
type world struct {
	t     *testing.T
	store *memory
	kube  *fake.Clientset
	pods  []runtime.Object
	// metadata replaces a client for pods, unless it is nil.
	metadata metadata.Interface
	opens    int
	awaits   bool
	guard    *Guard
	cancel   context.CancelFunc
	done     chan error
	// refused is the verb for ConfigMaps that the cluster does not answer, or empty.
	refused *atomic.Value
}

const namespace = "kruise-system"

// clusterUID is the UID that the cluster assigns to the ConfigMap.
const clusterUID = "cluster-uid"

func newWorld(t *testing.T) *world {
	w := &world{t: t, refused: &atomic.Value{}, store: &memory{stored: Reading{Cluster: 1, Revision: 10}}, kube: fake.NewClientset(&corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "host"},
	})}
	w.kube.PrependReactor("create", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateAction)
		require.True(t, ok)
		object, ok := create.GetObject().(*corev1.ConfigMap)
		require.True(t, ok)
		object.UID = clusterUID
		return false, nil, nil
	})
	w.refused.Store("")
	w.kube.PrependReactor("*", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetVerb() == w.refused.Load(), nil, errors.New("no host cluster")
	})
	return w
}

func ownedPod(apiVersion string) runtime.Object {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: apiVersion, Kind: "CloneSet", Name: "c", UID: "u"},
		}},
	}
}

// start runs a new guard, like a restarted process, and waits a moment.
func (w *world) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	scheme := metadatafake.NewTestScheme()
	require.NoError(w.t, metav1.AddMetaToScheme(scheme))
	w.guard, w.cancel, w.done = New(), cancel, make(chan error, 1)
	var client metadata.Interface = metadatafake.NewSimpleMetadataClient(scheme, w.pods...)
	if w.metadata != nil {
		client = w.metadata
	}
	config := Config{
		Store: w.store, Kube: w.kube, Metadata: client,
		Namespace: namespace, Name: ConfigMapName,
		Groups: sets.New("apps.kruise.io", "policy.kruise.io"), Open: func(context.Context) error { w.opens++; return nil },
		AwaitsTakeover: w.awaits,
	}
	g, done := w.guard, w.done
	go func() { done <- g.Run(ctx, config) }()
	w.pass(100 * time.Millisecond)
}

func (w *world) pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a synctest bubble
	synctest.Wait()
}

func (w *world) stop() {
	w.cancel()
	require.ErrorIs(w.t, <-w.done, context.Canceled)
}

func (w *world) configMap() *corev1.ConfigMap {
	w.t.Helper()
	object, err := w.kube.CoreV1().ConfigMaps(namespace).Get(w.t.Context(), ConfigMapName, metav1.GetOptions{})
	require.NoError(w.t, err)
	return object
}

func (w *world) annotate(value string) {
	w.t.Helper()
	object := w.configMap()
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, OpenAnnotation, value)
	_, err := w.kube.CoreV1().ConfigMaps(namespace).Update(w.t.Context(), object, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func (w *world) events() string {
	w.t.Helper()
	list, err := w.kube.CoreV1().Events(namespace).List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	var all []string
	for _, event := range list.Items {
		all = append(all, event.Reason+": "+event.Message)
	}
	return strings.Join(all, "\n")
}

// isClosed checks that requests get 503 with the reason.
func (w *world) isClosed(text string) {
	w.t.Helper()
	err := w.guard.Check()
	require.Error(w.t, err)
	assert.True(w.t, apierrors.IsServiceUnavailable(err), "%v", err)
	assert.ErrorContains(w.t, err, text)
	assert.ErrorContains(w.t, w.guard.Ready(), text)
}

func (w *world) isOpen() {
	w.t.Helper()
	require.NoError(w.t, w.guard.Check())
	assert.NoError(w.t, w.guard.Ready())
	select {
	case <-w.guard.Opened():
	default:
		w.t.Error("no event says that the store is open")
	}
}

// test runs a test in a synctest bubble with a new world.
func test(t *testing.T, run func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(newWorld(t)) })
}

// established creates a world whose store is at generation 2.
func established(t *testing.T, run func(w *world)) {
	t.Helper()
	test(t, func(w *world) {
		w.start()
		w.isOpen()
		w.store.change(func(m *memory) { m.holds = true })
		w.guard.Wrote()
		w.pass(11 * time.Second)
		require.Equal(t, "2", w.configMap().Data["generation"])
		run(w)
		w.cancel()
	})
}

func TestFirstStartNamesTheStoreAsTheClusterSays(t *testing.T) {
	test(t, func(w *world) {
		w.start()
		w.isOpen()
		assert.Equal(t, &Record{Identity: clusterUID, Generation: 1, Cluster: "host"}, w.store.stored.Record)
		object := w.configMap()
		assert.Equal(t, clusterUID, object.Data["identity"])
		assert.Equal(t, "1", object.Data["generation"])
		assert.Equal(t, "keep", object.Annotations["helm.sh/resource-policy"])
		w.stop()
	})
}

func TestGenerationAdvancesWhileThereAreWrites(t *testing.T) {
	established(t, func(w *world) {
		w.pass(time.Minute)
		assert.EqualValues(t, 2, w.store.stored.Record.Generation, "without writes it stays")
		for range 30 {
			w.guard.Wrote()
			w.pass(time.Second)
		}
		w.pass(10 * time.Second)
		assert.EqualValues(t, 6, w.store.stored.Record.Generation, "at 10, 20, 30 and once more for the last write")
		assert.Equal(t, "6", w.configMap().Data["generation"])
	})
}

func TestGenerationReachesTheClusterLaterWhenItDidNotAtOnce(t *testing.T) {
	established(t, func(w *world) {
		w.refused.Store("update")
		w.guard.Wrote()
		w.pass(11 * time.Second)
		assert.EqualValues(t, 3, w.store.stored.Record.Generation, "the store is first")
		assert.Equal(t, "2", w.configMap().Data["generation"])
		w.refused.Store("")
		w.pass(11 * time.Second)
		assert.Equal(t, "3", w.configMap().Data["generation"])
		w.isOpen()
	})
}

func TestTwoReplicasAdvanceOneGeneration(t *testing.T) {
	established(t, func(w *world) {
		other := *w
		other.start()
		other.isOpen()
		for range 30 {
			w.guard.Wrote()
			other.guard.Wrote()
			w.pass(time.Second)
		}
		w.isOpen()
		other.isOpen()
		assert.LessOrEqual(t, w.store.stored.Record.Generation, int64(2+2*4))
		other.stop()
	})
}

// A move ends with servers that serve the copy, while servers of the original still run. What these would accept is lost.
func TestServerOfTheOriginalClosesWhenItsCopyIsOpened(t *testing.T) {
	established(t, func(w *world) {
		moved := *w
		record := *w.store.stored.Record
		record.Generation, record.Copied = record.Generation+1, true
		moved.store = &memory{stored: Reading{Record: &record, Version: 5, Cluster: 9, Revision: 5}, holds: true}
		w.guard.Wrote()
		w.pass(11 * time.Second) // The original has the generation of its copy by now.
		moved.start()
		moved.isOpen()
		require.False(t, moved.store.stored.Record.Copied)
		require.Greater(t, moved.store.stored.Record.Generation, int64(1000))
		w.pass(11 * time.Second)
		w.isClosed("the cluster expects generation 1003 of the store, but this store is at generation 3: another server has opened a newer copy")
		moved.isOpen()
		moved.stop()
	})
}

func TestServerWaitsForTheStore(t *testing.T) {
	test(t, func(w *world) {
		w.store.change(func(m *memory) { m.err = errors.New("connection refused") })
		w.start()
		w.pass(10 * time.Minute)
		w.isClosed("etcd at memory does not answer: connection refused")
		assert.Zero(t, w.opens)
		w.store.change(func(m *memory) { m.err = nil })
		w.pass(2 * time.Second)
		w.isOpen()
		w.stop()
	})
}

func TestServerWaitsForTheHostCluster(t *testing.T) {
	test(t, func(w *world) {
		w.refused.Store("get")
		w.start()
		w.pass(time.Minute)
		w.isClosed("read ConfigMap kruise-store: no host cluster")
		w.refused.Store("")
		w.pass(2 * time.Second)
		w.isOpen()
		w.stop()
	})
}

// If an open store stops answering, no restart is needed. Cached objects are served, and /readyz reports the problem.
func TestOpenStoreMayGoAwayAndReturn(t *testing.T) {
	established(t, func(w *world) {
		w.store.change(func(m *memory) { m.err = errors.New("connection refused") })
		w.pass(time.Minute)
		assert.NoError(t, w.guard.Check())
		assert.ErrorContains(t, w.guard.Ready(), "etcd at memory does not answer: connection refused")
		w.store.change(func(m *memory) { m.err = nil })
		w.pass(2 * time.Second)
		w.isOpen()
	})
}

// Before a take-over, a store without objects stays closed even if nothing in the cluster needs it. The message names the command.
func TestEmptyStoreAwaitsItsTakeover(t *testing.T) {
	test(t, func(w *world) {
		w.awaits = true
		w.start()
		w.pass(time.Minute)
		w.isClosed("the store is empty until a take-over fills it; run kubectl kruise takeover")
		assert.Zero(t, w.opens)
		assert.Contains(t, w.events(), "StoreClosed: the store is empty until a take-over fills it")

		w.store.change(func(m *memory) { m.stored.Record = &Record{Identity: "import", Incomplete: true} })
		w.pass(time.Minute)
		w.isClosed("the import of objects into the store is not complete; run kubectl kruise takeover again until it is complete")

		w.store.change(func(m *memory) {
			m.stored.Record, m.holds = &Record{Identity: "import", Generation: 1, Cluster: "host"}, true
		})
		w.pass(time.Minute)
		w.isOpen()
		w.stop()
	})
}

// losses lists what can happen to a store.
var losses = map[string]struct {
	change func(m *memory)
	text   string
}{
	"wiped":       {func(m *memory) { m.stored, m.holds = Reading{Cluster: 1, Revision: 1}, false }, "the store has lost its record"},
	"rolled back": {func(m *memory) { m.stored.Record = &Record{Identity: clusterUID, Generation: 1} }, "the store was rolled back"},
	"another store": {
		func(m *memory) { m.stored.Record = &Record{Identity: "other", Generation: 99} }, "this is another store: its identity is other",
	},
	"revision fell": {func(m *memory) { m.stored.Revision-- }, "the store was rolled back: etcd went from revision"},
}

func TestLossWhileRunningEndsTheProcessAndStaysClosed(t *testing.T) {
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			established(t, func(w *world) {
				w.store.change(loss.change)
				w.pass(1100 * time.Millisecond)
				w.isClosed(loss.text)
				err := <-w.done
				require.ErrorIs(t, err, ErrClosed)
				assert.ErrorContains(t, err, loss.text)
				assert.Contains(t, w.events(), "StoreClosed: "+loss.text)

				w.opens = 0
				w.start()
				w.pass(time.Minute)
				w.isClosed("the store")
				assert.Zero(t, w.opens, "no cache is filled from such a store")
				assert.Contains(t, w.configMap().Data["state"], "closed: ")
			})
		})
	}
}

// Without the evidence in the cluster, the next start would open a store whose revision fell.
func TestEvidenceOfALossIsWrittenWhenTheClusterAnswersAgain(t *testing.T) {
	established(t, func(w *world) {
		w.refused.Store("update")
		w.store.change(losses["revision fell"].change)
		w.pass(10 * time.Minute)
		w.isClosed(losses["revision fell"].text)
		w.refused.Store("")
		w.pass(2 * time.Second)
		assert.Contains(t, w.configMap().Data["lost"], losses["revision fell"].text)
		require.ErrorIs(t, <-w.done, ErrClosed)
		w.start()
		w.isClosed(losses["revision fell"].text)
	})
}

// A program that is told to end does not wait for the cluster.
func TestProgramEndsWithoutTheEvidence(t *testing.T) {
	established(t, func(w *world) {
		w.refused.Store("update")
		w.store.change(losses["revision fell"].change)
		w.pass(time.Minute)
		w.cancel()
		require.ErrorIs(t, <-w.done, ErrClosed)
	})
}

func TestLossWhileDownIsFoundAtTheStart(t *testing.T) {
	for name, loss := range losses {
		if name == "revision fell" {
			continue // The guard was not running, so it cannot notice this.
		}
		t.Run(name, func(t *testing.T) {
			established(t, func(w *world) {
				w.stop()
				w.opens = 0
				w.store.change(loss.change)
				w.start()
				w.isClosed(loss.text)
				assert.Zero(t, w.opens)
			})
		})
	}
}

func TestClosedStoreStaysClosedWithoutReads(t *testing.T) {
	established(t, func(w *world) {
		w.stop()
		w.store.change(losses["wiped"].change)
		w.start()
		w.isClosed("the store is closed: the store has lost its record")
		w.store.change(func(m *memory) { m.err = errors.New("connection refused") })
		w.pass(time.Minute)
		w.isClosed("the store is closed: the store has lost its record")
	})
}

// TestClosedStoreSaysWhyItCannotBeOpened lets the checks fail after the command of the operator.
func TestClosedStoreSaysWhyItCannotBeOpened(t *testing.T) {
	established(t, func(w *world) {
		w.stop()
		w.store.change(losses["wiped"].change)
		w.start()
		w.annotate(w.store.stored.Record.Token())
		w.refused.Store("get")
		w.pass(10 * time.Second)
		w.isClosed("the store is closed: the store has lost its record")
		w.isClosed("; the last check failed: read ConfigMap kruise-store: no host cluster")

		w.refused.Store("")
		object := w.configMap()
		object.Data["generation"] = "many"
		_, err := w.kube.CoreV1().ConfigMaps(namespace).Update(t.Context(), object, metav1.UpdateOptions{})
		require.NoError(t, err)
		w.pass(2 * time.Second)
		w.isClosed(`; the last check failed: ConfigMap kruise-store: data.generation "many" is not a number`)
		assert.NotContains(t, w.guard.Ready().Error(), "no host cluster", "only the last one")

		object.Data["generation"] = "2"
		_, err = w.kube.CoreV1().ConfigMaps(namespace).Update(t.Context(), object, metav1.UpdateOptions{})
		require.NoError(t, err)
		w.pass(2 * time.Second)
		w.isOpen()
		w.stop()
	})
}

// An earlier program that does not know why the store is incomplete closes it too: it reads the same field.
func TestStoreThatAnOperatorClosedSaysHowToReopenIt(t *testing.T) {
	established(t, func(w *world) {
		right := w.store.stored
		w.store.change(func(m *memory) {
			record := *right.Record
			record.Incomplete, record.Cause = true, ByOperator
			m.stored.Record = &record
		})
		w.pass(1100 * time.Millisecond)
		w.isClosed("an operator has closed the store")
		require.ErrorIs(t, <-w.done, ErrClosed)
		w.start()
		w.isClosed("an operator has closed the store; to serve it again, run kruise-apiserver store reopen")
		w.store.change(func(m *memory) { m.stored.Record = right.Record })
		w.pass(2 * time.Second)
		w.isOpen()
	})
}

// If the right store returns, it is served without help of an operator.
func TestRightStoreThatReturnsIsServedAgain(t *testing.T) {
	established(t, func(w *world) {
		w.stop()
		right := w.store.stored
		w.store.change(losses["another store"].change)
		w.start()
		w.isClosed("another store")
		w.store.change(func(m *memory) { m.stored = right })
		w.pass(2 * time.Second)
		w.isOpen()
		assert.Equal(t, "open", w.configMap().Data["state"])
	})
}

func TestOperatorOpensTheStoreWithTheCommandThatIsShown(t *testing.T) {
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			established(t, func(w *world) {
				w.store.change(loss.change)
				w.pass(1100 * time.Millisecond)
				require.ErrorIs(t, <-w.done, ErrClosed)
				w.start()
				_, command, found := strings.Cut(w.configMap().Data["state"], "kubectl -n kruise-system annotate configmap kruise-store --overwrite ")
				require.True(t, found)
				_, token, found := strings.Cut(command, "kruise.io/open-store=")
				require.True(t, found)

				w.annotate("something-else/1")
				w.pass(10 * time.Second)
				w.isClosed("the store")
				w.annotate(token)
				w.pass(2 * time.Second)
				w.isOpen()
				assert.NotContains(t, w.configMap().Annotations, OpenAnnotation)
				assert.Equal(t, w.store.stored.Record.Identity, w.configMap().Data["identity"])
				assert.Contains(t, w.events(), "StoreOpened: Opened the store because of the operator's annotation")

				// The same annotation does not open the store a second time.
				w.stop()
				w.store.change(losses["wiped"].change)
				w.start()
				w.annotate(token)
				w.pass(10 * time.Second)
				w.isClosed("the store has lost its record")
			})
		})
	}
}

func TestEmptyStoreIsClosedWhileThereArePodsOfOurs(t *testing.T) {
	test(t, func(w *world) {
		w.pods = []runtime.Object{ownedPod("apps.kruise.io/v1alpha1")}
		w.start()
		w.pass(time.Minute)
		w.isClosed("the store is empty, but it must contain the owner of Pod ns/p")
		w.annotate(w.store.stored.Record.Token())
		w.pass(2 * time.Second)
		w.isOpen()
		w.stop()
	})
}

func TestForeignPodsDoNotCloseTheStore(t *testing.T) {
	test(t, func(w *world) {
		w.pods = []runtime.Object{ownedPod("apps/v1")}
		w.start()
		w.isOpen()
		w.stop()
	})
}

func TestStoreThatHoldsObjectsIsAdopted(t *testing.T) {
	test(t, func(w *world) {
		w.pods = []runtime.Object{ownedPod("apps.kruise.io/v1alpha1")}
		w.store.change(func(m *memory) { m.holds = true })
		w.start()
		w.isOpen()
		assert.Equal(t, clusterUID, w.configMap().Data["identity"])
		assert.Contains(t, w.events(), "Adopted")
		w.stop()
	})
}

func TestDeletedConfigMapIsRecreated(t *testing.T) {
	established(t, func(w *world) {
		require.NoError(t, w.kube.CoreV1().ConfigMaps(namespace).Delete(t.Context(), ConfigMapName, metav1.DeleteOptions{}))
		w.guard.Wrote()
		w.pass(11 * time.Second)
		w.isOpen()
		assert.Equal(t, "3", w.configMap().Data["generation"])
		w.stop()

		require.NoError(t, w.kube.CoreV1().ConfigMaps(namespace).Delete(t.Context(), ConfigMapName, metav1.DeleteOptions{}))
		w.start()
		w.isOpen()
		assert.Equal(t, clusterUID, w.configMap().Data["identity"])
		assert.Equal(t, "3", w.configMap().Data["generation"])
	})
}

// A backup of namespace kruise-system is restored into another cluster, whose apiserver then uses the same etcd. Only the
// operator moves the store from one cluster to the other.
func TestTwoClustersDoNotServeOneStore(t *testing.T) {
	established(t, func(w *world) {
		other := newWorld(w.t)
		other.store = w.store
		other.kube = fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "elsewhere"}},
			w.configMap())
		other.start()
		other.isClosed("the store belongs to another cluster, whose namespace kube-system has UID host; ")
		w.pass(time.Minute)
		w.isOpen()
		assert.Equal(t, "host", w.store.stored.Record.Cluster)

		other.annotate(w.store.stored.Record.Token())
		w.pass(2 * time.Second)
		other.isOpen()
		assert.Equal(t, "elsewhere", w.store.stored.Record.Cluster)
		w.isClosed("the store belongs to another cluster, whose namespace kube-system has UID elsewhere")
		require.ErrorIs(t, <-w.done, ErrClosed)
		w.start()
		w.isClosed("the store belongs to another cluster, whose namespace kube-system has UID elsewhere; ")
		other.stop()
	})
}

// A connection to another store is refused before anything is read from it.
func TestConnectionToAnotherStoreClosesTheGuard(t *testing.T) {
	established(t, func(w *world) {
		same := func(context.Context) (Reading, error) { return w.store.stored, nil }
		require.NoError(t, w.guard.Verify(t.Context(), same))
		require.NoError(t, w.guard.Check())
		err := w.guard.Verify(t.Context(), func(context.Context) (Reading, error) { return Reading{Cluster: 2, Revision: 1}, nil })
		require.ErrorContains(t, err, "the store has lost its record")
		w.isClosed("the store has lost its record")
		assert.ErrorIs(t, <-w.done, ErrClosed)
	})
}

func TestConnectionsBeforeTheStoreIsKnownAreNotJudged(t *testing.T) {
	require.NoError(t, New().Verify(t.Context(), func(context.Context) (Reading, error) { return Reading{}, errors.New("not asked") }))
}

func TestWriteWithoutSpaceSaysSo(t *testing.T) {
	err := New().Explain(rpctypes.ErrNoSpace)
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	assert.EqualValues(t, 507, status.Status().Code)
	assert.ErrorContains(t, err, "the store is full: delete objects that you do not need, or ask the administrator to raise the quota")
	other := errors.New("other")
	assert.Equal(t, other, New().Explain(other))
	assert.NoError(t, New().Explain(nil))
}

func TestNoObjectIsCreatedWithoutRoom(t *testing.T) {
	g, problem := New(), ""
	require.NoError(t, g.Room())
	g.LimitBy(func() string { return problem })
	require.NoError(t, g.Room())
	problem = "the store is full: objects use 15 MiB of the quota of 16 MiB"
	assert.ErrorContains(t, g.Room(), problem+": delete objects that you do not need")
}

func TestTerminatingDependentsDoNotCount(t *testing.T) {
	pod := &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet"}}}
	groups := sets.New("apps.kruise.io")
	assert.True(t, ownedBy(pod, groups))
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	assert.False(t, ownedBy(pod, groups))
}
