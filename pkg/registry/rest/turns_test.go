package rest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
)

// turnsOf is one lock for every kind. If lost is set, each turn is lost at once.
type turnsOf struct {
	token   chan struct{}
	refused error
	lost    error
	// taken are the sets of the turns.
	taken []string
}

func (o *turnsOf) Take(ctx context.Context, set string) (context.Context, func(), error) {
	if o.refused != nil {
		return nil, nil, o.refused
	}
	o.token <- struct{}{}
	o.taken = append(o.taken, set)
	turn, end := context.WithCancelCause(ctx)
	if o.lost != nil {
		end(o.lost)
	}
	return turn, func() { end(nil); <-o.token }, nil
}

// exclusive returns the storages of a kind whose writes take turns.
func exclusive(t *testing.T, turns *turnsOf) (samples genericrest.StandardStorage, ctx context.Context) {
	t.Helper()
	kind := newKind()
	kind.Exclusive, kind.Validate = true, func(*sample) field.ErrorList { return nil }
	storages := storagesOf(t, kind, nil)
	turns.token = make(chan struct{}, 1)
	kind.TakeTurns(storages, turns)
	samples, ok := storages["samples"].(genericrest.StandardStorage)
	require.True(t, ok)
	return samples, genericapirequest.WithNamespace(t.Context(), "")
}

// Admission lets an object pass only if there is no other. All requests ask at once.
func TestAdmissionSeesWhatOthersWrote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		samples, ctx := exclusive(t, &turnsOf{})
		alone := func(ctx context.Context, _ runtime.Object) error {
			_, err := samples.Get(ctx, "demo", &metav1.GetOptions{})
			time.Sleep(time.Second) //nolint:forbidigo // The others reach admission meanwhile, if they may: the time of synctest.
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.New("there is one already")
		}
		var requests sync.WaitGroup
		answers := make(chan error, 10)
		for range cap(answers) / 2 {
			requests.Go(func() {
				_, err := samples.Create(ctx, newSample(), alone, &metav1.CreateOptions{})
				answers <- err
			})
			requests.Go(func() {
				_, _, err := samples.Update(ctx, "demo", genericrest.DefaultUpdatedObjectInfo(newSample()), alone,
					func(context.Context, runtime.Object, runtime.Object) error { return alone(ctx, nil) }, true, &metav1.UpdateOptions{})
				answers <- err
			})
		}
		requests.Wait()
		close(answers)
		written := 0
		for err := range answers {
			if err == nil {
				written++
			}
		}
		assert.Equal(t, 1, written)
	})
}

// TestWriteWithoutItsTurnIsRefused: a client repeats a write only if that can help.
func TestWriteWithoutItsTurnIsRefused(t *testing.T) {
	full := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 507, Message: "the store is full"}}
	tests := map[string]struct {
		refused error
		ended   bool
		code    int32
		message string
	}{
		"the time of the request is over": {
			context.Canceled, true, 504, "other writes of samples, which are made one at a time, have not ended in time; try again",
		},
		"the store is full": {full, false, 507, "the store is full"},
		"etcd does not answer": {
			errors.New("no etcd"), false, 503, "writes of samples, which are made one at a time, are not possible: no etcd",
		},
		"etcd does not answer in its time": {context.DeadlineExceeded, false, 503, "are not possible: context deadline exceeded"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			samples, ctx := exclusive(t, &turnsOf{refused: test.refused})
			reading := ctx
			if test.ended {
				ended, end := context.WithCancel(ctx)
				end()
				ctx = ended
			}
			_, created := samples.Create(ctx, newSample(), nil, &metav1.CreateOptions{})
			_, _, updated := samples.Update(ctx, "demo", nil, nil, nil, false, &metav1.UpdateOptions{})
			for _, err := range []error{created, updated} {
				status, ok := errors.AsType[*apierrors.StatusError](err)
				require.True(t, ok, "%v", err)
				assert.Equal(t, test.code, status.Status().Code)
				assert.ErrorContains(t, err, test.message)
			}
			_, err := samples.Get(reading, "demo", &metav1.GetOptions{})
			assert.True(t, apierrors.IsNotFound(err), "nothing was written, and reads need no turn: %v", err)
		})
	}
}

func TestLostTurnEndsTheWrite(t *testing.T) {
	lost := errors.New("lost")
	samples, ctx := exclusive(t, &turnsOf{lost: lost})
	_, err := samples.Create(ctx, newSample(), func(ctx context.Context, _ runtime.Object) error {
		return context.Cause(ctx)
	}, &metav1.CreateOptions{})
	assert.ErrorIs(t, err, lost)
}

// A write that takes too long is answered with the reason, and not with the error of its last step.
func TestTurnThatTookTooLongIsTheAnswer(t *testing.T) {
	samples, ctx := exclusive(t, &turnsOf{lost: apierrors.NewTimeoutError("too long", 1)})
	_, err := samples.Create(ctx, newSample(), func(context.Context, runtime.Object) error {
		return errors.New("the webhook was not asked: context canceled")
	}, &metav1.CreateOptions{})
	assert.True(t, apierrors.IsTimeout(err), "%v", err)
}

// The webhooks of one namespace's users must not delay the writes in another one, and a dry run delays nobody.
func TestTurnsAreThoseOfANamespace(t *testing.T) {
	for name, test := range map[string]struct {
		clusterScoped bool
		want          []string
	}{"namespaced": {false, []string{"samples/a", "samples/a"}}, "cluster-scoped": {true, []string{"samples", "samples"}}} {
		t.Run(name, func(t *testing.T) {
			turns := &turnsOf{token: make(chan struct{}, 1)}
			writes := &store[*sample]{kind: &Kind[*sample]{Plural: "samples", ClusterScoped: test.clusterScoped}, turns: turns}
			writes.Store = &registry.Store{Storage: registry.DryRunnableStorage{Storage: &oneObject{}}}
			ctx := genericapirequest.WithNamespace(t.Context(), map[bool]string{false: "a"}[test.clusterScoped])
			for _, dryRun := range [][]string{nil, {metav1.DryRunAll}, nil} {
				_, done, err := writes.turn(ctx, dryRun)
				require.NoError(t, err)
				done()
			}
			assert.Equal(t, test.want, turns.taken)
		})
	}
}

func TestOtherKindsTakeNoTurns(t *testing.T) {
	kind := newKind()
	kind.Validate = func(*sample) field.ErrorList { return nil }
	storages := storagesOf(t, kind, nil)
	kind.TakeTurns(storages, &turnsOf{refused: context.DeadlineExceeded})
	samples, ok := storages["samples"].(genericrest.StandardStorage)
	require.True(t, ok)
	_, err := samples.Create(genericapirequest.WithNamespace(t.Context(), ""), newSample(), nil, &metav1.CreateOptions{})
	assert.NoError(t, err)
}

// A patch of a user can make a library panic. The server answers 500 and goes on, and so do the writes of others.
func TestTurnEndsAfterAPanic(t *testing.T) {
	turns := &turnsOf{}
	samples, ctx := exclusive(t, turns)
	panics := func(context.Context, runtime.Object) error { panic("a wrong patch") }
	assert.Panics(t, func() { _, _ = samples.Create(ctx, newSample(), panics, &metav1.CreateOptions{}) })
	assert.Empty(t, turns.token)
	assert.Panics(t, func() {
		_, _, _ = samples.Update(ctx, "demo", genericrest.DefaultUpdatedObjectInfo(newSample()), panics, nil, true, &metav1.UpdateOptions{})
	})
	assert.Empty(t, turns.token)
}
