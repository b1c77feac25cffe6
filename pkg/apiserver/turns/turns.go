package turns

import (
	"context"
	"fmt"
	"path"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// leaseTTL is how long the others wait after a server ended in its turn. A shorter time would lose leases when
	// etcd is slow for a moment.
	leaseTTL = 10 * time.Second
	// longestHold is how long the requests of one server hand the lock to each other before the other servers have a chance.
	longestHold = time.Second
)

// Turns implements rest.Turns with locks in etcd. It is safe for concurrent use.
type Turns struct {
	client *clientv3.Client
	prefix string
	// explain translates an error of etcd into the error for clients.
	explain func(error) error
	// ttl is leaseTTL, and shorter in tests. A server renews its lease three times in this time, and then learns if it was lost.
	ttl time.Duration
	// hold is longestHold, and another time in tests.
	hold time.Duration
	// leasing is full while a request gets a lease for the server, or looks at it. It is a channel and not a mutex,
	// so that a waiting request can give up. It guards lease.
	leasing chan struct{}
	lease   *lease

	// lock guards kinds. A kind is never removed from the map, because there are few.
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

// held is a lock in etcd. since is when this server got it; it is kept when requests hand the lock to each other.
type held struct {
	*lock
	since time.Time
}

// New returns Turns for all servers whose keys in etcd have the prefix. It does not connect. explain translates an error of etcd, as for
// other writes.
func New(client *clientv3.Client, prefix string, explain func(error) error) *Turns {
	return &Turns{
		client: client, prefix: path.Join("/", prefix, "turns"), explain: explain, ttl: leaseTTL, hold: longestHold,
		leasing: make(chan struct{}, 1), kinds: map[string]*kind{},
	}
}

// Take implements rest.Turns. It returns when this request is the only one that may write the kind, among all
// servers. The caller must use turn for the write and call done after it. If the lease is lost before, turn ends with
// errLost as its cause. An error means that there is no turn, and done is nil.
func (t *Turns) Take(ctx context.Context, name string) (turn context.Context, done func(), err error) {
	k := t.kind(name)
	var h *held
	// Either another request of this server hands its lock over, or this request is the first one and gets a lock
	// from etcd.
	select {
	case h = <-k.handover:
	case k.token <- struct{}{}:
		lock, err := t.acquire(ctx, name)
		if err != nil {
			<-k.token
			return nil, nil, t.explain(err)
		}
		h = &held{lock: lock, since: time.Now()}
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	turn, end := context.WithCancelCause(ctx)
	watched := context.AfterFunc(h.lease.held, func() { end(errLost) })
	return turn, func() {
		watched()
		end(nil)
		t.pass(k, h)
	}, nil
}

// pass hands the lock to another request of this server, or gives it back to etcd. It gives it back unless a request waits at this
// moment, because a lock that nobody takes would keep the other servers waiting.
func (t *Turns) pass(k *kind, h *held) {
	if h.lease.held.Err() == nil && time.Since(h.since) < t.hold {
		select {
		case k.handover <- h:
			return
		default:
		}
	}
	go func() { // The answer does not wait for etcd.
		h.release(t.ttl)
		<-k.token
	}()
}

// acquire waits for the lock of the kind in etcd. The caller has the token of the kind, so this server competes only
// once for it.
func (t *Turns) acquire(ctx context.Context, kind string) (*lock, error) {
	lease, err := t.leased(ctx)
	if err != nil {
		return nil, err
	}
	// A key that is created after its request has given up would keep the others waiting, so the request waits for the answer.
	enqueuing, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.ttl)
	lock, err := lease.enqueue(enqueuing, path.Join(t.prefix, kind))
	cancel()
	if err != nil {
		lease.lose() // The key may exist. It does not outlive the lease.
		return nil, fmt.Errorf("lock %s in etcd: %w", kind, err)
	}
	if err := lock.await(ctx); err != nil {
		lock.release(t.ttl) //nolint:contextcheck // The request may have given up.
		return nil, fmt.Errorf("lock %s in etcd: %w", kind, err)
	}
	return lock, nil
}

// leased returns the lease of the server. It gets one for the first turn, and when the last one was lost. Locks of a
// lost lease stay with their requests, whose turns end by it.
func (t *Turns) leased(ctx context.Context) (*lease, error) {
	select {
	case t.leasing <- struct{}{}:
		defer func() { <-t.leasing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if t.lease == nil || t.lease.held.Err() != nil {
		lease, err := newLease(ctx, t.client, t.ttl)
		if err != nil {
			return nil, err
		}
		t.lease = lease
	}
	return t.lease, nil
}

// kind returns where the requests for a kind wait, and creates it at the first request.
func (t *Turns) kind(name string) *kind {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.kinds[name] == nil {
		t.kinds[name] = &kind{token: make(chan struct{}, 1), handover: make(chan *held)}
	}
	return t.kinds[name]
}
