package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"
)

// Write stores a record after change has changed it, or returns why it could not. It calls change again, on what is stored then,
// whenever somebody else was faster. An error of change it returns as it is, and stores nothing.
type Write[K comparable, R any] func(ctx context.Context, key K, change func(record R) error) error

// Writer writes each record once at a time. It is made with New.
type Writer[K comparable, R any] struct {
	write Write[K, R]

	lock sync.Mutex
	// waiting are the requests that are in no write yet. A record has an entry as long as it has a goroutine that writes it.
	waiting map[K][]*request[R]
}

// request is one change. Its error is the writing goroutine's until the answer is given.
type request[R any] struct {
	ctx    context.Context // it waits with the request
	change func(R) error
	err    error
	answer chan error
}

// New returns a Writer that stores records so.
func New[K comparable, R any](write Write[K, R]) *Writer[K, R] {
	return &Writer[K, R]{write: write, waiting: map[K][]*request[R]{}}
}

// Do has change called in the next write of the record. Its error is the answer to this request alone, and then it must have left
// the record as it was. No error means that the change is stored. Change may be called more than once, each time on a record
// of its own, and from another goroutine, even after the context has ended and Do has returned with the context's error; but
// only in a write that was under way by then.
func (w *Writer[K, R]) Do(ctx context.Context, key K, change func(record R) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request[R]{ctx: ctx, change: change, answer: make(chan error, 1)}
	w.lock.Lock()
	others, written := w.waiting[key]
	w.waiting[key] = append(others, r)
	if !written {
		go w.run(key)
	}
	w.lock.Unlock()
	select {
	case err := <-r.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run writes a record as long as somebody waits for it.
func (w *Writer[K, R]) run(key K) {
	for group := w.next(key); len(group) > 0; group = w.next(key) {
		err := w.commit(key, group)
		for _, r := range group {
			if err != nil {
				r.err = err
			}
			r.answer <- r.err
		}
	}
}

// next takes those who wait. When there are none, the record is forgotten.
func (w *Writer[K, R]) next(key K) []*request[R] {
	w.lock.Lock()
	defer w.lock.Unlock()
	group := w.waiting[key]
	if len(group) == 0 {
		delete(w.waiting, key)
		return nil
	}
	w.waiting[key] = nil
	return group
}

// commit writes the record once for the whole group. No request of the server's is behind this goroutine that would catch a
// panic, so it becomes the answer.
func (w *Writer[K, R]) commit(key K, group []*request[R]) (err error) {
	ctx, cancel := whileAnyWaits(group)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic in a write: %v", cause)
			klog.FromContext(ctx).Error(err, "A change panicked", "key", key, "stack", string(debug.Stack()))
		}
	}()
	return w.write(ctx, key, func(record R) error { return decide(group, record) })
}

// errNobody ends a write that nobody waits for any more.
var errNobody = errors.New("every request was given up")

// decide lets each change the record in its turn. Who has given up changes nothing.
func decide[R any](group []*request[R], record R) error {
	asked := false
	for _, r := range group {
		if r.err = r.ctx.Err(); r.err == nil {
			asked = true
			r.err = r.change(record)
		}
	}
	if !asked {
		return errNobody
	}
	return nil
}

// whileAnyWaits returns a context that ends with the last of the group's. Its values are those of the first.
func whileAnyWaits[R any](group []*request[R]) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(group[0].ctx))
	var waiting atomic.Int64
	waiting.Store(int64(len(group)))
	stops := make([]func() bool, len(group))
	for i, r := range group {
		stops[i] = context.AfterFunc(r.ctx, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
