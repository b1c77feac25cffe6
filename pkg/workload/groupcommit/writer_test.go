package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const takes = 10 * time.Millisecond

var (
	errNothingLeft = errors.New("nothing is left")
	errNoRoute     = errors.New("no route")
)

// account is a record that holds how much is left.
type account struct{ left, version int }

// store holds accounts. A write takes time, and starts over if another write was stored meanwhile.
type store struct {
	lock     sync.Mutex
	accounts map[string]account
	fails    error
	// tried counts all write attempts. written counts the stored writes.
	tried, written int
}

func (s *store) read(key string) account {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.accounts[key]
}

func (s *store) write(ctx context.Context, key string, change func(*account) error) error {
	for {
		before := s.read(key)
		after := before
		if err := change(&after); err != nil {
			return err
		}
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return ctx.Err()
		}
		if stored, err := s.swap(key, before, after); stored || err != nil {
			return err
		}
	}
}

func (s *store) swap(key string, before, after account) (stored bool, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.tried++
	switch {
	case s.fails != nil:
		return false, s.fails
	case s.accounts[key].version != before.version:
		return false, nil
	case after != before:
		after.version++
		s.accounts[key] = after
		s.written++
	}
	return true, nil
}

func newStore(left int) *store {
	return &store{accounts: map[string]account{"a": {left: left}, "b": {left: left}}}
}

func spend(a *account) error {
	if a.left == 0 {
		return errNothingLeft
	}
	a.left--
	return nil
}

// requireForgotten asserts that the Writer keeps nothing of finished records. The synctest bubble checks that no goroutine is
// left.
func requireForgotten(t *testing.T, w *Writer[string, *account]) {
	t.Helper()
	synctest.Wait()
	w.lock.Lock()
	defer w.lock.Unlock()
	require.Empty(t, w.waiting)
}

func TestGroupedWritesNeverOverspend(t *testing.T) {
	for name, replicas := range map[string]int{"one process": 1, "two processes": 2, "five processes": 5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(30)
				var writers []*Writer[string, *account]
				for range replicas {
					writers = append(writers, New(s.write))
				}
				var granted, refused atomic.Int64
				var clients sync.WaitGroup
				for i := range 100 {
					clients.Go(func() {
						switch err := writers[i%replicas].Do(t.Context(), "a", spend); {
						case err == nil:
							granted.Add(1)
						case assert.ErrorIs(t, err, errNothingLeft):
							refused.Add(1)
						}
					})
				}
				clients.Wait()
				assert.EqualValues(t, 30, granted.Load())
				assert.EqualValues(t, 70, refused.Load())
				assert.Zero(t, s.accounts["a"].left)
				assert.LessOrEqual(t, s.written, 2*replicas, "those who wait are written together")
				assert.LessOrEqual(t, s.tried, 3*replicas*replicas, "one writer of each process competes")
				for _, w := range writers {
					requireForgotten(t, w)
				}
			})
		})
	}
}

func TestRecordsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(newStore(10).write)
		began := time.Now()
		var clients sync.WaitGroup
		for _, key := range []string{"a", "b"} {
			clients.Go(func() { assert.NoError(t, w.Do(t.Context(), key, spend)) })
		}
		clients.Wait()
		assert.Equal(t, takes, time.Since(began))
		requireForgotten(t, w)
	})
}

// start starts a request and returns the channel for its answer.
func start(ctx context.Context, w *Writer[string, *account], change func(*account) error) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- w.Do(ctx, "a", change) }()
	synctest.Wait()
	return answer
}

func TestCanceledWaitingRequestReservesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(10)
		w := New(s.write)
		first := start(t.Context(), w, spend)
		ctx, cancel := context.WithTimeout(t.Context(), takes/2)
		defer cancel()
		began := time.Now()
		impatient := start(ctx, w, spend)
		patient := start(t.Context(), w, spend)
		require.ErrorIs(t, <-impatient, context.DeadlineExceeded)
		assert.Equal(t, takes/2, time.Since(began), "it does not wait for the write")
		require.NoError(t, <-first)
		require.NoError(t, <-patient)
		assert.Equal(t, 8, s.accounts["a"].left)

		assert.ErrorIs(t, w.Do(ctx, "a", spend), context.DeadlineExceeded, "it comes too late")
		requireForgotten(t, w)
		assert.Equal(t, 8, s.accounts["a"].left)
	})
}

func TestWriteContinuesWhileARequestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(10)
		w := New(s.write)
		occupied := start(t.Context(), w, spend)
		ctx, cancel := context.WithCancel(t.Context())
		impatient := start(ctx, w, spend)
		patient := start(t.Context(), w, spend)
		require.NoError(t, <-occupied)
		synctest.Wait() // The other requests are part of a write.
		cancel()
		require.ErrorIs(t, <-impatient, context.Canceled)
		require.NoError(t, <-patient)
		assert.Equal(t, 7, s.accounts["a"].left, "what was in a write when its request was given up stands")
		requireForgotten(t, w)
	})
}

func TestWriteIsCanceledWithItsLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(10)
		w := New(s.write)
		ctx, cancel := context.WithCancel(t.Context())
		only := start(ctx, w, spend)
		began := time.Now()
		cancel()
		require.ErrorIs(t, <-only, context.Canceled)
		requireForgotten(t, w)
		assert.Zero(t, time.Since(began))
		assert.Equal(t, 10, s.accounts["a"].left)
	})
}

// A retried write skips the requests whose context has ended meanwhile.
func TestCanceledRequestIsSkippedInTheRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(10)
		w := New(s.write)
		occupied := start(t.Context(), w, spend)
		ctx, cancel := context.WithTimeout(t.Context(), takes*3/2)
		defer cancel()
		impatient := start(ctx, w, spend)
		patient := start(t.Context(), w, spend)
		require.NoError(t, <-occupied)
		synctest.Wait() // The other requests are part of a write.
		stored, err := s.swap("a", s.read("a"), account{left: 5, version: 1})
		require.NoError(t, err)
		require.True(t, stored, "another process was faster")
		require.ErrorIs(t, <-impatient, context.DeadlineExceeded)
		require.NoError(t, <-patient)
		assert.Equal(t, 4, s.read("a").left)
		assert.Equal(t, 4, s.tried)
		requireForgotten(t, w)
	})
}

func TestStoreErrorAnswersEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(10)
		s.fails = errNoRoute
		w := New(s.write)
		var answers []<-chan error
		for range 5 {
			answers = append(answers, start(t.Context(), w, spend))
		}
		refused := start(t.Context(), w, func(*account) error { return errNothingLeft })
		for _, answer := range append(answers, refused) {
			require.ErrorIs(t, <-answer, errNoRoute)
		}
		assert.Equal(t, 10, s.accounts["a"].left)
		assert.Equal(t, 2, s.tried)
		s.fails = nil
		require.NoError(t, w.Do(t.Context(), "a", spend), "the next is not held liable")
		requireForgotten(t, w)
	})
}

func TestEachRequestGetsItsOwnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		w := New(s.write)
		occupied := start(t.Context(), w, func(*account) error { return nil })
		var answers []<-chan error
		for i := range 3 {
			own := fmt.Errorf("refusal %d", i)
			answers = append(answers, start(t.Context(), w, func(a *account) error {
				if i == 1 {
					return spend(a)
				}
				return own
			}))
		}
		require.NoError(t, <-occupied)
		require.EqualError(t, <-answers[0], "refusal 0")
		require.NoError(t, <-answers[1])
		require.EqualError(t, <-answers[2], "refusal 2")
		assert.Equal(t, 1, s.written)
		requireForgotten(t, w)
	})
}

func TestPanicIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(newStore(10).write)
		require.EqualError(t, w.Do(t.Context(), "a", func(*account) error { panic("no account") }), "panic: no account")
		require.NoError(t, w.Do(t.Context(), "a", spend))
		requireForgotten(t, w)
	})
}
