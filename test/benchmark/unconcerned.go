//go:build bench

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unconcerned compares creations of Pods that no Kruise object concerns, with and without the webhooks for core kinds. The two sides take
// turns, because only one can exist at a time.
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
	creations := make([]call, b.pods/turns)
	for i := range creations {
		creations[i].do = func(ctx context.Context) error { return b.inject(ctx, s) }
	}
	// The first creations after a change of the webhooks are not measured: kube-apiserver does more then.
	var with, without []float64
	measure := func(times *[]float64) error {
		if _, err := b.run(ctx, 1, 1, creations); err != nil {
			return err
		}
		measured, err := b.run(ctx, 1, 1, creations)
		if err == nil {
			*times = append(*times, measured[0]...)
		}
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(out, "Pods that nothing concerns\tp50 ms\twithout webhooks\tratio\tp99 ms\twithout webhooks\tratio\t")
	for round := range b.rounds {
		with, without = nil, nil
		for range turns {
			if err := measure(&with); err != nil {
				return err
			}
			if err := b.withoutWebhooks(ctx, func() error { return measure(&without) }); err != nil {
				return err
			}
		}
		slices.Sort(with)
		slices.Sort(without)
		_, _ = fmt.Fprintf(out, "round %d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", round+1, at(with, 50), at(without, 50),
			at(with, 50)/at(without, 50), at(with, 99), at(without, 99), at(with, 99)/at(without, 99))
	}
	return out.Flush()
}

const (
	// turns is how often the two sides take turns in a round. The speed of the machine changes from second to second.
	turns = 6
	// noticed is how long kube-apiserver may take to use other webhooks.
	noticed = 2 * time.Second
)

// withoutWebhooks calls do while the webhooks for core kinds do not exist.
func (b *bench) withoutWebhooks(ctx context.Context, do func() error) (err error) {
	mutating := b.core.AdmissionregistrationV1().MutatingWebhookConfigurations()
	validating := b.core.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	changing, err := mutating.Get(ctx, "kruise-mutating-webhook-configuration", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the webhooks: %w", err)
	}
	refusing, err := validating.Get(ctx, "kruise-validating-webhook-configuration", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the webhooks: %w", err)
	}
	changing.ResourceVersion, refusing.ResourceVersion = "", ""
	defer func() {
		ctx := context.WithoutCancel(ctx)
		_, made := mutating.Create(ctx, changing, metav1.CreateOptions{})
		_, also := validating.Create(ctx, refusing, metav1.CreateOptions{})
		for _, failed := range []error{made, also} {
			if failed != nil && err == nil {
				err = fmt.Errorf("create the webhooks again: %w", failed)
			}
		}
		_ = pause(ctx, noticed)
	}()
	if err := mutating.Delete(ctx, changing.Name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete the webhooks: %w", err)
	}
	if err := validating.Delete(ctx, refusing.Name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete the webhooks: %w", err)
	}
	if err := pause(ctx, noticed); err != nil {
		return err
	}
	return do()
}
