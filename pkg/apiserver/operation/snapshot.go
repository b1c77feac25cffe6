package operation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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
// that the guard recognizes the snapshot as older as soon as the cluster has the new generation. A store that is full takes no new
// generation. Its snapshot is complete all the same: no object can be written after it either, until there is space.
func Snapshot(ctx context.Context, store *Store, to io.Writer) (Saved, error) {
	// The record is read before the snapshot, so the result may describe an older generation than the snapshot has,
	// and never a newer one.
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
	if err := store.advance(ctx); !errors.Is(err, rpctypes.ErrNoSpace) {
		return saved, err
	}
	return saved, nil
}

// MarkRestored marks a store that was restored from a snapshot, so that the guard does not open it without the operator if the
// cluster knows the store. A snapshot may have the cluster's generation, because generations are seconds apart. If the
// etcd of the snapshot refused writes for lack of space, the snapshot contains that alarm, which is disarmed first: the
// restored etcd raises its own when it is full.
func MarkRestored(ctx context.Context, store *Store) error {
	alarms, err := store.Client.AlarmList(ctx)
	if err != nil {
		return fmt.Errorf("list the alarms: %w", err)
	}
	if err := acceptWrites(ctx, store.Client, alarms.Alarms); err != nil {
		return err
	}
	return store.changeRecord(ctx, func(record *guard.Record) bool { *record = record.Restored(); return true })
}

// advance increases the generation of the store by one. No server opens an incomplete store, so nothing can be newer than its snapshot, and
// each write of an import or a copy depends on the version of the record.
func (s *Store) advance(ctx context.Context) error {
	return s.changeRecord(ctx, func(record *guard.Record) bool { record.Generation++; return !record.Incomplete })
}

// changeRecord changes the record of the store, if change returns true. A store without a record is not changed. It repeats if a server
// advances the generation at the same time.
func (s *Store) changeRecord(ctx context.Context, change func(*guard.Record) bool) error {
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
		if !change(&next) {
			return nil
		}
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

// Defragment returns the free space of each member to the file system, one member after the other, so the others keep
// answering. A member does not answer in the meantime. report is called after each member. If etcd refuses writes for
// lack of space, Defragment also drops old revisions, and lets etcd accept writes again, which it returns as resumed.
// The alarm is disarmed last, when the space is free.
func Defragment(ctx context.Context, client *clientv3.Client, report func(Defragmented)) (resumed bool, err error) {
	alarms, err := client.AlarmList(ctx)
	if err != nil {
		return false, fmt.Errorf("list the alarms: %w", err)
	}
	// The alarm is raised by the size of the file, which a defragmentation makes smaller only after old revisions are
	// dropped.
	full := slices.ContainsFunc(alarms.Alarms, outOfSpace)
	if full {
		_, err := client.Compact(ctx, alarms.Header.GetRevision(), clientv3.WithCompactPhysical())
		if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return false, fmt.Errorf("drop old revisions: %w", err)
		}
	}
	for _, endpoint := range client.Endpoints() {
		done, err := defragment(ctx, client, endpoint)
		if err != nil {
			return false, err
		}
		report(done)
	}
	if !full {
		return false, nil
	}
	return true, acceptWrites(ctx, client, alarms.Alarms)
}

// outOfSpace returns true for the alarm with which etcd refuses writes for lack of space.
func outOfSpace(alarm *pb.AlarmMember) bool { return alarm.GetAlarm() == pb.AlarmType_NOSPACE }

// acceptWrites disarms the alarms about space. Other alarms, such as one about damaged data, are left for the operator.
func acceptWrites(ctx context.Context, client *clientv3.Client, alarms []*pb.AlarmMember) error {
	for _, alarm := range alarms {
		if !outOfSpace(alarm) {
			continue
		}
		if _, err := client.AlarmDisarm(ctx, (*clientv3.AlarmMember)(alarm)); err != nil {
			return fmt.Errorf("disarm the alarm: %w", err)
		}
	}
	return nil
}

// defragment shrinks the file of one member, and returns its sizes before and after.
func defragment(ctx context.Context, client *clientv3.Client, endpoint string) (Defragmented, error) {
	before, err := client.Status(ctx, endpoint)
	if err != nil {
		return Defragmented{}, fmt.Errorf("read the status of %s: %w", endpoint, err)
	}
	if _, err := client.Defragment(ctx, endpoint); err != nil {
		return Defragmented{}, fmt.Errorf("defragment %s: %w", endpoint, err)
	}
	after, err := client.Status(ctx, endpoint)
	if err != nil {
		return Defragmented{}, fmt.Errorf("read the status of %s: %w", endpoint, err)
	}
	return Defragmented{endpoint, before.DbSize, after.DbSize}, nil
}
