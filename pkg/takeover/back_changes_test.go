package takeover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/pub"
)

// exported is a store that exports objects.
type exported []*unstructured.Unstructured

func (e exported) Run(context.Context, io.Reader, ...string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	for _, object := range e {
		if err := encoder.Encode(object.Object); err != nil {
			return nil, err
		}
	}
	err := encoder.Encode(map[string]int{"end": len(e)})
	return out.Bytes(), err
}

var oldResource = schema.GroupVersionResource{Group: "apps.kruise.io", Version: Version, Resource: "clonesets"}

func cloneSet(name, uid, image string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet",
		"metadata": map[string]any{"name": name, "namespace": "ns", "uid": uid, "creationTimestamp": "2024-01-02T03:04:05Z"},
		"spec":     map[string]any{"image": image},
		"status":   map[string]any{"updateRevision": image},
	}}
}

// behindDoor is the same object as the old API has it.
func behindDoor(object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetAPIVersion("apps.kruise.io/" + Version)
	return object
}

// preferred is the discovery of a cluster whose Kruise API is away. The garbage collector deletes Pods and games, and no events.
var preferred = []*metav1.APIResourceList{
	{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "pods", Kind: "Pod", Verbs: []string{"list", "patch", "delete"}},
		{Name: "events", Kind: "Event", Verbs: []string{"list", "patch", "delete"}},
		{Name: "bindings", Kind: "Binding", Verbs: []string{"create"}},
	}},
	{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
		{Name: "games", Kind: "Game", Verbs: []string{"list", "patch", "delete"}},
		{Name: "gone", Kind: "Gone", Verbs: []string{"list", "patch", "delete"}},
	}},
}

func ownedBy(apiVersion, kind, name, uid string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID("uid of " + name), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Other", Name: "other", UID: "other"},
			{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", UID: types.UID(uid)},
		}},
	}
}

// newReturn returns a take-over whose definitions are closed. Servers set the UIDs of new objects.
func newReturn(t *testing.T, now exported, objects ...runtime.Object) *Takeover {
	t.Helper()
	var olds, dependents []runtime.Object
	for _, object := range objects {
		if _, dependent := object.(*metav1.PartialObjectMetadata); dependent {
			dependents = append(dependents, object)
		} else {
			olds = append(olds, object)
		}
	}
	d := parse(sample("v1alpha1"))
	_, err := d.close()
	require.NoError(t, err)
	lists := map[schema.GroupVersionResource]string{crdResource: "CustomResourceDefinitionList", oldResource: "CloneSetList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, append(olds, d.object)...)
	created := 0
	client.PrependReactor("create", "clonesets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured)
		if object.GetUID() == "" {
			created++
			object.SetUID(types.UID(fmt.Sprintf("set by the server %d", created)))
		}
		return false, nil, nil
	})
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	command := New(client, metadatafake.NewSimpleMetadataClient(scheme, dependents...), &discovered{preferred: preferred}, now, t.Output())
	command.Clock, command.settle = clock.RealClock{}, 0
	return command
}

func (t *Takeover) olds(ctx context.Context) (map[string]*unstructured.Unstructured, error) {
	found := map[string]*unstructured.Unstructured{}
	err := t.each(ctx, oldResource, func(object *unstructured.Unstructured) error {
		found[object.GetName()] = object.DeepCopy()
		return nil
	})
	return found, err
}

