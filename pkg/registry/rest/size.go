package rest

import (
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic/registry"
)

// LimitSize makes a store's codec refuse, with 413, an object whose encoded form is larger than
// the limit. It costs nothing: the object is encoded for the write anyway. etcd's own refusal
// would reach the user as an internal error without words.
func LimitSize(codec runtime.Codec, limit int) runtime.Codec {
	return &limitedCodec{Codec: codec, limit: limit}
}

type limitedCodec struct {
	runtime.Codec
	limit int
}

// Encode writes the object, and fails after the write when it was too much.
func (c *limitedCodec) Encode(obj runtime.Object, w io.Writer) error {
	counter := &countingWriter{Writer: w}
	if err := c.Codec.Encode(obj, counter); err != nil {
		return err
	}
	if counter.size > c.limit {
		return tooLarge(counter.size, c.limit)
	}
	return nil
}

func tooLarge(size, limit int) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"the object takes %d bytes in the store, the limit is %d bytes (--max-object-bytes); move large data to a ConfigMap or a volume",
		size, limit))
}

type countingWriter struct {
	io.Writer
	size int
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.size += n
	return n, err
}

type bodySizeKey struct{}

// WithBodySize remembers how large the body of a request is, as its sender declared. A negative
// size is unknown.
func WithBodySize(ctx context.Context, size int64) context.Context {
	return context.WithValue(ctx, bodySizeKey{}, size)
}

// earlySizeCheck names the size of a too large object before other rules name one long field of
// it. It encodes the object once more, so it looks only at requests whose body was too large.
type earlySizeCheck struct {
	codec runtime.Codec
}

func (c *earlySizeCheck) beginCreate(ctx context.Context, obj runtime.Object, _ *metav1.CreateOptions) (registry.FinishFunc, error) {
	return func(context.Context, bool) {}, c.check(ctx, obj)
}

func (c *earlySizeCheck) beginUpdate(ctx context.Context, obj, _ runtime.Object, _ *metav1.UpdateOptions) (registry.FinishFunc, error) {
	return func(context.Context, bool) {}, c.check(ctx, obj)
}

func (c *earlySizeCheck) check(ctx context.Context, obj runtime.Object) error {
	limited, ok := c.codec.(*limitedCodec)
	if !ok {
		return nil
	}
	size, ok := ctx.Value(bodySizeKey{}).(int64)
	if !ok || size >= 0 && size <= int64(limited.limit) {
		return nil
	}
	err := limited.Encode(obj, io.Discard)
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
	return nil // what else is wrong with it, the write itself will say
}
