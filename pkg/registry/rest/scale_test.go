package rest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
)

// confused returns a sample with an invalid selector. It has no Scale.
func confused() *sample {
	obj := newSample()
	obj.Spec.Selector = map[string]string{"app": "not valid"}
	return obj
}

// scaling returns a request that changes the Scale with the given function.
func scaling(change func(old runtime.Object) (runtime.Object, error)) *scaledObjectInfo[*sample] {
	info := genericrest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		return change(old)
	})
	return &scaledObjectInfo[*sample]{scaleREST: newScaleREST(newKind(), nil), info: info, name: "demo"}
}

func TestInvalidScalesAreRefused(t *testing.T) {
	same := func(old runtime.Object) (runtime.Object, error) { return old, nil }
	owned := newSample()
	owned.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "a", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "g/v2", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":5}`),
	}}
	for name, test := range map[string]struct {
		stored *sample
		change func(runtime.Object) (runtime.Object, error)
		want   string
	}{
		"a selector that cannot be read": {confused(), same, "spec.selector: "},
		"owners that cannot be read":     {owned, same, "error decoding"},
		"a request that fails": {newSample(), func(runtime.Object) (runtime.Object, error) {
			return nil, errors.New("no patch")
		}, "no patch"},
		"another kind": {newSample(), func(runtime.Object) (runtime.Object, error) { return &sample{}, nil }, "expected a Scale"},
		"owners that come back broken": {newSample(), func(old runtime.Object) (runtime.Object, error) {
			scale := old.DeepCopyObject().(*autoscalingv1.Scale)
			scale.ManagedFields = owned.ManagedFields
			return scale, nil
		}, "error decoding"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := scaling(test.change).UpdatedObject(t.Context(), test.stored)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestScaleWithoutUIDUpdatesTheStoredObject(t *testing.T) {
	updated, err := scaling(func(runtime.Object) (runtime.Object, error) {
		return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}, nil
	}).UpdatedObject(t.Context(), newSample())
	require.NoError(t, err)
	obj, ok := updated.(*sample)
	require.True(t, ok)
	assert.EqualValues(t, 5, *obj.Spec.Replicas)
}

func TestOwnershipIsInTheRequestsVersion(t *testing.T) {
	for version, want := range map[string]string{"v1": "v1", "v2": "v2", "v9": "v2"} {
		ctx := genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{APIGroup: "g", APIVersion: version})
		assert.Equal(t, schema.GroupVersion{Group: "g", Version: want}, scaling(nil).requestVersion(ctx))
	}
	assert.Equal(t, schema.GroupVersion{Group: "g", Version: "v2"}, scaling(nil).requestVersion(t.Context()))
}

func TestAdmissionSeesScales(t *testing.T) {
	r := newScaleREST(newKind(), nil)
	create := r.admitCreate(func(_ context.Context, obj runtime.Object) error {
		assert.IsType(t, &autoscalingv1.Scale{}, obj)
		return errors.New("refused")
	})
	update := r.admitUpdate(func(_ context.Context, obj, old runtime.Object) error {
		assert.IsType(t, &autoscalingv1.Scale{}, obj)
		assert.IsType(t, &autoscalingv1.Scale{}, old)
		return errors.New("refused")
	})
	assert.EqualError(t, create(t.Context(), newSample()), "refused")
	assert.EqualError(t, update(t.Context(), newSample(), newSample()), "refused")
	assert.True(t, apierrors.IsBadRequest(create(t.Context(), confused())))
	assert.True(t, apierrors.IsBadRequest(update(t.Context(), confused(), newSample())))
	assert.True(t, apierrors.IsBadRequest(update(t.Context(), newSample(), confused())))
}

func TestScaleOfTheStore(t *testing.T) {
	ctx := genericapirequest.WithNamespace(t.Context(), "")
	for name, stored := range map[string]*sample{"there": newSample(), "gone": nil} {
		t.Run(name, func(t *testing.T) {
			scales, ok := storagesOf(t, newKind(), stored)["samples/scale"].(genericrest.Patcher)
			require.True(t, ok)
			scale, err := scales.Get(ctx, "demo", &metav1.GetOptions{})
			if stored == nil {
				require.True(t, apierrors.IsNotFound(err), "%v", err)
			} else {
				require.NoError(t, err)
				assert.EqualValues(t, 2, scale.(*autoscalingv1.Scale).Spec.Replicas)
			}
			update := func(replicas int32) error {
				wanted := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
				_, _, err := scales.Update(ctx, "demo", genericrest.DefaultUpdatedObjectInfo(wanted), nil,
					genericrest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
				return err
			}
			assert.Equal(t, stored != nil, apierrors.IsInvalid(update(-1)), "there are no fewer than no replicas")
			assert.Equal(t, stored == nil, apierrors.IsNotFound(update(5)), "the rules of the kind do not judge an autoscaler")
			if stored != nil {
				require.NoError(t, update(5))
			}
		})
	}
	kind := newKind()
	kind.Scale = nil
	assert.NotContains(t, storagesOf(t, kind, nil), "samples/scale")
}

func TestKindExtendsItsStorages(t *testing.T) {
	kind := newKind()
	kind.Extend = func(storages map[string]genericrest.Storage) { storages["samples/copy"] = storages["samples"] }
	storages := storagesOf(t, kind, nil)
	assert.Same(t, storages["samples"], storages["samples/copy"])
}

// closedStore is a store that cannot be opened.
type closedStore struct{}

func (closedStore) GetRESTOptions(schema.GroupResource, runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{}, errors.New("no route to host")
}

func TestUnopenedStoreIsAnError(t *testing.T) {
	kind := newKind()
	kind.New, kind.NewList = func() *sample { return &sample{} }, func() runtime.Object { return nil }
	_, err := kind.Storage(runtime.NewScheme(), closedStore{}, 0)
	assert.ErrorContains(t, err, "open the store of samples.g")
	assert.ErrorContains(t, err, "no route to host")
}
