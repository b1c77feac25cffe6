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

const (
	// leaseTTL is how long the others wait after a server ended in its turn. The lease is renewed while the turn lasts.
	leaseTTL = 10 * time.Second
	// longestHold is how long the requests of one server hand the lock to each other before the other servers have a chance.
	longestHold = time.Second
)

// errLost means that the server could not renew its lease in time.
var errLost = errors.New("the lock in etcd expired during the write")

// Turns implements rest.Turns with locks in etcd.
type Turns struct {
	client *clientv3.Client
	prefix string
	// ttl is leaseTTL, and shorter in tests. A server renews its lease three times in this time, and then learns if it was lost.
	ttl time.Duration
	// hold is longestHold, and another time in tests.
	hold  time.Duration
	lock  sync.Mutex
	kinds map[string]*kind
}

// kind is where the requests of one server for one kind wait.
type kind struct {
	// token is full while a request of this server has the lock in etcd, or competes for it.
	token chan struct{}
	// handover passes the lock to a request that waits, together with the token.
	handover chan *held
}

// held is a lock in etcd.
type held struct {
	session *concurrency.Session
	since   time.Time
}

// alive returns false if the lease was lost.
func (h *held) alive() bool {
	select {
	case <-h.session.Done():
		return false
	default:
		return true
	}
}

// New returns Turns for all servers whose keys in etcd have the prefix. It does not connect.
func New(client *clientv3.Client, prefix string) *Turns {
	return &Turns{
		client: client, prefix: path.Join("/", prefix, "turns"), ttl: leaseTTL, hold: longestHold, kinds: map[string]*kind{},
	}
}

// Take implements rest.Turns.
func (t *Turns) Take(ctx context.Context, name string) (turn context.Context, done func(), err error) {
	k := t.kind(name)
	var h *held
	select {
	case h = <-k.handover:
	case k.token <- struct{}{}:
		session, err := t.acquire(ctx, name)
		if err != nil {
			<-k.token
			return nil, nil, err
		}
		h = &held{session: session, since: time.Now()}
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	turn, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-h.session.Done():
			end(errLost)
		case <-turn.Done():
		}
	}()
	return turn, func() {
		end(nil)
		t.pass(k, h)
	}, nil
}

// pass hands the lock to another request of this server, or gives it back to etcd. It gives it back unless a request waits at this
// moment, because a lock that nobody takes would keep the other servers waiting.
func (t *Turns) pass(k *kind, h *held) {
	if h.alive() && time.Since(h.since) < t.hold {
		select {
		case k.handover <- h:
			return
		default:
		}
	}
	go func() { // The answer does not wait for etcd.
		_ = h.session.Close() // If it fails, the lease expires.
		<-k.token
	}()
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

func (t *Turns) kind(name string) *kind {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.kinds[name] == nil {
		t.kinds[name] = &kind{token: make(chan struct{}, 1), handover: make(chan *held)}
	}
	return t.kinds[name]
}
