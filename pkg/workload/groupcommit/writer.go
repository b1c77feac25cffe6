package groupcommit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/recovery"
)

// Write applies change to the stored record and stores the result. If the record changed meanwhile, Write calls change again on
// the newly stored record. If change returns an error, Write stores nothing and returns that error unchanged.
type Write[K comparable, R any] func(ctx context.Context, key K, change func(record R) error) error

// Writer runs at most one write per record at a time. Requests that come during a write wait for the next one together. Use New
// to create one.
type Writer[K comparable, R any] struct {
	write Write[K, R]

	lock sync.Mutex
	// waiting holds the requests that are not part of a write yet. A record has an entry exactly while a goroutine writes it.
	waiting map[K][]*request[R]
}

// request is one change. The writing goroutine owns err until it sends the answer.
type request[R any] struct {
	ctx    context.Context // Kept in a struct because it waits with the request.
	change func(R) error
	err    error
	answer chan error
}

// New returns a Writer that stores records with write.
func New[K comparable, R any](write Write[K, R]) *Writer[K, R] {
	return &Writer[K, R]{write: write, waiting: map[K][]*request[R]{}}
}

// Do includes change in the next write of the record. A nil error means that the change is stored.
//
// An error from change is the answer to this request only; change must then leave the record as it was. change may be called
// more than once, each time on a fresh record, and from another goroutine. If ctx ends, Do returns its error, but a write that
// is already in progress may still call change and store the result.
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

// run writes a record until no request waits for it. It is the only goroutine that writes this record.
func (w *Writer[K, R]) run(key K) {
	for group := w.next(key); len(group) > 0; group = w.next(key) {
		err := w.commit(key, group)
		for _, r := range group {
			if err != nil {
				r.err = err
			}
			// The channel has room for one answer, so a request that has gone does not block.
			r.answer <- r.err
		}
	}
}

// next returns the waiting requests. If there are none, it removes the entry of the record, so that the next request starts a
// goroutine. Both happen under the lock: no request is left behind.
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

// commit writes the record once for the whole group. It turns a panic into an error, because this goroutine does not belong to a
// server request that would recover it.
func (w *Writer[K, R]) commit(key K, group []*request[R]) (err error) {
	ctx, cancel := whileAnyWaits(group)
	defer cancel()
	defer recovery.Into(klog.LoggerWithValues(klog.FromContext(ctx), "key", key), &err)
	return w.write(ctx, key, func(record R) error { return decide(group, record) })
}

// errNobody ends a write that no request waits for any more.
var errNobody = errors.New("every request was canceled")

// decide applies the changes in order. It skips requests whose context has ended.
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

// whileAnyWaits returns a context that ends when the contexts of all requests have ended. It carries the values of the first
// request's context. The caller must call the returned function.
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
