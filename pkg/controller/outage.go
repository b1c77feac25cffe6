package controller

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// probeEvery is the pause between two probes of a server that does not answer. probeTimeout limits one probe. All reflectors of
	// one server share the probes, so the load does not grow with the number of informers. A server that accepts connections but does
	// not answer must not block the probes for longer than probeTimeout.
	probeEvery   = time.Second
	probeTimeout = 5 * time.Second
)

// outage delays the errors of reflectors until their API server answers again.
//
// A reflector waits after each failure, longer each time. After a long outage it would return up to a minute after the server. The
// handler of its errors therefore returns only when the server answers, so the first and shortest delay is the only one.
type outage struct {
	// probe sends a request that the server answers if it can answer those of reflectors.
	probe func(ctx context.Context) error

	lock sync.Mutex
	// over is closed when the server answers. It is nil while nobody waits.
	over chan struct{}
}

// handle logs the error of a reflector, and returns when the server answers. client-go calls it in the goroutine of the reflector, so
// blocking here delays only this reflector. The first caller starts the probes, and later callers wait for the same channel.
func (o *outage) handle(ctx context.Context, reflector *cache.Reflector, err error) {
	klog.FromContext(ctx).Info("Failed to list or watch, waiting for the API server", "type", reflector.TypeDescription(), "err", err)
	o.lock.Lock()
	if o.over == nil {
		o.over = make(chan struct{})
		go o.end(ctx, o.over)
	}
	over := o.over
	o.lock.Unlock()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// end closes the channel when the server answers. All reflectors share the probes. It sets over to nil before it closes the channel,
// both under the lock, so an error after that starts new probes.
func (o *outage) end(ctx context.Context, over chan struct{}) {
	logger, began := klog.FromContext(ctx), time.Now()
	// The only error is the end of the context. The waiting reflectors end with it, too.
	_ = wait.PollUntilContextCancel(ctx, probeEvery, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		err := o.probe(ctx)
		logger.V(4).Info("Probed the API server", "err", err)
		return answers(err), nil
	})
	logger.V(2).Info("The API server answers again, or the program stops", "after", time.Since(began))
	o.lock.Lock()
	defer o.lock.Unlock()
	o.over = nil
	close(over)
}

// answers reports whether a server answered. A refusal is an answer too: waiting would not change it. A status of 500 or higher comes
// from the aggregator while kruise-apiserver is down. An error without a status is one of the connection.
func answers(err error) bool {
	var status apierrors.APIStatus
	return err == nil || errors.As(err, &status) && status.Status().Code > 0 && status.Status().Code < http.StatusInternalServerError
}

// probing returns a probe that sends a request. Without a client, as in tests, the server always answers.
func probing(client rest.Interface, uri string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if client == nil {
			return nil
		}
		return client.Get().RequestURI(uri).Do(ctx).Error()
	}
}
