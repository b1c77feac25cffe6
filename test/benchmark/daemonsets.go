//go:build bench

package main

import (
	"context"
	"fmt"
	"time"
)

// daemonManifest is a DaemonSet of either group.
const daemonManifest = `
apiVersion: GROUP
kind: DaemonSet
metadata: {name: bench}
spec:
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 10%}}
  selector: {matchLabels: {app: bench}}
  template:
    metadata: {labels: {app: bench}}
    spec:
      nodeSelector: {bench: "true"}
      tolerations: [{operator: Exists}]
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "kruise.local/demo:v1"}]
`

// daemonSets measures a DaemonSet of each group: its creation, an update while nodes are added and removed, and heartbeats of its
// nodes.
func (f *fleet) daemonSets(ctx context.Context, nodes int) (err error) {
	f.header(fmt.Sprintf("DaemonSet, %d nodes", nodes))
	for _, r := range f.rivals {
		if err := f.daemonSet(ctx, r, nodes); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return f.out.Flush()
}

func (f *fleet) daemonSet(ctx context.Context, r *rival, nodes int) (err error) {
	e, leave, err := f.enter(ctx, r, "daemonsets", nodes)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, leave(context.WithoutCancel(ctx))) }()
	all := map[string]int64{
		"desiredNumberScheduled": int64(nodes), "numberAvailable": int64(nodes), "updatedNumberScheduled": int64(nodes), "numberMisscheduled": 0,
	}
	err = e.step(ctx, "ready", func(ctx context.Context) error {
		if err := e.create(ctx, daemonManifest); err != nil {
			return err
		}
		return e.reached(ctx, all)
	})
	if err != nil {
		return err
	}
	if err := e.beats(ctx, nodes); err != nil {
		return err
	}
	churn := max(1, nodes/10)
	defer func() { // The next one begins with the same nodes.
		err = joined(err, f.removeNodes(context.WithoutCancel(ctx), nodes, nodes+churn, e.namespace))
		err = joined(err, f.addNodes(context.WithoutCancel(ctx), 0, churn))
	}()
	return e.step(ctx, fmt.Sprintf("updated, %d nodes added and removed", churn), func(ctx context.Context) error {
		if err := e.image(ctx, "v2"); err != nil {
			return err
		}
		if err := f.addNodes(ctx, nodes, nodes+churn); err != nil {
			return err
		}
		if err := f.removeNodes(ctx, 0, churn, e.namespace); err != nil {
			return err
		}
		return e.reached(ctx, all)
	})
}

const (
	// afterBeats is how long a controller has to react to a heartbeat. calmTries is how often a controller is given that time to end
	// what it did before.
	afterBeats = 3 * time.Second
	calmTries  = 20
)

// reconciles returns how often our controller has reconciled DaemonSets. Only ours counts that.
func reconciles(r reading) float64 {
	return r.Sum("controller_runtime_reconcile_total", `controller="daemonset-controller"`)
}

// calm waits until the controller reconciles no DaemonSet any more, and returns what it has spent by then.
func (e *entrant) calm(ctx context.Context) (last reading, err error) {
	for range calmTries {
		before, err := e.read(ctx)
		if err != nil {
			return last, err
		}
		if err := pause(ctx, afterBeats); err != nil {
			return last, err
		}
		if last, err = e.read(ctx); err != nil || reconciles(last) == reconciles(before) {
			return last, err
		}
	}
	return last, fmt.Errorf("the controller still reconciles after %v without a change", calmTries*afterBeats)
}

// beats lets each node write its status, and counts the reconciles that this causes.
func (e *entrant) beats(ctx context.Context, nodes int) error {
	before, err := e.calm(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := e.heartbeats(ctx, nodes); err != nil {
		return fmt.Errorf("heartbeats: %w", err)
	}
	if err := pause(ctx, afterBeats); err != nil {
		return err
	}
	after, err := e.read(ctx)
	if err != nil {
		return err
	}
	e.row(fmt.Sprintf("%d heartbeats", nodes), time.Since(began).Seconds(), spent(before, after))
	if count := reconciles(after) - reconciles(before); count > 0 {
		return fmt.Errorf("%d heartbeats caused %.0f reconciles of the DaemonSet, want none", nodes, count)
	}
	return nil
}
