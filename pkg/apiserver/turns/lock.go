package turns

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// lock is a key of a lease below the prefix of a set. The oldest key has the lock, as in the recipe of etcd's
// client. The key is named after the lease, so each server has at most one key for each set.
type lock struct {
	lease *lease
	key   string
	// revision is the one in which the key was created. The lock is free when no older key of the set is left.
	revision int64
}

// enqueue creates the key, which puts the server at the end of the queue. An error leaves open whether the key
// exists, so the caller gives up the lease then.
func (l *lease) enqueue(ctx context.Context, prefix string) (*lock, error) {
	key := path.Join(prefix, strconv.FormatInt(int64(l.id), 16))
	answer, err := l.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, "", clientv3.WithLease(l.id))).Commit()
	if err != nil {
		return nil, err
	}
	if !answer.Succeeded {
		return nil, fmt.Errorf("key %s exists already", key) // The caller competes once for each set, and deletes its key after it.
	}
	return &lock{lease: l, key: key, revision: answer.Header.Revision}, nil
}

// await waits until no older key of the set is left. It waits for the youngest of the older keys only, so each
// deletion wakes one server and not all of them. That key can belong to a server that gave up, so it looks again
// after each deletion.
func (l *lock) await(ctx context.Context) error {
	prefix := path.Dir(l.key) + "/"
	for {
		older, err := l.lease.client.Get(ctx, prefix, append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(l.revision-1))...)
		if err != nil {
			return err
		}
		// A lost lease means that the own key is gone, and that the turn may be another server's already.
		if l.lease.held.Err() != nil {
			return errLost
		}
		if len(older.Kvs) == 0 {
			return nil
		}
		if err := l.lease.deleted(ctx, string(older.Kvs[0].Key), older.Kvs[0].CreateRevision); err != nil {
			return err
		}
	}
}

// deleted waits until the key that was created in a revision is gone. Its server may already have created it again, to compete for its
// next turn: that key waits for the caller, so the caller must not wait for it. deleted watches first and reads then, because etcd
// sends events of the past, which a watch from the revision of an earlier read would need, only every 100 ms.
func (l *lease) deleted(ctx context.Context, key string, created int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Without its lease, the server does not wait for a lock any more.
	defer context.AfterFunc(l.held, cancel)() //nolint:contextcheck // It stops with the request.
	for answer := range l.client.Watch(ctx, key, clientv3.WithFilterPut(), clientv3.WithCreatedNotify()) {
		if err := answer.Err(); err != nil {
			return err
		}
		if len(answer.Events) > 0 {
			return nil
		}
		found, err := l.client.Get(ctx, key, clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		if len(found.Kvs) == 0 || found.Kvs[0].CreateRevision != created {
			return nil
		}
	}
	if l.held.Err() != nil {
		return errLost
	}
	return context.Cause(ctx)
}

// release deletes the key. If that fails, nobody knows whether the key exists, and the server gives its lease up:
// etcd deletes the keys of the lease when it expires. It does not use the context of the request, which may have
// ended.
func (l *lock) release(patience time.Duration) {
	ctx, cancel := context.WithTimeout(l.lease.held, patience)
	defer cancel()
	if _, err := l.lease.client.Delete(ctx, l.key); err != nil {
		l.lease.lose()
	}
}
