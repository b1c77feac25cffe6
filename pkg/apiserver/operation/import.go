package operation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"

	"kruise.io/kruise/pkg/apiserver/guard"
)

// Entry is an object that an import writes.
type Entry struct {
	Resource schema.GroupResource
	// Key is the key below the prefix. Value is the encoded object, before encryption.
	Key   string
	Value []byte
}

// Imported counts what one import did.
type Imported struct {
	Objects   int `json:"objects"`
	Written   int `json:"written"`
	Unchanged int `json:"unchanged"`
	Deleted   int `json:"deleted"`
	// Revision is the revision of the store afterwards.
	Revision int64 `json:"revision"`
}

// Importer writes objects of another server to a store that no server has opened. The first import makes the store incomplete, so that
// no server opens it until Complete. Each import leaves exactly its own objects in the store, so it can be interrupted and repeated.
type Importer struct {
	Store        *Store
	Transformers value.ResourceTransformers
}

// Import makes the entries the content of the store. It does not write an object that is stored already.
func (i *Importer) Import(ctx context.Context, entries []Entry) (Imported, error) {
	version, err := i.begin(ctx)
	if err != nil {
		return Imported{}, err
	}
	// Objects that are in the store but not in entries are left in this map at the end, and are deleted.
	stored, err := i.stored(ctx)
	if err != nil {
		return Imported{}, err
	}
	var written atomic.Int64
	writing, group := errgroup.WithContext(ctx)
	writing.SetLimit(writers)
	// The map is read here and not in the goroutines, so it needs no lock.
	for _, entry := range entries {
		key := i.Store.root() + entry.Key
		before := stored[key]
		delete(stored, key)
		writing.Go(func() error {
			changed, err := i.write(group, version, key, entry, before)
			if changed {
				written.Add(1)
			}
			return err
		})
	}
	if err := writing.Wait(); err != nil {
		return Imported{}, err
	}
	// A server of the source may have deleted the object between two imports. Deletions come last, so an import that
	// fails before leaves too many objects and not too few; the store is incomplete in both cases.
	for key := range stored {
		if err := i.change(ctx, version, clientv3.OpDelete(key)); err != nil {
			return Imported{}, fmt.Errorf("delete %s, which is gone: %w", key, err)
		}
	}
	reading, err := i.Store.record().Read(ctx)
	return Imported{
		Objects: len(entries), Written: int(written.Load()), Unchanged: len(entries) - int(written.Load()), Deleted: len(stored),
		Revision: reading.Revision,
	}, err
}

// Check returns an error if an import would replace objects of an installation.
func (i *Importer) Check(ctx context.Context) error {
	_, err := i.check(ctx)
	return err
}

// check returns the reading of the record if an import may write. It accepts an incomplete import, which is
// continued, and an empty store, also one that a server has already opened. It refuses objects of an installation and
// an incomplete copy.
func (i *Importer) check(ctx context.Context) (guard.Reading, error) {
	reading, err := i.Store.record().Read(ctx)
	if err != nil {
		return reading, err
	}
	if reading.Record != nil && reading.Record.Incomplete {
		return reading, i.Store.imported(reading.Record)
	}
	holds, err := i.Store.record().Holds(ctx)
	if err != nil {
		return reading, err
	}
	if holds && reading.Record != nil && !reading.Record.Candidate {
		return reading, fmt.Errorf("the prefix %s holds the store with identity %s at generation %d: an import would replace its objects; "+
			"choose an empty prefix", i.Store.Prefix, reading.Record.Identity, reading.Record.Generation)
	}
	if holds {
		return reading, fmt.Errorf("the prefix %s holds objects: choose an empty prefix", i.Store.Prefix)
	}
	return reading, nil
}

// imported returns an error if an incomplete store is not that of an import.
func (s *Store) imported(record *guard.Record) error {
	switch record.Cause {
	case guard.Copying:
		return fmt.Errorf("the prefix %s holds an incomplete copy of a store: repeat the copy, or choose an empty prefix", s.Prefix)
	case guard.ByOperator:
		return fmt.Errorf("the prefix %s holds the store with identity %s at generation %d, which an operator has closed: open it with store "+
			"reopen, or choose an empty prefix; if all its objects are somewhere else, run store begin-import --replace-closed",
			s.Prefix, record.Identity, record.Generation)
	}
	return nil
}

