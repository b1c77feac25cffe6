package operation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"kruise.io/kruise/pkg/apiserver/guard"
)

const (
	// stepName is the last part of a key that a copy writes only to raise the revision of the target.
	stepName = "store-copy"
	// writers is the number of concurrent requests to the target. etcd groups concurrent writes into one write to its
	// disk.
	writers = 64
	// MaxRaise limits by how much Copy raises the revision of the target. etcd writes a small value for each step, so
	// a larger difference would take too long and fill the target.
	MaxRaise = 2_000_000
)

// encryptedPrefix is the beginning of each encrypted value, for all providers of Kubernetes.
var encryptedPrefix = []byte("k8s:enc:")

// Copied is the result of a copy.
type Copied struct {
	// Source is the record of the source, and Record that of the copy.
	Source, Record guard.Record

	Objects int
	// Before is true if an earlier copy was complete, so that nothing was left to do.
	Before bool
	// Revision is the revision of the target after the copy.
	Revision int64
}

// Copy copies all objects and the record into an empty prefix of another etcd. Nothing may write the source meanwhile: Copy fails if
// something does. The copy has the same identity. With move, its generation is one higher, so that the guard no longer opens the
// source after the copy has been opened. Without move, the source is a snapshot, and the copy is marked as restored. An interrupted
// copy is repeated from the beginning.
func Copy(ctx context.Context, from, to *Store, move bool) (Copied, error) {
	return copyTo(ctx, from, to, move, true)
}

// CopyObjects is Copy to a store whose revision the caller raises.
func CopyObjects(ctx context.Context, from, to *Store, move bool) (Copied, error) {
	return copyTo(ctx, from, to, move, false)
}

// copyTo does the steps in this order: write an incomplete record to the target, copy the objects, check that the source did not
// change, and write the final record. A crash at any point leaves the incomplete record: no server opens such a store, and the next
// copy may clear it.
func copyTo(ctx context.Context, from, to *Store, move, raise bool) (Copied, error) {
	source, record, err := from.wanted(ctx, move)
	if err != nil {
		return Copied{}, fmt.Errorf("source: %w", err)
	}
	target, err := to.record().Read(ctx)
	if err != nil {
		return Copied{}, fmt.Errorf("target: %w", err)
	}
	// A move that is repeated after it was complete must not clear the target, because a server may have changed it
	// since.
	if move && isCopy(target.Record, record) {
		return Copied{Record: *target.Record, Before: true, Revision: target.Revision}, nil
	}
	version, err := to.begin(ctx, record)
	if err != nil {
		return Copied{}, fmt.Errorf("target: %w", err)
	}
	// All pages are of one revision, which unchanged compares with.
	c := &copying{from: from, to: to, version: version}
	revision, err := from.each(ctx, func(page []*mvccpb.KeyValue) error { return c.write(ctx, page) })
	if err != nil {
		return Copied{}, err
	}
	if err := from.unchanged(ctx, revision, c.objects); err != nil {
		return Copied{}, err
	}
	if raise {
		if err := to.raise(ctx, revision); err != nil {
			return Copied{}, fmt.Errorf("target: %w", err)
		}
	}
	final, err := to.complete(ctx, record, version)
	return Copied{Source: source, Record: record, Objects: c.objects, Revision: final}, err
}

// isCopy returns true if a store with this record is a complete copy, which a server may have changed since.
func isCopy(known *guard.Record, wanted guard.Record) bool {
	return known != nil && !known.Candidate && known.Cause != guard.Copying &&
		known.Identity == wanted.Identity && known.Generation >= wanted.Generation
}

// CopiedBefore looks whether a store may be replaced by a copy. Before is true in the result if it is a complete copy already. A store
// with another identity is an error.
func CopiedBefore(ctx context.Context, from, to *Store, move bool) (Copied, error) {
	_, record, err := from.wanted(ctx, move)
	if err != nil {
		return Copied{}, fmt.Errorf("source: %w", err)
	}
	target, err := to.record().Read(ctx)
	switch known := target.Record; {
	case err != nil:
		return Copied{}, fmt.Errorf("target: %w", err)
	case move && isCopy(known, record):
		return Copied{Record: *known, Before: true, Revision: target.Revision}, nil
	case known != nil && !known.Candidate && known.Identity != record.Identity:
		return Copied{}, fmt.Errorf("the target holds another store with identity %s: choose another one", known.Identity)
	}
	return Copied{}, nil
}

// wanted returns the record of the source, and the one that its copy gets.
func (s *Store) wanted(ctx context.Context, move bool) (source, record guard.Record, err error) {
	reading, err := s.record().Read(ctx)
	if err != nil {
		return source, record, err
	}
	if reading.Record == nil || reading.Record.Candidate {
		return source, record, fmt.Errorf("there is no store below the prefix %s", s.Prefix)
	}
	source = *reading.Record
	if source.Cause == guard.Copying {
		return source, record, fmt.Errorf("the prefix %s holds an incomplete copy of a store: copy the original instead", s.Prefix)
	}
	if !move {
		return source, source.Restored(), nil
	}
	record = source
	record.Generation++
	record.Copied = true
	record.Restoration = ""
	return source, record, nil
}

// begin makes the empty prefix an incomplete copy and returns the version of its record. From then on, no server opens the store, also
// if the cluster has no record of it. It removes what an interrupted copy has left.
func (s *Store) begin(ctx context.Context, record guard.Record) (version int64, err error) {
	record.Incomplete, record.Cause = true, guard.Copying
	for {
		reading, err := s.record().Read(ctx)
		if err != nil {
			return 0, err
		}
		if err := s.replaceable(ctx, reading.Record); err != nil {
			return 0, err
		}
		begun, err := s.record().Write(ctx, record, reading.Version)
		if errors.Is(err, guard.ErrChanged) {
			continue // A closed server has given the store a name at the same time.
		}
		if err != nil {
			return 0, err
		}
		return begun.Version, s.clear(ctx, begun.Version)
	}
}

