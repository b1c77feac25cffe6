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
	// probeEvery is the pause between two probes of a server that does not answer. probeTimeout limits one probe.
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

// handle logs the error of a reflector, and returns when the server answers.
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

// end closes the channel when the server answers. All reflectors share the probes.
func (o *outage) end(ctx context.Context, over chan struct{}) {
	logger, began := klog.FromContext(ctx), time.Now()
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

// answers reports whether a server answered. A refusal is an answer too: waiting would not change it.
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