// Begin writes a record that keeps servers from opening the store. It is an error if the store belongs to an
// installation that has objects. A server that has opened the empty store closes it, and its process ends. It can be
// repeated.
func (i *Importer) Begin(ctx context.Context) error {
	_, err := i.begin(ctx)
	return err
}

// begin is Begin. It returns the version of the record. Each write names it, so an import ends when another command completes or discards
// the import.
func (i *Importer) begin(ctx context.Context) (version int64, err error) {
	for {
		reading, err := i.check(ctx)
		if err != nil || reading.Record != nil && reading.Record.Incomplete {
			return reading.Version, err
		}
		// The identity is replaced by that of the record which Complete writes.
		record := guard.Record{Identity: "import"}
		if reading.Record != nil {
			record = *reading.Record
		}
		// Generation and identity stay, so a server that has the store open sees the change of this field only.
		record.Candidate, record.Incomplete = false, true
		written, err := i.Store.record().Write(ctx, record, reading.Version)
		if !errors.Is(err, guard.ErrChanged) {
			return written.Version, err // A server has written the record at the same time otherwise.
		}
	}
}

// Replace lets imports replace the objects of a store that an operator has closed. Any other store stays as it is.
func (i *Importer) Replace(ctx context.Context) error {
	return i.Store.changeRecord(ctx, func(record *guard.Record) bool {
		if record.Cause == guard.ByOperator {
			record.Cause = ""
		}
		return true
	})
}

// Reopen lets servers open the store that Close has closed. It can be repeated. Other incomplete stores are an error.
func (i *Importer) Reopen(ctx context.Context) error {
	reading, err := i.Store.record().Read(ctx)
	switch known := reading.Record; {
	case err != nil:
		return err
	case known == nil || known.Candidate:
		return fmt.Errorf("there is no store below the prefix %s", i.Store.Prefix)
	case !known.Incomplete:
		return nil
	case known.Cause != guard.ByOperator:
		return fmt.Errorf("the prefix %s holds an incomplete import or copy: repeat it until it is complete", i.Store.Prefix)
	}
	record := *reading.Record
	record.Incomplete, record.Cause = false, ""
	_, err = i.Store.record().Write(ctx, record, reading.Version)
	return err
}

// Close makes every server close the store, until Reopen. The record keeps its identity. A server notices within a
// second, at its next probe.
func (i *Importer) Close(ctx context.Context) error {
	for {
		reading, err := i.Store.record().Read(ctx)
		if err != nil {
			return err
		}
		if reading.Record == nil || reading.Record.Candidate {
			return fmt.Errorf("there is no store below the prefix %s", i.Store.Prefix)
		}
		if reading.Record.Incomplete {
			return nil
		}
		record := *reading.Record
		record.Incomplete, record.Cause = true, guard.ByOperator
		if _, err := i.Store.record().Write(ctx, record, reading.Version); !errors.Is(err, guard.ErrChanged) {
			return err // A server advanced the generation at the same time otherwise.
		}
	}
}

// stored reads all objects of the store, with their encrypted values, by their keys.
func (i *Importer) stored(ctx context.Context) (map[string][]byte, error) {
	stored := map[string][]byte{}
	_, err := i.Store.each(ctx, func(page []*mvccpb.KeyValue) error {
		for _, kv := range page {
			stored[string(kv.Key)] = kv.Value
		}
		return nil
	})
	return stored, err
}

// write writes one object if it differs from what is stored, or is not encrypted as it should be, and if the record has the version. It
// returns whether it wrote. A stored value that cannot be decrypted is replaced.
func (i *Importer) write(ctx context.Context, version int64, key string, entry Entry, before []byte) (bool, error) {
	transformer := i.Transformers.TransformerForResource(entry.Resource)
	if before != nil {
		plain, stale, err := transformer.TransformFromStorage(ctx, before, value.DefaultContext(key))
		if err == nil && !stale && bytes.Equal(plain, entry.Value) {
			return false, nil
		}
	}
	data, err := transformer.TransformToStorage(ctx, entry.Value, value.DefaultContext(key))
	if err != nil {
		return false, fmt.Errorf("encrypt %s: %w", key, err)
	}
	if err := i.change(ctx, version, clientv3.OpPut(key, string(data))); err != nil {
		return false, fmt.Errorf("write %s: %w", key, err)
	}
	return true, nil
}

