//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unconcerned compares creations and deletions of Pods that no Kruise object concerns, with and without this project's webhooks for core
// kinds and admission policies. The two sides take turns, because only one can exist at a time.
func (b *bench) unconcerned(ctx context.Context) error {
	s := &shop{name: "unconcerned"}
	var err error
	if s.namespace, s.remove, err = b.namespace(ctx); err != nil {
		return err
	}
	defer s.remove()
	if err := b.settled(ctx, s); err != nil {
		return fmt.Errorf("prepare %s: %w", s.name, err)
	}
	pending, err := b.pendingPod(ctx, s)
	if err != nil {
		return err
	}
	servers, err := b.findAPIServers(ctx)
	if err != nil {
		return err
	}
	idle, err := servers.idle(ctx)
	if err != nil {
		return err
	}
	requests := []struct {
		name string
		do   func(context.Context) error
	}{
		{"create", func(ctx context.Context) error { return b.inject(ctx, s) }},
		{"delete", func(ctx context.Context) error {
			return b.core.CoreV1().Pods(s.namespace).Delete(ctx, pending, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		}},
	}
	// The first requests after a change of the admission are not measured: kube-apiserver does more then.
	measure := func(sides []side) error {
		for i, request := range requests {
			calls := slices.Repeat([]call{{do: request.do}}, b.pods/turns)
			if _, err := b.run(ctx, 1, 1, calls); err != nil {
				return fmt.Errorf("%s: %w", request.name, err)
			}
			if err := b.measureSide(ctx, &sides[i], calls, servers, idle); err != nil {
				return fmt.Errorf("%s: %w", request.name, err)
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "Pods that nothing concerns\tp50 ms\twithout admission\tratio\tp99 ms\twithout admission\tratio\t"+
		"CPU ms\twithout admission\tratio\t")
	for round := range b.rounds {
		with, without := make([]side, len(requests)), make([]side, len(requests))
		for range turns {
			if err := measure(with); err != nil {
				return err
			}
			if err := b.withoutAdmission(ctx, func() error { return measure(without) }); err != nil {
				return err
			}
		}
		for i, request := range requests {
			compare(table, fmt.Sprintf("round %d: %s", round+1, request.name), &with[i], &without[i])
		}
	}
	return table.Flush()
}

// compare writes a row with the figures of both sides and their ratios.
func compare(table io.Writer, name string, with, without *side) {
	_, _ = fmt.Fprintf(table, "%s\t", name)
	for _, figure := range []func(*side) float64{(*side).median, (*side).slow, (*side).each} {
		_, _ = fmt.Fprintf(table, "%.2f\t%.2f\t%.2f\t", figure(with), figure(without), figure(with)/figure(without))
	}
	_, _ = fmt.Fprintln(table)
}

// pendingPod creates a Pod that no scheduler takes, and returns its name.
func (b *bench) pendingPod(ctx context.Context, s *shop) (string, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pending"}, Spec: template("bench").Spec}
	pod.Spec.SchedulerName = "none"
	created, err := b.core.CoreV1().Pods(s.namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create a Pod to delete: %w", err)
	}
	return created.Name, nil
}

// measureSide adds the latencies of calls and the CPU time that the servers used for them.
func (b *bench) measureSide(ctx context.Context, s *side, calls []call, servers serverProcesses, idle cpuTime) error {
	before, err := servers.cpu()
	if err != nil {
		return err
	}
	begun := time.Now()
	measured, err := b.run(ctx, 1, 1, calls)
	took := time.Since(begun).Seconds()
	if err != nil {
		return err
	}
	after, err := servers.cpu()
	s.times = append(s.times, measured[0]...)
	s.cpu += after.less(before, 1).less(idle, took).sum()
	return err
}

const (
	// turns is how often the two sides take turns in a round. The speed of the machine changes from second to second.
	turns = 6
	// noticed is how long kube-apiserver may take to use other webhooks and policies.
	noticed = 2 * time.Second
	// ownAdmission selects the admission of this project.
	ownAdmission = "app.kubernetes.io/part-of=kruise"
)

// side holds the latencies of requests in ms, and the CPU time in ms that the servers used for all of them.
type side struct {
	times []float64
	cpu   float64
}

func (s *side) median() float64 { return s.percentile(50) }
func (s *side) slow() float64   { return s.percentile(99) }
func (s *side) each() float64   { return s.cpu / float64(len(s.times)) }

func (s *side) percentile(p int) float64 {
	slices.Sort(s.times)
	return at(s.times, p)
}

// withoutAdmission calls do while the webhooks for core kinds and the bindings of the admission policies do not exist.
func (b *bench) withoutAdmission(ctx context.Context, do func() error) (err error) {
	registered := b.core.AdmissionregistrationV1()
	bindings := registered.ValidatingAdmissionPolicyBindings()
	bound, err := bindings.List(ctx, metav1.ListOptions{LabelSelector: ownAdmission})
	if err != nil {
		return fmt.Errorf("list the bindings of the admission policies: %w", err)
	}
	var back []func(context.Context) error
	defer func() {
		ctx := context.WithoutCancel(ctx)
		for _, putBack := range back {
			err = errors.Join(err, putBack(ctx))
		}
		_ = pause(ctx, noticed)
	}()
	remove := func(putBack func(context.Context) error, err error) error {
		if putBack != nil {
			back = append(back, putBack)
		}
		return err
	}
	removed := errors.Join(
		remove(takeAway(ctx, registered.MutatingWebhookConfigurations(), "kruise-mutating-webhook-configuration")),
		remove(takeAway(ctx, registered.ValidatingWebhookConfigurations(), "kruise-validating-webhook-configuration")))
	for _, binding := range bound.Items {
		removed = errors.Join(removed, remove(takeAway(ctx, bindings, binding.Name)))
	}
	if removed != nil {
		return removed
	}
	if err := pause(ctx, noticed); err != nil {
		return err
	}
	return do()
}

// registrations is a client of one kind of admission.
type registrations[T metav1.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// takeAway deletes an object. putBack creates it again, and is nil if nothing was deleted.
func takeAway[T metav1.Object](ctx context.Context, client registrations[T], name string) (putBack func(context.Context) error, err error) {
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return nil, fmt.Errorf("delete %s: %w", name, err)
	}
	object.SetResourceVersion("")
	return func(ctx context.Context) error {
		_, err := client.Create(ctx, object, metav1.CreateOptions{})
		if err != nil {
			err = fmt.Errorf("create %s again: %w", name, err)
		}
		return err
	}, nil
}
