//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unconcerned compares creations of Pods that no Kruise object concerns, with and without this project's webhooks for core kinds and
// admission policies. The two sides take turns, because only one can exist at a time.
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
	servers, err := b.findAPIServers(ctx)
	if err != nil {
		return err
	}
	idle, err := servers.idle(ctx)
	if err != nil {
		return err
	}
	creations := make([]call, b.pods/turns)
	for i := range creations {
		creations[i].do = func(ctx context.Context) error { return b.inject(ctx, s) }
	}
	// The first creations after a change of the admission are not measured: kube-apiserver does more then.
	measure := func(s *side) error {
		if _, err := b.run(ctx, 1, 1, creations); err != nil {
			return err
		}
		before, err := servers.cpu()
		if err != nil {
			return err
		}
		begun := time.Now()
		measured, err := b.run(ctx, 1, 1, creations)
		took := time.Since(begun).Seconds()
		if err != nil {
			return err
		}
		after, err := servers.cpu()
		s.times = append(s.times, measured[0]...)
		s.cpu += after.less(before, 1).less(idle, took).sum()
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(out, "Pods that nothing concerns\tp50 ms\twithout admission\tratio\tp99 ms\twithout admission\tratio\t"+
		"CPU ms\twithout admission\tratio\t")
	for round := range b.rounds {
		var with, without side
		for range turns {
			if err := measure(&with); err != nil {
				return err
			}
			if err := b.withoutAdmission(ctx, func() error { return measure(&without) }); err != nil {
				return err
			}
		}
		_, _ = fmt.Fprintf(out, "round %d\t", round+1)
		for _, figure := range []func(*side) float64{(*side).median, (*side).slow, (*side).each} {
			_, _ = fmt.Fprintf(out, "%.2f\t%.2f\t%.2f\t", figure(&with), figure(&without), figure(&with)/figure(&without))
		}
		_, _ = fmt.Fprintln(out)
	}
	return out.Flush()
}

const (
	// turns is how often the two sides take turns in a round. The speed of the machine changes from second to second.
	turns = 6
	// noticed is how long kube-apiserver may take to use other webhooks and policies.
	noticed = 2 * time.Second
	// ownAdmission selects the admission of this project.
	ownAdmission = "app.kubernetes.io/part-of=kruise"
)

// side holds the latencies of creations in ms, and the CPU time in ms that the servers used for all of them.
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
