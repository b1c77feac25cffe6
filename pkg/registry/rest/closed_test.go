package rest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

// versioned is a storage with one object. Its Versioner reads the resourceVersion of that object.
type versioned struct{ oneObject }

func (*versioned) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// storagesOf returns the storages of the kind on a store that holds stored, or nothing.
func storagesOf(t *testing.T, kind *Kind[*sample], stored *sample) map[string]genericrest.Storage {
	t.Helper()
	kind.ClusterScoped = true
	kind.New, kind.NewList = func() *sample { return &sample{} }, func() runtime.Object { return &corev1.ReplicationControllerList{} }
	storages, err := kind.Storage(clientscheme.Scheme, generic.RESTOptions{
		ResourcePrefix: "g/samples",
		StorageConfig:  &storagebackend.ConfigForResource{Config: storagebackend.Config{Codec: text{}}},
		Decorator: func(
			*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object, func() runtime.Object,
			storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers,
		) (storage.Interface, factory.DestroyFunc, error) {
			return &versioned{oneObject{stored: stored}}, func() {}, nil
		},
	}, 1<<20)
	require.NoError(t, err)
	return storages
}

// TestClosedKind checks that writes of objects are refused and that writes of their status are not.
func TestClosedKind(t *testing.T) {
	kind := newKind()
	kind.Closed = "SomeGate"
	storages := storagesOf(t, kind, newSample())
	ctx := genericapirequest.WithNamespace(t.Context(), "")
	samples, ok := storages["samples"].(genericrest.StandardStorage)
	require.True(t, ok)
	_, err := samples.Create(ctx, newSample(), genericrest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	requireForbidden(t, true, err)

	changed := genericrest.DefaultUpdatedObjectInfo(newSample())
	_, _, err = samples.Update(ctx, "demo", changed, nil, genericrest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	requireForbidden(t, true, err)

	status, ok := storages["samples/status"].(genericrest.Updater)
	require.True(t, ok)
	_, _, err = status.Update(ctx, "demo", changed, nil, genericrest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	assert.True(t, apierrors.IsInvalid(err), "judged by the rules of statuses: %v", err)
}

func TestDoor(t *testing.T) {
	going := newSample()
	going.DeletionTimestamp = &metav1.Time{}
	tests := map[string]struct {
		gate                   string
		old                    *sample
		createdFails, updFails bool
	}{
		"open":                            {"", newSample(), false, false},
		"closed":                          {"SomeGate", newSample(), true, true},
		"closed, for what is deleted too": {"SomeGate", going, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check := &gateCheck{resource: schema.GroupResource{Resource: "samples"}, gate: test.gate, next: &earlySizeCheck{}}
			_, err := check.beginCreate(t.Context(), newSample(), &metav1.CreateOptions{})
			requireForbidden(t, test.createdFails, err)
			_, err = check.beginUpdate(t.Context(), newSample(), test.old, &metav1.UpdateOptions{})
			requireForbidden(t, test.updFails, err)
		})
	}
}

// The garbage collector releases a dependent before it deletes its owner, and would try this without end.
func TestClosedKindCanBeReleasedByItsOwner(t *testing.T) {
	owners := []metav1.OwnerReference{{Name: "a", UID: "a", BlockOwnerDeletion: new(true)}, {Name: "b", UID: "b"}}
	stored := newSample()
	stored.OwnerReferences = owners
	tests := map[string]struct {
		change  func(*sample)
		refused bool
	}{
		"one is removed":   {func(s *sample) { s.OwnerReferences = owners[1:] }, false},
		"all are removed":  {func(s *sample) { s.OwnerReferences = nil }, false},
		"one blocks less":  {func(s *sample) { s.OwnerReferences[0].BlockOwnerDeletion = new(false) }, false},
		"by a new manager": {func(s *sample) { s.OwnerReferences, s.ManagedFields = nil, make([]metav1.ManagedFieldsEntry, 1) }, false},
		"one is added": {func(s *sample) {
			s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{Name: "c", UID: "c"})
		}, true},
		"one is another":  {func(s *sample) { s.OwnerReferences[0].UID = "c" }, true},
		"another label":   {func(s *sample) { s.OwnerReferences, s.Labels = nil, nil }, true},
		"another spec":    {func(s *sample) { s.OwnerReferences, s.Spec.Replicas = nil, nil }, true},
		"without a cause": {func(s *sample) { s.Spec.Replicas = nil }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check := &gateCheck{resource: schema.GroupResource{Resource: "samples"}, gate: "SomeGate", next: &earlySizeCheck{}}
			updated := stored.DeepCopy()
			test.change(updated)
			_, err := check.beginUpdate(t.Context(), updated, stored, &metav1.UpdateOptions{})
			requireForbidden(t, test.refused, err)
			assert.Equal(t, owners, stored.OwnerReferences, "the stored object stays as it is")
		})
	}
}

func TestDoorKnowsObjectsAlone(t *testing.T) {
	_, err := (&gateCheck{next: &earlySizeCheck{}}).beginUpdate(t.Context(), newSample(), &metav1.Status{}, &metav1.UpdateOptions{})
	assert.ErrorContains(t, err, "read the metadata of a stored object")
}

func requireForbidden(t *testing.T, want bool, err error) {
	t.Helper()
	if !want {
		require.NoError(t, err)
		return
	}
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, `"demo" is forbidden: feature-gate SomeGate is not enabled`)
}
