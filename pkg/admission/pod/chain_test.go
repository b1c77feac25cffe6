package pod

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	genericinitializer "k8s.io/apiserver/pkg/admission/initializer"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/features"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
)

// worldTime is the time in each world.
var worldTime = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is a chain with its clients and caches.
type world struct {
	*Plugin
	t         *testing.T
	clock     *clocktesting.FakePassiveClock
	host      *fake.Clientset
	informers informers.SharedInformerFactory
	stored    *storedSpreads
}

// newWorld creates a chain with objects of the host cluster and Kruise objects. Tests add budgets to the cache themselves.
func newWorld(t *testing.T, gates string, host []runtime.Object, kruise ...runtime.Object) *world {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(worldTime)
	w := &world{Plugin: New(clock), t: t, clock: clock, host: fake.NewClientset(host...), stored: newStoredSpreads()}
	require.Error(t, w.ValidateInitialization())
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.Set(gates))
	client := kruisefake.NewClientset(kruise...)
	w.informers = informers.NewSharedInformerFactory(w.host, 0)
	kruiseInformers := externalversions.NewSharedInformerFactory(client, 0)
	for _, i := range []admission.PluginInitializer{
		genericinitializer.New(w.host, dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), w.informers, nil, nil, nil, nil, meta.NewDefaultRESTMapper(nil)),
		&initializer.Initializer{
			Kruise: client, Features: gate, Namespace: "kruise-system", Metadata: metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()),
		},
		&initializer.Stores{Informers: kruiseInformers, Spreads: w.stored.replica(), SidecarRevisions: w.informers.Apps().V1().ControllerRevisions().Informer()},
	} {
		i.Initialize(w.Plugin)
	}
	require.NoError(t, w.ValidateInitialization())
	w.synced = func() bool { return true }
	w.sidecars.revisions.synced, w.probes.synced = w.synced, w.synced
	return w
}

func (w *world) attributes(pod *corev1.Pod) admission.Attributes {
	return admission.NewAttributesRecord(pod, nil, corev1.SchemeGroupVersion.WithKind("Pod"), "ns", pod.Name,
		corev1.SchemeGroupVersion.WithResource("pods"), "", admission.Create, &metav1.CreateOptions{}, false, nil)
}

// warnings records what the client is warned of.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// unknownFields are in every Pod that the tests send: fields of a newer server, which our types do not know.
const unknownFields = `{"nextTop":[1],"metadata":{"nextMeta":{"a":1}},"spec":{"nextSpec":12345678901234567890}}`

// create runs the chain as kube-apiserver does: it sends the Pod as JSON and applies the patch. It checks that the patch keeps
// the fields that our types do not know, and that a second call changes nothing.
func (w *world) create(pod *corev1.Pod) *corev1.Pod {
	w.t.Helper()
	created, err := w.tryCreate(pod)
	require.NoError(w.t, err)
	return created
}

func (w *world) tryCreate(pod *corev1.Pod) (*corev1.Pod, error) {
	w.t.Helper()
	raw, err := json.Marshal(pod)
	require.NoError(w.t, err)
	raw, err = jsonpatch.MergePatch(raw, []byte(unknownFields))
	require.NoError(w.t, err)
	raw, err = w.patched(raw)
	if err != nil {
		return nil, err
	}
	again, err := w.Patch(w.t.Context(), w.attributes(decodePod(w.t, raw)))
	require.NoError(w.t, err)
	assert.Empty(w.t, again, "called twice")
	assert.Contains(w.t, string(raw), `"nextTop":[1]`)
	assert.Contains(w.t, string(raw), `"nextMeta":{"a":1}`)
	assert.Contains(w.t, string(raw), `"nextSpec":12345678901234567890`)
	return decodePod(w.t, raw), nil
}

func decodePod(t *testing.T, raw []byte) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	require.NoError(t, json.Unmarshal(raw, pod))
	return pod
}

// patched returns the JSON of the Pod with the patch of the chain.
func (w *world) patched(raw []byte) ([]byte, error) {
	w.t.Helper()
	pod := decodePod(w.t, raw)
	before := pod.DeepCopy()
	operations, err := w.Patch(w.t.Context(), w.attributes(pod))
	assert.Equal(w.t, before, pod, "the Pod that was sent does not change")
	if err != nil || len(operations) == 0 {
		return raw, err
	}
	text, err := json.Marshal(operations)
	require.NoError(w.t, err)
	patch, err := jsonpatch.DecodePatch(text)
	require.NoError(w.t, err)
	applied, err := patch.Apply(raw)
	require.NoError(w.t, err, "%s", text)
	return applied, nil
}

func newPod(edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Namespace: "ns", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func ownedBy(apiVersion, kind, name, uid string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}}
	}
}