// TestReturnedObjectsAreWhatTheStoreHas returns changed, new, deleted and replaced objects. It repeats the step, as after an interruption.
func TestReturnedObjectsAreWhatTheStoreHas(t *testing.T) {
	t.Parallel()
	command := newReturn(t,
		exported{cloneSet("same", "1", "v1"), cloneSet("changed", "2", "v2"), cloneSet("new", "3", "v3"), cloneSet("replaced", "4", "v4")},
		behindDoor(cloneSet("same", "1", "v1")), behindDoor(cloneSet("changed", "2", "v1")),
		behindDoor(cloneSet("replaced", "before", "v1")), behindDoor(cloneSet("gone", "5", "v1")),
		ownedBy("v1", "Pod", "pod-of-changed", "2"), ownedBy("v1", "Pod", "pod-of-new", "3"), ownedBy("example.com/v1", "Game", "game-of-new", "3"),
	)
	for range 2 {
		require.NoError(t, command.returnChanges(t.Context(), &record{}))
		olds, err := command.olds(t.Context())
		require.NoError(t, err)
		assert.Len(t, olds, 4)
		for name, image := range map[string]string{"same": "v1", "changed": "v2", "new": "v3", "replaced": "v4"} {
			object := olds[name]
			require.NotNil(t, object, name)
			assert.Equal(t, map[string]any{"image": image}, object.Object["spec"], name)
			assert.Equal(t, map[string]any{"updateRevision": image}, object.Object["status"], name)
		}
		assert.Equal(t, types.UID("1"), olds["same"].GetUID())
		assert.Equal(t, types.UID("2"), olds["changed"].GetUID())
		assert.Contains(t, olds["replaced"].GetUID(), "set by the server", "another object had its name")
		owners := func(resource schema.GroupVersionResource, name string) []metav1.OwnerReference {
			object, err := command.Metadata.Resource(resource).Namespace("ns").Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			return object.OwnerReferences
		}
		assert.Equal(t, types.UID("2"), owners(podResource, "pod-of-changed")[1].UID)
		for name, resource := range map[string]schema.GroupVersionResource{
			"pod-of-new": podResource, "game-of-new": {Group: "example.com", Version: "v1", Resource: "games"},
		} {
			assert.Equal(t, olds["new"].GetUID(), owners(resource, name)[1].UID, name)
			assert.Equal(t, types.UID("other"), owners(resource, name)[0].UID, name)
		}
	}
}

// TestHalfAnExportReturnsNothing refuses an export without its last line, because the missing objects would be deleted.
func TestHalfAnExportReturnsNothing(t *testing.T) {
	t.Parallel()
	command := newReturn(t, nil, behindDoor(cloneSet("same", "1", "v1")))
	for _, text := range []string{"", "{\"end\":1}\n", "{\"end\":0"} {
		command.Store = printed(text)
		require.Error(t, command.returnChanges(t.Context(), &record{}), "%q", text)
		olds, err := command.olds(t.Context())
		require.NoError(t, err)
		assert.Len(t, olds, 1)
	}
}

// printed is a store that prints a text.
type printed string

func (p printed) Run(context.Context, io.Reader, ...string) ([]byte, error) { return []byte(p), nil }

// A take-over that stopped before it opened the store has a copy that is older than the old objects.
func TestUnservedStoreReturnsNothing(t *testing.T) {
	t.Parallel()
	command := newReturn(t, nil, behindDoor(cloneSet("changed", "1", "v2")), behindDoor(cloneSet("new", "2", "v1")))
	command.Store = printed("{\"unserved\":true}\n")
	require.NoError(t, command.returnChanges(t.Context(), &record{}))
	olds, err := command.olds(t.Context())
	require.NoError(t, err)
	require.Len(t, olds, 2)
	assert.Equal(t, map[string]any{"image": "v2"}, olds["changed"].Object["spec"])
}

// serverRules makes the fake client refuse what kube-apiserver refuses: writes in a namespace that is missing or terminating, and
// writes that begin a deletion.
func serverRules(t *testing.T, command *Takeover, terminating bool) {
	t.Helper()
	client := command.Dynamic.(*fake.FakeDynamicClient)
	refuse := func(action clienttesting.Action) (bool, runtime.Object, error) {
		_, err := client.Tracker().Get(namespaceResource, "", action.GetNamespace())
		switch {
		case apierrors.IsNotFound(err) && !terminating:
			return true, nil, apierrors.NewNotFound(corev1.Resource("namespaces"), action.GetNamespace())
		case terminating && action.GetVerb() == "create":
			refused := apierrors.NewForbidden(corev1.Resource("clonesets"), "x", errors.New("it is being terminated"))
			refused.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			return true, nil, refused
		}
		if update, is := action.(clienttesting.UpdateAction); is && action.GetVerb() == "update" {
			if object := update.GetObject().(*unstructured.Unstructured); object.GetDeletionTimestamp() != nil {
				return true, nil, apierrors.NewInvalid(schema.GroupKind{}, object.GetName(), nil)
			}
		}
		return false, nil, nil
	}
	for _, verb := range []string{"create", "update", "patch"} {
		client.PrependReactor(verb, "clonesets", refuse)
	}
}

