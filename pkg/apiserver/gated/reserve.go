package gated

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// freeRecords is how many bytes the records of an object, which are its finalizers and managed fields, may need in a full store.
const freeRecords = 16 << 10

// reserve keeps the rest of a full store for deletions, statuses and finalizers. It refuses what needs more space, in whatever way it is
// written: creations, also those of a server-side apply, and updates that make an object larger. The copies that controllers make for nodes
// are no exception, because a user decides how large they become.
//
// An object may grow by its status, whose size the controllers decide, and by its records: a terminating object loses finalizers, and each
// client that does so can add a record. It may also grow by at most a sixteenth in all, so that a user can pause or scale a workload.
type reserve struct {
	storage.Interface
	gate  Gate
	codec runtime.Codec
}

// Create implements storage.Interface.
func (r *reserve) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if err := r.gate.Room(); err != nil {
		return err
	}
	return r.Interface.Create(ctx, key, obj, out, ttl)
}

// GuaranteedUpdate implements storage.Interface. tryUpdate may modify its input, so the input is measured before.
func (r *reserve) GuaranteedUpdate(
	ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cachedExistingObject runtime.Object,
) error {
	full := r.gate.Room()
	if full == nil {
		return r.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, cachedExistingObject)
	}
	checked := func(input runtime.Object, response storage.ResponseMeta) (runtime.Object, *uint64, error) {
		before, err := r.measure(input)
		if err != nil {
			return nil, nil, err
		}
		output, ttl, err := tryUpdate(input, response)
		if err != nil {
			return nil, nil, err
		}
		// The input of a creation has no version.
		if before.version == "" || before.version == "0" {
			return nil, nil, full
		}
		after, err := r.measure(output)
		if err != nil {
			return nil, nil, err
		}
		if block(after.content) > block(before.content) || after.records > max(before.records, freeRecords) {
			return nil, nil, larger(full, before, after)
		}
		return output, ttl, nil
	}
	return r.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, checked, cachedExistingObject)
}

// measures are the encoded sizes of the parts of an object, in bytes.
type measures struct {
	version          string
	content, records int
}

// measure returns the sizes of an object. The status, and what the server itself writes, belong to no part.
func (r *reserve) measure(object runtime.Object) (m measures, err error) {
	original := reflect.ValueOf(object).Elem()
	// A shallow copy is enough, because only whole fields are replaced.
	content, records := reflect.New(original.Type()), reflect.New(original.Type())
	content.Elem().Set(original)
	if status := content.Elem().FieldByName("Status"); status.IsValid() {
		status.SetZero()
	}
	of, err := meta.Accessor(object)
	if err != nil {
		return m, fmt.Errorf("read the metadata of an object: %w", err)
	}
	kept, err := meta.Accessor(content.Interface())
	if err != nil {
		return m, fmt.Errorf("read the metadata of an object: %w", err)
	}
	recorded, err := meta.Accessor(records.Interface())
	if err != nil {
		return m, fmt.Errorf("read the metadata of an object: %w", err)
	}
	recorded.SetManagedFields(of.GetManagedFields())
	recorded.SetFinalizers(of.GetFinalizers())
	kept.SetManagedFields(nil)
	kept.SetFinalizers(nil)
	kept.SetDeletionTimestamp(nil)
	kept.SetDeletionGracePeriodSeconds(nil)
	kept.SetResourceVersion("")
	kept.SetGeneration(0)
	m.version = of.GetResourceVersion()
	if m.content, err = r.size(content.Interface()); err == nil {
		m.records, err = r.size(records.Interface())
	}
	return m, err
}

func (r *reserve) size(object any) (int, error) {
	var counter countingWriter
	err := r.codec.Encode(object.(runtime.Object), &counter)
	return int(counter), err
}

// countingWriter counts bytes and keeps none.
type countingWriter int

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}

// block rounds a size up by at most a sixteenth, but to a multiple of 16 at least. Sizes in one block count as equal, so that any number of
// updates cannot add up to more.
func block(size int) int {
	step := max(16, 1<<max(0, bits.Len(uint(size))-5))
	return (size + step - 1) / step * step
}

// larger returns the error of the full store with the reason why it concerns this update.
func larger(full error, before, after measures) error {
	status, ok := errors.AsType[*apierrors.StatusError](full)
	if !ok {
		return full
	}
	refusal := &apierrors.StatusError{ErrStatus: *status.ErrStatus.DeepCopy()}
	refusal.ErrStatus.Message += fmt.Sprintf("; this update makes the object larger, from %d to %d bytes without its status",
		before.content+before.records, after.content+after.records)
	refusal.ErrStatus.Status = metav1.StatusFailure
	return refusal
}