// TestOrderOfMutators checks the specified order: 1 readiness gate, 2 spread, 3 sidecars, 4 launch order, 6 topology, 5 budget, 8 serverless probes.
// Case pod-admission 7.
func TestOrderOfMutators(t *testing.T) {
	w := newWorld(t, "", nil)
	names := make([]string, 0, len(w.mutators))
	for _, m := range w.mutators {
		names = append(names, m.name)
	}
	assert.Equal(t, []string{"readiness gate", "spread", "sidecars", "launch order", "topology", "budget", "serverless probes"}, names)
}

func add(key string, err error, optional bool) mutator {
	return mutator{name: key, optional: optional, mutate: func(_ context.Context, e *edit, _ admission.Attributes) error {
		if seen := e.pod.Annotations["seen"]; !strings.Contains(seen, key) {
			e.annotate("seen", seen+key)
		}
		return err
	}}
}

// Case pod-admission 17.
func TestPodGetsAllChangesOrNone(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]struct {
		chain  []mutator
		synced bool
		want   string
		err    error
	}{
		"each sees what those before it did": {chain: []mutator{add("a", nil, false), add("b", nil, false)}, synced: true, want: "ab"},
		"one fails":                          {chain: []mutator{add("a", nil, false), add("b", broken, false)}, synced: true, err: broken},
		"one that is optional fails":         {chain: []mutator{add("a", nil, false), add("b", broken, true), add("c", nil, true)}, synced: true, want: "ac"},
		"the caches are not filled (none)":   {chain: []mutator{add("a", nil, false)}, err: apierrors.NewServiceUnavailable("")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", nil)
			w.mutators, w.synced = test.chain, func() bool { return test.synced }
			pod := newPod()
			if test.err != nil {
				operations, err := w.Patch(t.Context(), w.attributes(pod))
				assert.Equal(t, apierrors.ReasonForError(test.err), apierrors.ReasonForError(err))
				assert.Empty(t, operations)
				return
			}
			pod = w.create(pod)
			assert.Equal(t, test.want, pod.Annotations["seen"])
		})
	}
}

// TestOnlyCreationsOfPods checks that the chain ignores other requests, and all requests while the feature gate PodWebhook is off.
func TestOnlyCreationsOfPods(t *testing.T) {
	pods, create := corev1.SchemeGroupVersion.WithResource("pods"), admission.Create
	other := pods
	other.Resource = "podtemplates"
	attributes := func(object runtime.Object, subresource string, operation admission.Operation) admission.Attributes {
		return admission.NewAttributesRecord(object, nil, corev1.SchemeGroupVersion.WithKind("Pod"), "ns", "", pods, subresource, operation, nil, false, nil)
	}
	tests := map[string]struct {
		gates string
		asked admission.Attributes
		want  bool
	}{
		"creation":      {asked: attributes(newPod(), "", create), want: true},
		"a subresource": {asked: attributes(newPod(), "binding", create)},
		"an update":     {asked: attributes(newPod(), "", admission.Update)},
		"no Pod":        {asked: attributes(&corev1.Service{}, "", create)},
		"another resource": {
			asked: admission.NewAttributesRecord(newPod(), nil, corev1.SchemeGroupVersion.WithKind("Pod"), "ns", "", other, "", create, nil, false, nil),
		},
		"the gate is off": {gates: "PodWebhook=false", asked: attributes(newPod(), "", create)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.gates, nil)
			w.mutators = []mutator{add("a", nil, false)}
			operations, err := w.Patch(t.Context(), test.asked)
			require.NoError(t, err)
			assert.Equal(t, test.want, len(operations) > 0)
		})
	}
	w := newWorld(t, "", nil)
	assert.True(t, w.Handles(admission.Create))
	assert.False(t, w.Handles(admission.Update))
}

// TestNamespaceIsThatOfTheRequest checks that mutators see the namespace of the request, and that the namespace in
// the Pod stays unchanged.
func TestNamespaceIsThatOfTheRequest(t *testing.T) {
	w := newWorld(t, "", nil)
	var seen string
	w.mutators = []mutator{{mutate: func(_ context.Context, e *edit, _ admission.Attributes) error {
		seen = e.pod.Namespace
		return nil
	}}}
	pod := newPod(func(p *corev1.Pod) { p.Namespace = "" })
	pod = w.create(pod)
	assert.Equal(t, "ns", seen)
	assert.Empty(t, pod.Namespace)
}

// Case pod-admission 23.
func TestUnaffectedPodKeepsItsEnvironment(t *testing.T) {
	env := []corev1.EnvVar{{Name: "B", Value: "2"}, {Name: "A", Value: "$(B)"}, {Name: "KRUISE_CONTAINER_PRIORITY", Value: "0"}}
	pod := newPod(func(pod *corev1.Pod) {
		pod.Spec.Containers = []corev1.Container{{Name: "main", Env: env}, {Name: "side"}, {Name: "none", Env: []corev1.EnvVar{}}}
		pod.Spec.InitContainers = []corev1.Container{{Name: "init", Env: env}}
	})
	want := pod.DeepCopy()
	assert.True(t, apiequality.Semantic.DeepEqual(want, newWorld(t, "", nil).create(pod)))
}
