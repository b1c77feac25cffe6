package gated

import (
	"context"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/ptr"
)

// reached refuses a watch from a revision that the store has not reached yet. The client saw it in another store: the etcd of
// kube-apiserver before a take-over, or this store before a restore. etcd and the watch cache accept such a watch and send nothing
// until the store reaches the revision, so the client would miss all changes until then. After this error, clients list again.
type reached struct {
	storage.Interface
	// highest is a revision that the store has reached. It only grows, so a stale value costs one more read and is
	// never wrong.
	highest atomic.Uint64
}

// Watch implements storage.Interface. It refuses with 410 Expired, on which reflectors list again.
func (r *reached) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	if err := r.check(ctx, opts); err != nil {
		return nil, err
	}
	return r.Interface.Watch(ctx, key, opts)
}

// check reads the revision of the store only if the client knows a higher one than earlier clients. A watch that begins with a list
// needs no check, because its list fails.
func (r *reached) check(ctx context.Context, opts storage.ListOptions) error {
	wanted, err := r.Versioner().ParseResourceVersion(opts.ResourceVersion)
	if err != nil || wanted <= r.highest.Load() || ptr.Deref(opts.SendInitialEvents, false) {
		return nil //nolint:nilerr // The watch itself says what is wrong with the version.
	}
	current, err := r.GetCurrentResourceVersion(ctx)
	if err != nil {
		return err
	}
	// Another watch can raise highest at the same time. The loop ends when it is at least current.
	for known := r.highest.Load(); known < current && !r.highest.CompareAndSwap(known, current); known = r.highest.Load() {
	}
	if wanted > current {
		return apierrors.NewResourceExpired(fmt.Sprintf(
			"resource version %d is of another store: this one is at %d; list the objects again", wanted, current))
	}
	return nil
}
