//go:build bench

package main

import (
	"context"
	"fmt"
	"os"
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
	creations := make([]call, b.pods)
	for i := range creations {
		creations[i].do = func(ctx context.Context) error { return b.inject(ctx, s) }
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(out, "Pods that nothing concerns\tp50 ms\twithout webhooks\tratio\tp99 ms\twithout webhooks\tratio\t")
	for round := range b.rounds {
		// kube-apiserver does more at the first creations after a change of webhooks, so these are not measured.
		measured := func() ([][]float64, error) {
			if _, err := b.run(ctx, 1, 1, creations); err != nil {
				return nil, err
			}
			return b.run(ctx, 1, 1, creations)
		}
		with, err := measured()
		if err != nil {
			return err
		}
		var without [][]float64
		err = b.withoutWebhooks(ctx, func() error {
			without, err = measured()
			return err
		})
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "round %d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", round+1,
			at(with[0], 50), at(without[0], 50), at(with[0], 50)/at(without[0], 50),
			at(with[0], 99), at(without[0], 99), at(with[0], 99)/at(without[0], 99))
	}
	return out.Flush()
}

// noticed is how long kube-apiserver may take to use other webhooks.
const noticed = 10 * time.Second

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
