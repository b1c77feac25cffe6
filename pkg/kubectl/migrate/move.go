package migrate

import (
	"context"
	"fmt"
	"io"
	"time"
)

// end is the state of one of the two workloads.
type end struct {
	// Replicas is the wanted number of Pods.
	Replicas int32
	// Settled is true if the controller has observed that number and the Pods are those wanted: all exist and are available, and no
	// others exist.
	Settled bool
}

// move moves replicas in steps. Its functions read and write the workloads; they are fields, so tests need no server.
type move struct {
	source, target           string
	readSource, readTarget   func(context.Context) (end, error)
	scaleSource, scaleTarget func(ctx context.Context, from, to int32) error
	// wait waits between two reads, or returns the error of its context.
	wait func(context.Context) error
	out  io.Writer

	// replicas is how many are moved, or negative for all. surge is how many are moved in one step.
	replicas, surge int32
}

// run moves the replicas: it scales the target out by at most the surge, waits for the new Pods, and scales the
// source in by the same number. So the available Pods are never fewer than at the start. After an error, the replicas
// that were moved stay moved.
func (m *move) run(ctx context.Context) error {
	source, err := m.readSource(ctx)
	if err != nil {
		return err
	}
	// All means those at the start, so replicas that are added later stay where they are.
	if m.replicas < 0 {
		m.replicas = source.Replicas
	}
	if m.replicas > source.Replicas {
		return fmt.Errorf("%s has %d replicas: move at most that many, not %d", m.source, source.Replicas, m.replicas)
	}
	for moved := int32(0); moved < m.replicas; {
		step := min(m.surge, m.replicas-moved)
		if err := m.step(ctx, step); err != nil {
			return err
		}
		moved += step
		_, _ = fmt.Fprintf(m.out, "Migration progress: %s scale in %d, %s scale out %d\n", m.source, moved, m.target, moved)
	}
	_, _ = fmt.Fprintf(m.out, "Successfully migrated %d replicas from %s to %s\n", m.replicas, m.source, m.target)
	return nil
}

// step moves one step. If it fails after the target was scaled out, there are more Pods than before and never fewer.
func (m *move) step(ctx context.Context, step int32) error {
	target, err := m.readTarget(ctx)
	if err != nil {
		return err
	}
	if err := m.scaleTarget(ctx, target.Replicas, target.Replicas+step); err != nil {
		return fmt.Errorf("scale out %s: %w", m.target, err)
	}
	if err := m.settle(ctx, m.readTarget); err != nil {
		return fmt.Errorf("wait for %s: %w", m.target, err)
	}
	// It is read again for each step, because an autoscaler or a user may have scaled it.
	source, err := m.readSource(ctx)
	if err != nil {
		return err
	}
	if err := m.scaleSource(ctx, source.Replicas, max(0, source.Replicas-step)); err != nil {
		return fmt.Errorf("scale in %s: %w", m.source, err)
	}
	if err := m.settle(ctx, m.readSource); err != nil {
		return fmt.Errorf("wait for %s: %w", m.source, err)
	}
	return nil
}

// settle waits until a workload is settled. An error of a read ends it.
func (m *move) settle(ctx context.Context, read func(context.Context) (end, error)) error {
	for {
		now, err := read(ctx)
		if err != nil {
			return err
		}
		if now.Settled {
			return nil
		}
		if err := m.wait(ctx); err != nil {
			return err
		}
	}
}

// every returns a function that waits for a duration.
func every(duration time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		timer := time.NewTimer(duration)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		}
	}
}