// replaceable returns an error if the prefix holds anything other than an incomplete copy. A candidate record does not count, because a
// closed guard writes one into any empty store.
func (s *Store) replaceable(ctx context.Context, record *guard.Record) error {
	if record != nil && record.Cause == guard.Copying {
		return nil // The objects are what an interrupted copy has left.
	}
	if record != nil && !record.Candidate {
		return fmt.Errorf("the prefix %s holds another store with identity %s at generation %d: choose an empty prefix",
			s.Prefix, record.Identity, record.Generation)
	}
	holds, err := s.record().Holds(ctx)
	if err == nil && holds {
		return fmt.Errorf("the prefix %s holds objects: choose an empty prefix", s.Prefix)
	}
	return err
}

// clear removes all objects, if the record has the version. Only keys of this installation are removed.
func (s *Store) clear(ctx context.Context, version int64) error {
	for _, group := range s.Groups {
		if _, err := s.record().Do(ctx, version, clientv3.OpDelete(s.root()+group+"/", clientv3.WithPrefix())); err != nil {
			return fmt.Errorf("remove the objects of %s: %w", group, err)
		}
	}
	return nil
}

// copying counts the objects of a copy. version is the version of the record in the target.
type copying struct {
	from, to *Store
	version  int64
	objects  int
}

// write writes one page of objects to the target, concurrently. The values are copied as they are, so they need no
// keys of the encryption. It fails if another copy has begun to the same target, so the objects of two copies never mix.
func (c *copying) write(ctx context.Context, page []*mvccpb.KeyValue) error {
	moved := c.from.root() != c.to.root()
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(writers)
	for _, kv := range page {
		// The ciphertext contains the key as authenticated data, so it can be read only at the same key.
		if moved && bytes.HasPrefix(kv.Value, encryptedPrefix) {
			return errors.Join(writing.Wait(), fmt.Errorf("%s is encrypted, and the ciphertext is bound to its key: use the prefix %s for "+
				"the target too", kv.Key, c.from.Prefix))
		}
		key := c.to.root() + strings.TrimPrefix(string(kv.Key), c.from.root())
		writing.Go(func() error {
			if _, err := c.to.record().Do(ctx, c.version, clientv3.OpPut(key, string(kv.Value))); err != nil {
				return fmt.Errorf("write %s: %w", key, err)
			}
			return nil
		})
	}
	// This is outside of the goroutines, so it needs no lock.
	c.objects += len(page)
	return writing.Wait()
}

// unchanged returns an error if anything changed the objects after the revision at which they were read. A later
// change shows as a higher revision of a key, and a deletion as another number of keys.
func (s *Store) unchanged(ctx context.Context, revision int64, objects int) error {
	var now int64
	for _, group := range s.Groups {
		prefix := s.root() + group + "/"
		changed, err := s.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithMinModRev(revision+1))
		if err != nil {
			return fmt.Errorf("check that the source does not change: %w", err)
		}
		count, err := s.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			return fmt.Errorf("check that the source does not change: %w", err)
		}
		// The number is compared at the end, over all groups.
		now += count.Count
		if len(changed.Kvs) > 0 {
			return fmt.Errorf("the source changed during the copy (%s): stop all apiservers that use it", changed.Kvs[0].Key)
		}
	}
	if now != int64(objects) {
		return fmt.Errorf("the source changed during the copy (%d objects, then %d): stop all apiservers that use it", objects, now)
	}
	return nil
}

// raise makes the revision of the target at least as high as that of the source. A client that waits for a later
// revision than the current one would miss changes until then. Each write raises the revision of etcd by one, so it
// writes one key again and again.
func (s *Store) raise(ctx context.Context, revision int64) error {
	current, err := s.Client.Get(ctx, s.root()+stepName)
	if err != nil {
		return err
	}
	missing := revision - current.Header.GetRevision()
	// The remedy keeps the revisions, because a snapshot has them.
	if missing > MaxRaise {
		return fmt.Errorf("its revision %d is too far below the source's revision %d: start a new etcd cluster from a snapshot of the "+
			"source, with etcdutl snapshot restore", current.Header.GetRevision(), revision)
	}
	if missing <= 0 {
		return nil
	}
	raising, ctx := errgroup.WithContext(ctx)
	raising.SetLimit(writers)
	for step := int64(0); step < missing && ctx.Err() == nil; step++ {
		raising.Go(func() error {
			_, err := s.Client.Put(ctx, s.root()+stepName, "")
			return err
		})
	}
	if err := raising.Wait(); err != nil {
		return fmt.Errorf("raise the revision: %w", err)
	}
	return nil
}

// complete replaces exactly the record that begin has written, and compacts the revisions in which the copy is not complete. A client
// that goes on with a list at one of them would miss objects.
func (s *Store) complete(ctx context.Context, record guard.Record, version int64) (int64, error) {
	if _, err := s.Client.Delete(ctx, s.root()+stepName); err != nil {
		return 0, fmt.Errorf("complete the copy: %w", err)
	}
	done, err := s.record().Write(ctx, record, version)
	if err != nil {
		return 0, fmt.Errorf("complete the copy: %w", err)
	}
	return done.Revision, s.compact(ctx, done.Revision)
}

// compact removes the revisions before this one. It is no error if they are gone already.
func (s *Store) compact(ctx context.Context, revision int64) error {
	if _, err := s.Client.Compact(ctx, revision); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compact the revisions before the store was complete: %w", err)
	}
	return nil
}
