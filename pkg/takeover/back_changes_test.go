package takeover

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
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

func ownedBy(name, uid string) *unstructured.Unstructured {
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
		"name": name, "namespace": "ns", "uid": "uid of " + name,
	}}}
	pod.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Other", Name: "other", UID: "other"}, {APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", UID: types.UID(uid)},
	})
	return pod
}

// newReturn returns a take-over whose definitions are closed. Servers set the UIDs of new objects.
func newReturn(t *testing.T, now exported, olds ...runtime.Object) *Takeover {
	t.Helper()
	d := parse(sample("v1alpha1"))
	_, err := d.close()
	require.NoError(t, err)
	lists := map[schema.GroupVersionResource]string{crdResource: "CustomResourceDefinitionList", oldResource: "CloneSetList"}
	for _, resource := range dependents {
		lists[resource] = "List"
	}
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
	command := New(client, &discovered{}, now, t.Output())
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
		ownedBy("pod-of-changed", "2"), ownedBy("pod-of-new", "3"),
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
		pods := command.Dynamic.Resource(podResource).Namespace("ns")
		kept, err := pods.Get(t.Context(), "pod-of-changed", metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, types.UID("2"), kept.GetOwnerReferences()[1].UID)
		moved, err := pods.Get(t.Context(), "pod-of-new", metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, olds["new"].GetUID(), moved.GetOwnerReferences()[1].UID)
		assert.Equal(t, types.UID("other"), moved.GetOwnerReferences()[0].UID)
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
