package rest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
)

// awaited records which writes waited for their effects. No turn is held meanwhile.
type awaited struct {
	turns  *turnsOf
	writes []string
	uids   []types.UID
}

func (a *awaited) Await(_ context.Context, kind string, written metav1.Object, deleted bool) {
	a.writes = append(a.writes, fmt.Sprintf("%s %s deleted=%v turns=%d", kind, written.GetName(), deleted, len(a.turns.token)))
	a.uids = append(a.uids, written.GetUID())
}

func TestAnswersWaitForTheirEffects(t *testing.T) {
	turns := &turnsOf{token: make(chan struct{}, 1)}
	effects := &awaited{turns: turns}
	kind := newKind()
	kind.Exclusive, kind.Validate = true, func(*sample) field.ErrorList { return nil }
	kind.ValidateUpdate = func(*sample, *sample) field.ErrorList { return nil }
	storages := storagesOf(t, kind, nil)
	kind.TakeTurns(storages, turns)
	kind.AwaitEffects(storages, effects)
	samples, ok := storages["samples"].(genericrest.StandardStorage)
	require.True(t, ok)
	ctx := genericapirequest.WithNamespace(t.Context(), "")
	change := genericrest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		changed := old.DeepCopyObject().(*sample)
		changed.Spec.MinReadySeconds++
		return changed, nil
	})
	allow := func(context.Context, runtime.Object, runtime.Object) error { return nil }

	_, err := samples.Create(ctx, newSample(), func(context.Context, runtime.Object) error { return errors.New("no") }, &metav1.CreateOptions{})
	require.Error(t, err)
	assert.Empty(t, effects.writes, "nothing was written")

	created, err := samples.Create(ctx, newSample(), nil, &metav1.CreateOptions{})
	require.NoError(t, err)
	_, _, err = samples.Update(ctx, "demo", change, nil, allow, false, &metav1.UpdateOptions{})
	require.NoError(t, err)
	_, _, err = samples.Delete(ctx, "demo", genericrest.ValidateAllObjectFunc, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	_, _, err = samples.Delete(ctx, "demo", genericrest.ValidateAllObjectFunc, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"samples demo deleted=false turns=0", "samples demo deleted=false turns=0", "samples demo deleted=true turns=0",
	}, effects.writes)
	uid := created.(*sample).UID
	require.NotEmpty(t, uid)
	assert.Equal(t, []types.UID{uid, uid, uid}, effects.uids, "an object of the same name that is created next is another one")
}

func TestDeletionsOfACollectionWaitForTheirEffects(t *testing.T) {
	orphan := metav1.DeletePropagationOrphan
	tests := map[string]struct {
		edit    func(*sample)
		options *metav1.DeleteOptions
		want    []string
	}{
		"deleted":    {func(*sample) {}, nil, []string{"samples demo deleted=true turns=0"}},
		"finalizers": {func(s *sample) { s.Finalizers = []string{"a/b"} }, nil, nil},
		"orphan":     {func(*sample) {}, &metav1.DeleteOptions{PropagationPolicy: &orphan}, nil},
		"dry run":    {func(*sample) {}, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			turns := &turnsOf{token: make(chan struct{}, 1)}
			effects, kind, stored := &awaited{turns: turns}, newKind(), newSample()
			test.edit(stored)
			storages := storagesOf(t, kind, stored)
			kind.AwaitEffects(storages, effects)
			samples, ok := storages["samples"].(genericrest.CollectionDeleter)
			require.True(t, ok)
			ctx := genericapirequest.WithNamespace(t.Context(), "")
			_, err := samples.DeleteCollection(ctx, genericrest.ValidateAllObjectFunc, test.options, nil)
			require.NoError(t, err)
			assert.Equal(t, test.want, effects.writes)
		})
	}
}
