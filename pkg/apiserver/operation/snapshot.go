package operation

import (
	"context"
	"errors"
	"fmt"
	"io"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kruise.io/kruise/pkg/apiserver/guard"
)

// Saved describes a snapshot.
type Saved struct {
	// Record is the record of the store in the snapshot. It is nil if the store has none.
	Record *guard.Record
	Bytes  int64
}

// Snapshot writes a snapshot of the whole etcd, in the format of etcd and with its checksum. The client must have one endpoint, so
// that the member that answers has all writes that were acknowledged before. Snapshot then advances the generation of the store, so
// that the guard recognizes the snapshot as older as soon as the cluster has the new generation.
func Snapshot(ctx context.Context, store *Store, to io.Writer) (Saved, error) {
	before, err := store.record().Read(ctx)
	if err != nil {
		return Saved{}, err
	}
	reader, err := store.Client.Snapshot(ctx)
	if err != nil {
		return Saved{}, fmt.Errorf("request a snapshot: %w", err)
	}
	defer func() { _ = reader.Close() }()
	saved := Saved{Record: before.Record}
	if saved.Bytes, err = io.Copy(to, reader); err != nil {
		return Saved{}, fmt.Errorf("copy the snapshot: %w", err)
	}
	return saved, store.advance(ctx)
}

// advance increases the generation of the store by one. A store without a record has none.
func (s *Store) advance(ctx context.Context) error {
	record := s.record()
	for {
		reading, err := record.Read(ctx)
		if err != nil {
			return err
		}
		if reading.Record == nil || reading.Record.Candidate {
			return nil
		}
		next := *reading.Record
		next.Generation++
		if _, err = record.Write(ctx, next, reading.Version); !errors.Is(err, guard.ErrChanged) {
			return err
		}
	}
}

// Defragmented are the sizes of the file of one member, in bytes.
type Defragmented struct {
	Endpoint      string
	Before, After int64
}

// Defragment returns the free space of each member to the file system, one member after the other. A member does not answer in the
// meantime. report is called after each member.
func Defragment(ctx context.Context, client *clientv3.Client, report func(Defragmented)) error {
	for _, endpoint := range client.Endpoints() {
		before, err := client.Status(ctx, endpoint)
		if err != nil {
			return fmt.Errorf("read the status of %s: %w", endpoint, err)
		}
		if _, err := client.Defragment(ctx, endpoint); err != nil {
			return fmt.Errorf("defragment %s: %w", endpoint, err)
		}
		after, err := client.Status(ctx, endpoint)
		if err != nil {
			return fmt.Errorf("read the status of %s: %w", endpoint, err)
		}
		report(Defragmented{endpoint, before.DbSize, after.DbSize})
	}
	return nil
}