func namespaceNS() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "ns"},
	}}
}

func TestDeletionThatBeganAfterTheTakeoverIsRepeated(t *testing.T) {
	t.Parallel()
	now := cloneSet("a", "1", "v1")
	now.SetDeletionTimestamp(new(metav1.Now()))
	now.SetDeletionGracePeriodSeconds(new(int64))
	now.SetFinalizers([]string{metav1.FinalizerDeleteDependents})
	command := newReturn(t, exported{now}, namespaceNS(), behindDoor(cloneSet("a", "1", "v1")))
	serverRules(t, command, false)
	require.NoError(t, command.returnChanges(t.Context(), &record{}))
	var ways []metav1.DeletionPropagation
	for _, action := range command.Dynamic.(*fake.FakeDynamicClient).Actions() {
		if deletion, is := action.(clienttesting.DeleteAction); is {
			ways = append(ways, *deletion.GetDeleteOptions().PropagationPolicy)
		}
	}
	assert.Equal(t, []metav1.DeletionPropagation{metav1.DeletePropagationForeground}, ways)
}

func TestObjectsOfATerminatingNamespaceDoNotReturn(t *testing.T) {
	t.Parallel()
	command := newReturn(t, exported{cloneSet("new", "1", "v1"), cloneSet("same", "2", "v2")}, namespaceNS(),
		behindDoor(cloneSet("same", "2", "v1")))
	serverRules(t, command, true)
	require.NoError(t, command.returnChanges(t.Context(), &record{}))
	olds, err := command.olds(t.Context())
	require.NoError(t, err)
	require.Len(t, olds, 1)
	assert.Equal(t, map[string]any{"image": "v2"}, olds["same"].Object["spec"], "the others return")
}

// The deletion of a namespace deletes only the objects in kruise-apiserver.
func TestFinalizersAreRemovedAfterTheNamespaceWasDeleted(t *testing.T) {
	t.Parallel()
	old := behindDoor(cloneSet("a", "1", "v1"))
	old.SetFinalizers([]string{"example.com/waits"})
	for name, step := range map[string]func(*Takeover) error{
		"finish": func(command *Takeover) error { return command.releaseOld(t.Context(), &record{}) },
		"back":   func(command *Takeover) error { return command.returnChanges(t.Context(), &record{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := newReturn(t, nil, old.DeepCopy())
			serverRules(t, command, false)
			require.NoError(t, step(command))
			olds, err := command.olds(t.Context())
			require.NoError(t, err)
			if left := olds["a"]; left != nil {
				assert.Empty(t, left.GetFinalizers())
			} else {
				assert.Equal(t, "back", name)
			}
			_, err = command.Dynamic.Resource(namespaceResource).Get(t.Context(), "ns", metav1.GetOptions{})
			assert.True(t, apierrors.IsNotFound(err), "%v", err)
		})
	}
}

// An old release of the manager would never remove the finalizer.
func TestFinalizerOfThisReleaseDoesNotReturn(t *testing.T) {
	t.Parallel()
	with := func(object *unstructured.Unstructured, finalizers ...string) *unstructured.Unstructured {
		object.SetFinalizers(finalizers)
		return object
	}
	command := newReturn(t, exported{
		with(cloneSet("new", "1", "v1"), pub.DeletionProtectionFinalizer),
		with(cloneSet("changed", "2", "v2"), pub.DeletionProtectionFinalizer, "example.com/theirs"),
		with(cloneSet("had", "3", "v2"), pub.DeletionProtectionFinalizer),
	}, behindDoor(cloneSet("changed", "2", "v1")), with(behindDoor(cloneSet("had", "3", "v1")), pub.DeletionProtectionFinalizer))
	for range 2 {
		require.NoError(t, command.returnChanges(t.Context(), &record{}))
		olds, err := command.olds(t.Context())
		require.NoError(t, err)
		assert.Empty(t, olds["new"].GetFinalizers())
		assert.Equal(t, []string{"example.com/theirs"}, olds["changed"].GetFinalizers())
		assert.Equal(t, []string{pub.DeletionProtectionFinalizer}, olds["had"].GetFinalizers())
	}
}
