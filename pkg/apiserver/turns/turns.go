package turns

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// leaseTTL is how long the others wait after a server ended in its turn. The lease is renewed while the turn lasts.
const leaseTTL = 10 * time.Second

// errLost means that the server could not renew its lease in time.
var errLost = errors.New("the lock in etcd expired during the write")

// Turns implements rest.Turns with locks in etcd.
type Turns struct {
	client *clientv3.Client
	prefix string
	// ttl is leaseTTL, and shorter in tests. A server renews its lease three times in this time, and then learns if it was lost.
	ttl  time.Duration
	lock sync.Mutex
	// local holds a token for each kind. The requests of one server wait here, and one of them competes in etcd.
	local map[string]chan struct{}
}

// New returns Turns for all servers whose keys in etcd have the prefix. It does not connect.
func New(client *clientv3.Client, prefix string) *Turns {
	return &Turns{client: client, prefix: path.Join("/", prefix, "turns"), ttl: leaseTTL, local: map[string]chan struct{}{}}
}

// Take implements rest.Turns.
func (t *Turns) Take(ctx context.Context, kind string) (turn context.Context, done func(), err error) {
	token := t.token(kind)
	select {
	case token <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	session, err := t.acquire(ctx, kind)
	if err != nil {
		<-token
		return nil, nil, err
	}
	turn, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-session.Done():
			end(errLost)
		case <-turn.Done():
		}
	}()
	return turn, func() {
		end(nil)
		go func() { // The answer does not wait for etcd.
			_ = session.Close() // If it fails, the lease expires.
			<-token
		}()
	}, nil
}

// acquire waits for the lock in etcd. The session holds it until it is closed.
func (t *Turns) acquire(ctx context.Context, kind string) (*concurrency.Session, error) {
	lease, err := t.client.Grant(ctx, int64(t.ttl/time.Second))
	if err != nil {
		return nil, fmt.Errorf("get a lease of etcd: %w", err)
	}
	// The session outlives a request that is canceled, so that it can give the lock back.
	session, err := concurrency.NewSession(t.client,
		concurrency.WithLease(lease.ID), concurrency.WithTTL(int(t.ttl/time.Second)), concurrency.WithContext(context.WithoutCancel(ctx)))
	if err != nil {
		return nil, fmt.Errorf("keep a lease of etcd: %w", err)
	}
	if err := concurrency.NewMutex(session, path.Join(t.prefix, kind)).Lock(ctx); err != nil {
		_ = session.Close()
		return nil, fmt.Errorf("lock %s in etcd: %w", kind, err)
	}
	return session, nil
}

func (t *Turns) token(kind string) chan struct{} {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.local[kind] == nil {
		t.local[kind] = make(chan struct{}, 1)
	}
	return t.local[kind]
}
