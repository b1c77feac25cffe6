package turns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// errLost means that the server could not renew its lease in time. The write may or may not have happened.
var errLost = errors.New("the lock in etcd expired during the write")

// lease is a lease of etcd that is renewed until it is lost. All locks of a server have the same lease, because to get one and to
// give it back costs two more writes.
type lease struct {
	client *clientv3.Client
	id     clientv3.LeaseID
	// held ends when the lease is lost or abandoned, and before etcd deletes its locks: the time to live counts from the moment in which
	// the server asked for it, which is earlier than the moment in which etcd granted it.
	held context.Context
	lose context.CancelFunc
}

// newLease gets a lease of etcd and renews it three times in its time to live. The renewal ends when the lease is
// lost, when lose is called, or when the client is closed.
func newLease(ctx context.Context, client *clientv3.Client, ttl time.Duration) (*lease, error) {
	// The time is taken before the request, so this server gives the lease up before etcd does.
	asked := time.Now()
	granted, err := client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return nil, fmt.Errorf("get a lease of etcd: %w", err)
	}
	l := &lease{client: client, id: granted.ID}
	l.held, l.lose = context.WithCancel(client.Ctx()) // It outlives the request that needs it first.
	go l.keep(asked.Add(ttl), ttl)                    //nolint:contextcheck // The lease outlives the request.
	return l, nil
}

// keep renews the lease, which ends at the given time unless it is renewed. It runs as the only goroutine of the
// lease, and ends held when it returns.
func (l *lease) keep(end time.Time, ttl time.Duration) {
	defer l.lose()
	for {
		select {
		case <-l.held.Done():
			return
		case <-time.After(ttl / 3):
		}
		asked := time.Now()
		if err := l.renew(end, ttl/3); err != nil {
			return
		}
		end = asked.Add(ttl)
	}
}

// renew tries to renew the lease until it ends. One attempt takes no longer than patience, because the next one may
// reach another member of etcd. It returns errLost if no attempt succeeded in time, or if etcd does not have the
// lease any more.
func (l *lease) renew(end time.Time, patience time.Duration) error {
	ctx, cancel := context.WithDeadline(l.held, end)
	defer cancel()
	for {
		attempt, stop := context.WithTimeout(ctx, patience)
		remaining, err := l.renewOnce(attempt)
		stop()
		if err == nil && remaining <= 0 {
			return errLost
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errLost
		case <-time.After(patience / 10):
		}
	}
}

// renewOnce returns the time to live in seconds, which is zero if etcd does not have the lease any more. KeepAliveOnce of the client
// does the same, but repeats the request without a pause while etcd is unavailable.
func (l *lease) renewOnce(ctx context.Context) (seconds int64, err error) {
	stream, err := clientv3.RetryLeaseClient(l.client).LeaseKeepAlive(ctx)
	if err != nil {
		return 0, fmt.Errorf("renew a lease of etcd: %w", err)
	}
	if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(l.id)}); err != nil {
		return 0, fmt.Errorf("renew a lease of etcd: %w", err)
	}
	answer, err := stream.Recv()
	if err != nil {
		return 0, fmt.Errorf("renew a lease of etcd: %w", err)
	}
	return answer.GetTTL(), nil
}
