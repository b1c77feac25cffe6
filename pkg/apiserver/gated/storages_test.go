package gated

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
)

// gate is open while its error is nil.
type gate struct {
	err    error
	room   error
	writes int
}

func (g *gate) Check() error { return g.err }
func (g *gate) Room() error  { return g.room }
func (g *gate) Wrote()       { g.writes++ }
func (*gate) Explain(err error) error {
	if err != nil {
		return errors.Join(errExplained, err)
	}
	return nil
}

var (
	errClosed    = apierrors.NewServiceUnavailable("closed")
	errExplained = errors.New("explained")
)

// empty is a store without objects, so it answers NotFound. If during is set, empty calls it before each answer.
type empty struct {
	storage.Interface
	during func()
}

func (e *empty) answer() error {
	if e.during != nil {
		e.during()
	}
	return storage.NewKeyNotFoundError("key", 1)
}

func (e *empty) Create(context.Context, string, runtime.Object, runtime.Object, uint64) error {
	return e.answer()
}

func (e *empty) Delete(
	context.Context, string, runtime.Object, *storage.Preconditions, storage.ValidateObjectFunc, runtime.Object, storage.DeleteOptions,
) error {
	return e.answer()
}

func (e *empty) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	_ = e.answer()
	return watch.NewFake(), nil
}

func (e *empty) Get(context.Context, string, storage.GetOptions, runtime.Object) error {
	return e.answer()
}

func (e *empty) GetList(context.Context, string, storage.ListOptions, runtime.Object) error {
	return e.answer()
}

func (e *empty) GuaranteedUpdate(
	context.Context, string, runtime.Object, bool, *storage.Preconditions, storage.UpdateFunc, runtime.Object,
) error {
	return e.answer()
}

// calls lists all operations of a storage.
var calls = map[string]func(ctx context.Context, s storage.Interface) error{
	"create": func(ctx context.Context, s storage.Interface) error {
		return s.Create(ctx, "key", &corev1.Pod{}, nil, 0)
	},
	"delete": func(ctx context.Context, s storage.Interface) error {
		return s.Delete(ctx, "key", &corev1.Pod{}, nil, nil, nil, storage.DeleteOptions{})
	},
	"watch": func(ctx context.Context, s storage.Interface) error {
		_, err := s.Watch(ctx, "key", storage.ListOptions{})
		return err
	},
	"get": func(ctx context.Context, s storage.Interface) error {
		return s.Get(ctx, "key", storage.GetOptions{}, &corev1.Pod{})
	},
	"list": func(ctx context.Context, s storage.Interface) error {
		return s.GetList(ctx, "key", storage.ListOptions{}, &corev1.PodList{})
	},
	"update": func(ctx context.Context, s storage.Interface) error {
		return s.GuaranteedUpdate(ctx, "key", &corev1.Pod{}, false, nil, nil, nil)
	},
}

func TestClosedStoreNeverAnswersNotFound(t *testing.T) {
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			g := &gate{}
			asked := 0
			open := &checked{Interface: &empty{during: func() { asked++ }}, gate: g}
			if err := call(t.Context(), open); name != "watch" {
				assert.True(t, storage.IsNotFound(err) || errors.Is(err, errExplained), "an open store does: %v", err)
			}
			g.err = errClosed
			assert.Equal(t, errClosed, call(t.Context(), open))
			assert.Equal(t, 1, asked, "a closed store is not asked")

			// The store turns out to be the wrong one during the read.
			g.err = nil
			closes := &checked{Interface: &empty{during: func() { g.err = errClosed }}, gate: g}
			assert.Equal(t, errClosed, call(t.Context(), closes))
		})
	}
}

func TestWritesAreCountedAndTheirErrorsExplained(t *testing.T) {
	for name, call := range calls {
		g := &gate{}
		err := call(t.Context(), &checked{Interface: &empty{}, gate: g})
		writes := name == "create" || name == "delete" || name == "update"
		assert.Equal(t, writes, g.writes == 1, name)
		assert.Equal(t, writes, errors.Is(err, errExplained), name)
	}
}

func TestStoreThatIsNotOpenYetRefuses(t *testing.T) {
	g, opens := &gate{}, 0
	fails := errors.New("no etcd")
	released := 0
	d := &deferred{
		resource: schema.GroupResource{Group: "apps.kruise.io", Resource: "clonesets"}, gate: g,
		open: func() (storage.Interface, factory.DestroyFunc, error) {
			opens++
			return &empty{}, func() { released++ }, fails
		},
	}
	s := New(g)
	s.add(d)
	for name, call := range calls {
		err := call(t.Context(), d)
		assert.True(t, apierrors.IsServiceUnavailable(err), "%s: %v", name, err)
		assert.ErrorContains(t, err, "the store of clonesets.apps.kruise.io is not open yet")
	}
	g.err = errClosed
	assert.Equal(t, errClosed, calls["get"](t.Context(), d), "the reason, where there is one")
	assert.Error(t, d.ReadinessCheck())
	g.err = nil

	require.ErrorContains(t, s.Open(t.Context()), "open the store of clonesets.apps.kruise.io: no etcd")
	fails = nil
	require.NoError(t, s.Open(t.Context()))
	require.NoError(t, s.Open(t.Context()))
	assert.Equal(t, 2, opens)
	assert.True(t, storage.IsNotFound(calls["get"](t.Context(), d)))
	d.destroy()
	d.destroy()
	assert.Equal(t, 1, released)
}

func TestStoreThatOpensAfterTheEndIsReleased(t *testing.T) {
	released := false
	d := &deferred{gate: &gate{}, open: func() (storage.Interface, factory.DestroyFunc, error) {
		return &empty{}, func() { released = true }, nil
	}}
	d.destroy()
	require.Error(t, d.openOnce())
	assert.True(t, released)
}

// at is a store at a revision, which counts how often it is read.
type at struct {
	storage.Interface
	revision uint64
	reads    int
}

func (*at) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

func (a *at) GetCurrentResourceVersion(context.Context) (uint64, error) {
	a.reads++
	return a.revision, nil
}

func (*at) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

// TestWatchesFromAnotherStoreListAgain watches from a revision that this store has not reached. The client would see nothing.
func TestWatchesFromAnotherStoreListAgain(t *testing.T) {
	t.Parallel()
	store := &at{revision: 100}
	r := &reached{Interface: store}
	from := func(version string) error {
		_, err := r.Watch(t.Context(), "/", storage.ListOptions{ResourceVersion: version})
		return err
	}
	for _, version := range []string{"", "0", "99", "100"} {
		require.NoError(t, from(version), version)
	}
	assert.Equal(t, 1, store.reads, "the revision is read once")
	require.ErrorContains(t, from("101"), "resource version 101 is of another store: this one is at 100")
	assert.True(t, apierrors.IsResourceExpired(from("101")), "clients list again")
	store.revision = 102
	require.NoError(t, from("101"), "another replica has written in the meantime")
	_, err := r.Watch(t.Context(), "/", storage.ListOptions{ResourceVersion: "999", SendInitialEvents: new(true)})
	require.NoError(t, err, "the list at its beginning says it")
}