// change writes or deletes one object, if the record has the version.
func (i *Importer) change(ctx context.Context, version int64, operation clientv3.Op) error {
	_, err := i.Store.record().Do(ctx, version, operation)
	if errors.Is(err, guard.ErrChanged) {
		return fmt.Errorf("%w: another command has completed or discarded the import; run store begin-import to begin again", err)
	}
	return err
}

// Complete writes the record, so that servers open the store. It does nothing if the record is there already, so it
// can be repeated after an unknown outcome. It compacts the store, because a client could otherwise go on with a list
// at a revision at which the import was not complete.
func (i *Importer) Complete(ctx context.Context, record guard.Record) (revision int64, err error) {
	reading, err := i.Store.record().Read(ctx)
	switch known := reading.Record; {
	case err != nil:
		return 0, err
	case known == nil || known.Candidate:
		return 0, errors.New("nothing was imported into this store: import the objects first")
	case !known.Incomplete && known.Identity == record.Identity:
		return reading.Revision, nil
	case !known.Incomplete:
		return 0, fmt.Errorf("the prefix %s holds the store with identity %s: choose an empty prefix", i.Store.Prefix, known.Identity)
	}
	if err := i.Store.imported(reading.Record); err != nil {
		return 0, err
	}
	done, err := i.Store.record().Write(ctx, record, reading.Version)
	if err != nil {
		return 0, err
	}
	return done.Revision, i.Store.compact(ctx, done.Revision)
}

// Discard removes everything that imports, or an incomplete copy, wrote to a store that no server has opened. The record is removed
// last, and only if it did not change meanwhile: until then no server opens the store. It does nothing for a store without a record.
func (i *Importer) Discard(ctx context.Context) error {
	reading, err := i.Store.record().Read(ctx)
	if err != nil || reading.Record == nil || reading.Record.Candidate {
		return err
	}
	if !reading.Record.Incomplete {
		return fmt.Errorf("the prefix %s holds the store with identity %s, which is in use", i.Store.Prefix, reading.Record.Identity)
	}
	if reading.Record.Cause == guard.ByOperator {
		return i.Store.imported(reading.Record)
	}
	if err := i.Store.clear(ctx, reading.Version); err != nil {
		return err
	}
	_, err = i.Store.record().Do(ctx, reading.Version, clientv3.OpDelete(i.Store.record().Key()))
	return err
}

// Served reports whether servers can have served the store: no import or copy into it is incomplete.
func (i *Importer) Served(ctx context.Context) (bool, error) {
	reading, err := i.Store.record().Read(ctx)
	if err != nil {
		return false, err
	}
	known := reading.Record
	return known == nil || !known.Incomplete || known.Cause == guard.ByOperator, nil
}

// Export calls do for each stored object, decrypted, and returns how many there are. All objects are read at one
// revision.
func (i *Importer) Export(ctx context.Context, do func(resource schema.GroupResource, value []byte) error) (objects int, err error) {
	_, err = i.Store.each(ctx, func(page []*mvccpb.KeyValue) error {
		for _, kv := range page {
			key := string(kv.Key)
			resource, err := i.Store.resourceOf(key)
			if err != nil {
				return err
			}
			plain, _, err := i.Transformers.TransformerForResource(resource).TransformFromStorage(ctx, kv.Value, value.DefaultContext(key))
			if err != nil {
				return fmt.Errorf("decrypt %s: %w", key, err)
			}
			if err := do(resource, plain); err != nil {
				return fmt.Errorf("export %s: %w", key, err)
			}
			objects++
		}
		return nil
	})
	return objects, err
}

// Space returns how many bytes the store may still take, or a negative number if etcd does not say its quota. With
// several members, the fullest one counts.
func (s *Store) Space(ctx context.Context) (int64, error) {
	free := int64(-1)
	for _, endpoint := range s.Client.Endpoints() {
		status, err := s.Client.Status(ctx, endpoint)
		if err != nil {
			return 0, fmt.Errorf("read the size of the store: %w", err)
		}
		if status.DbSizeQuota <= 0 {
			continue
		}
		if left := status.DbSizeQuota - status.DbSizeInUse; free < 0 || left < free {
			free = max(left, 0)
		}
	}
	return free, nil
}
