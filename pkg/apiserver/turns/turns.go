package turns

import (
	"context"
	"fmt"
	"path"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// leaseTTL is how long the others wait after a server ended in its turn. A shorter time would lose leases when
	// etcd is slow for a moment.
	leaseTTL = 10 * time.Second
	// longestHold is how long the requests of one server hand the lock to each other before the other servers have a chance.
	longestHold = time.Second
	// longestTurn is how long one write may take. It is enough for a write that waits twice for an admission webhook with the default timeout
	// of 10 seconds.
	longestTurn = 20 * time.Second
	// lastWrite is how long a write that reached etcd before the end of its turn can still be made. etcd itself gives up after 7 seconds.
	lastWrite = 10 * time.Second
)

// Turns implements rest.Turns with locks in etcd. It is safe for concurrent use.
type Turns struct {
	client *clientv3.Client
	prefix string
	// explain translates an error of etcd into the error for clients.
	explain func(error) error
	// ttl is leaseTTL, and shorter in tests. A server renews its lease three times in this time, and then learns if it was lost.
	ttl time.Duration
	// hold is longestHold, longest is longestTurn, and margin is lastWrite. They are other times in tests.
	hold, longest, margin time.Duration
	// leasing is full while a request gets a lease for the server, or looks at it. It is a channel and not a mutex,
	// so that a waiting request can give up. It guards lease.
	leasing chan struct{}
	lease   *lease

	// lock guards queues. A queue is removed when nobody uses it: users can create any number of namespaces.
	lock   sync.Mutex
	queues map[string]*queue
}

// queue is where the requests of one server for one set of objects wait.
type queue struct {
	// token is full while a request of this server has the lock in etcd, or competes for it.
	token chan struct{}
	// handover passes the lock to a request that waits, together with the token.
	handover chan *held
	// users is how many requests wait or have the lock. The lock of Turns guards it.
	users int
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
		longest: longestTurn, margin: lastWrite, leasing: make(chan struct{}, 1), queues: map[string]*queue{},
	}
}

// Take implements rest.Turns. It returns when this request is the only one that may write the set, among all
// servers. The caller must use turn for the write and call done after it. If the lease is lost before, turn ends with
// errLost as its cause. After longestTurn, it ends with a 504, and the next request gets its turn when nothing that was sent to etcd can
// still be written. An error means that there is no turn, and done is nil.
func (t *Turns) Take(ctx context.Context, set string) (turn context.Context, done func(), err error) {
	q := t.join(set)
	var h *held
	// Either another request of this server hands its lock over, or this request is the first one and gets a lock
	// from etcd.
	select {
	case h = <-q.handover:
	case q.token <- struct{}{}:
		lock, err := t.acquire(ctx, set)
		if err != nil {
			<-q.token
			t.leave(set, q)
			return nil, nil, t.explain(err)
		}
		h = &held{lock: lock, since: time.Now()}
	case <-ctx.Done():
		t.leave(set, q)
		return nil, nil, context.Cause(ctx)
	}
	turn, end := context.WithCancelCause(ctx)
	watched := context.AfterFunc(h.lease.held, func() { end(errLost) })
	over := time.AfterFunc(t.longest, func() { end(t.tooLong(set)) })
	pass := sync.OnceFunc(func() { t.pass(set, q, h) })
	abandoned := time.AfterFunc(t.longest+t.margin, pass)
	return turn, func() {
		watched()
		over.Stop()
		abandoned.Stop()
		end(nil)
		pass()
	}, nil
}

// tooLong returns the error of a write that did not end in its turn.
func (t *Turns) tooLong(set string) error {
	return apierrors.NewTimeoutError(fmt.Sprintf("the write did not end within %s, and other writes of %s wait for it; "+
		"find the admission webhook that is slow", t.longest, set), 1)
}

// pass hands the lock to another request of this server, or gives it back to etcd. It gives it back unless a request waits at this
// moment, because a lock that nobody takes would keep the other servers waiting.
func (t *Turns) pass(set string, q *queue, h *held) {
	if h.lease.held.Err() == nil && time.Since(h.since) < t.hold {
		select {
		case q.handover <- h:
			t.leave(set, q)
			return
		default:
		}
	}
	go func() { // The answer does not wait for etcd.
		h.release(t.ttl)
		<-q.token
		t.leave(set, q)
	}()
}

// acquire waits for the lock of the set in etcd. The caller has the token of the queue, so this server competes only
// once for it.
func (t *Turns) acquire(ctx context.Context, set string) (*lock, error) {
	lease, err := t.leased(ctx)
	if err != nil {
		return nil, err
	}
	// A key that is created after its request has given up would keep the others waiting, so the request waits for the answer.
	enqueuing, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.ttl)
	lock, err := lease.enqueue(enqueuing, path.Join(t.prefix, set))
	cancel()
	if err != nil {
		lease.lose() // The key may exist. It does not outlive the lease.
		return nil, fmt.Errorf("lock %s in etcd: %w", set, err)
	}
	if err := lock.await(ctx); err != nil {
		lock.release(t.ttl) //nolint:contextcheck // The request may have given up.
		return nil, fmt.Errorf("lock %s in etcd: %w", set, err)
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

// join returns where the requests for a set wait. The caller must leave it.
func (t *Turns) join(set string) *queue {
	t.lock.Lock()
	defer t.lock.Unlock()
	q := t.queues[set]
	if q == nil {
		q = &queue{token: make(chan struct{}, 1), handover: make(chan *held)}
		t.queues[set] = q
	}
	q.users++
	return q
}

// leave forgets the queue if the caller is the last one in it.
func (t *Turns) leave(set string, q *queue) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if q.users--; q.users == 0 {
		delete(t.queues, set)
	}
}
