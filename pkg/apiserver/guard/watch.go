package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// watch checks every second that the store is still the same, and increases the generation while there are writes. It
// ends with ErrClosed after shut.
func (g *Guard) watch(ctx context.Context) error {
	advanced := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case l := <-g.closing:
			g.report(ctx, l)
			return fmt.Errorf("%w: %s", ErrClosed, l.message)
		case <-time.After(probePeriod):
		}
		if !g.probe(ctx) {
			continue
		}
		if time.Since(advanced) >= advancePeriod {
			advanced = time.Now()
			g.advance(ctx)
		}
	}
}

// probe reads the record once. It returns true if the store is the right one. If etcd does not answer, the guard
// stays open: no answer does no harm, only a wrong one does.
func (g *Guard) probe(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// The reading before this one was complete before this request starts, so the comparison is in order.
	before := g.known.Load()
	reading, err := g.config.Store.Read(ctx)
	if err != nil {
		g.away(ctx, fmt.Sprintf("etcd at %s does not answer: %v", g.config.Store.Endpoint(), err))
		return false
	}
	if reason, message := before.contradicts(&reading); reason != "" {
		g.shut(reason, message, before.rollback(&reading))
		return false
	}
	g.known.Store(&known{reading})
	g.away(ctx, "")
	return true
}

// away publishes that the open store does not answer. An empty trouble means that it answers again. It does not
// change a state other than open: the guard may have closed at the same time.
func (g *Guard) away(ctx context.Context, trouble string) {
	before := g.state.Load()
	if before.phase != open || before.trouble == trouble || !g.state.CompareAndSwap(before, newState(open, "", trouble)) {
		return
	}
	if trouble != "" && before.trouble == "" {
		klog.FromContext(ctx).Error(nil, "The store does not answer", "problem", trouble)
	}
	if trouble == "" {
		klog.FromContext(ctx).Info("The store answers again")
	}
}

// shut closes the guard. It changes the state first, so that no later answer of the store reaches a client. Any
// goroutine may call it; only the first call counts.
func (g *Guard) shut(reason Reason, message string, unseen bool) {
	g.once.Do(func() {
		g.state.Store(newState(closed, reason, message))
		showReason(reason)
		g.closing <- lost{reason, message, unseen}
	})
}

// report records why the guard closed, before the process exits. ctx may have ended already. The message in the
// ConfigMap is for the operator, except for a loss that a later start cannot detect: that is kept as evidence, and
// judge refuses the store until an operator confirms it. Without the evidence, the next start would open the store, so
// report tries until the cluster has it or ctx ends.
func (g *Guard) report(ctx context.Context, l lost) {
	logger := klog.FromContext(ctx)
	logger.Error(nil, "The store is closed", "reason", l.reason, "problem", l.message)
	logged := ""
	for {
		err := g.recordLoss(ctx, l)
		if err != nil && err.Error() != logged {
			logged = err.Error()
			logger.Error(err, "Failed to report in the cluster that the store is closed")
		}
		if err == nil || !l.unseen || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(probePeriod):
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	g.event(ctx, corev1.EventTypeWarning, "StoreClosed", l.message)
}

// recordLoss writes the loss to the ConfigMap. It also does so if ctx has ended.
func (g *Guard) recordLoss(ctx context.Context, l lost) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	var err error
	for range 3 { // Another replica may write at the same time.
		var cluster clusterRecord
		if cluster, err = readCluster(ctx, g.configMaps(), g.config.Name); err == nil {
			if l.unseen {
				cluster.Lost = l.message
			}
			_, err = cluster.write(ctx, g.configMaps(), "closed: "+l.message)
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// advance increases the generation by one, first in the store and then in the cluster. A failed step is repeated the
// next time. Without writes, the generation stays as it is.
func (g *Guard) advance(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	logger, now := klog.FromContext(ctx), g.known.Load()
	// wrote is cleared before the write. A request that writes during it sets it again, and the next round counts it.
	if g.wrote.Swap(false) {
		next := *now.Record
		next.Generation++
		reading, err := g.config.Store.Write(ctx, next, now.Version)
		switch {
		case err == nil:
			now = &known{reading}
			g.known.Store(now)
		case errors.Is(err, ErrChanged):
			// Another replica advanced the generation. The next probe reads it.
			g.wrote.Store(true)
		default:
			g.wrote.Store(true)
			logger.Error(err, "Failed to advance the store's generation")
		}
	}
	showGeneration(now.Record.Generation)
	if err := g.publish(ctx, now.Record); err != nil && !apierrors.IsConflict(err) {
		logger.Error(err, "Failed to write the store's generation to the cluster")
	}
}

// publish copies the record to the cluster, unless the cluster already has this generation or a later one. It reads
// the ConfigMap each time, because it may tell that this server serves the wrong store: another one, or an old one whose newer copy was
// opened by another server. The guard closes then.
func (g *Guard) publish(ctx context.Context, record *Record) error {
	cluster, err := readCluster(ctx, g.configMaps(), g.config.Name)
	if err != nil {
		return err
	}
	switch {
	case cluster.Identity != "" && cluster.Identity != record.Identity:
		g.shut(Replaced, fmt.Sprintf("the cluster expects the store with identity %s, but this store has identity %s",
			cluster.Identity, record.Identity), false)
		return nil
	case cluster.Identity != "" && cluster.Generation > record.Generation:
		return g.confirm(ctx, cluster.Generation)
	// Another replica may have written a later generation; it must not become lower.
	case cluster.Identity == "" || cluster.Generation < record.Generation:
		cluster.Identity, cluster.Generation = record.Identity, record.Generation
		if cluster, err = cluster.write(ctx, g.configMaps(), stateOpen); err != nil {
			return err
		}
	}
	g.cluster = cluster
	return nil
}

// confirm reads the store again after the cluster had a later generation. Another replica with the same store writes the store first, so
// the store has this generation now, or it is not the one that the other server serves.
func (g *Guard) confirm(ctx context.Context, expected int64) error {
	reading, err := g.config.Store.Read(ctx)
	if err != nil {
		return err
	}
	if reading.Record != nil && reading.Record.Generation < expected {
		g.shut(RolledBack, fmt.Sprintf("the cluster expects generation %d of the store, but this store is at generation %d: another server "+
			"has opened a newer copy of it", expected, reading.Record.Generation), false)
	}
	return nil
}

// event writes an event about the ConfigMap. It writes directly and not by a recorder, because the process may exit
// right after it. A failure is logged only.
func (g *Guard) event(ctx context.Context, kind, reason, message string) {
	now := metav1.Now()
	_, err := g.config.Kube.CoreV1().Events(g.config.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s.%x", g.config.Name, now.UnixNano()), Namespace: g.config.Namespace,
		},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "ConfigMap", Namespace: g.config.Namespace, Name: g.config.Name,
		},
		Type: kind, Reason: reason, Message: message[:min(len(message), maxEventMessage)],
		Source: corev1.EventSource{Component: "kruise-apiserver"}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to write an event", "reason", reason)
	}
}

// maxEventMessage is the maximum message length that the API accepts, in bytes.
const maxEventMessage = 1024
