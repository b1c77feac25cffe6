//go:build bench

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// injected is how many SidecarSets a Pod gets where any of them selects it.
const injected = 3

// shop is a namespace with SidecarSets. The first ones may select its Pods, the others select Pods that do not exist.
type shop struct {
	name, namespace string
	sets, matching  int
	remove          func()
}

// sidecars compares the latency of Pod creations by the SidecarSets of their namespace: no SidecarSet, 500 that do not select
// the Pods, three that select them, and 500 in total if three of them select the Pods.
func (b *bench) sidecars(ctx context.Context, kruise versioned.Interface) error {
	shops := []*shop{
		{name: "none"}, {name: "0 of 500", sets: 500}, {name: "3 of 3", sets: injected, matching: injected},
		{name: "3 of 500", sets: 500, matching: injected},
	}
	sets := kruise.AppsV1beta1().SidecarSets()
	defer func() {
		ctx := context.WithoutCancel(ctx)
		_ = sets.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "bench=sidecars"})
		for _, s := range shops {
			if s.remove != nil {
				s.remove()
			}
		}
	}()
	for _, s := range shops {
		var err error
		if s.namespace, s.remove, err = b.namespace(ctx); err != nil {
			return err
		}
		for i := range s.sets {
			if _, err := sets.Create(ctx, newSidecarSet(s, i), metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create SidecarSets for %s: %w", s.name, err)
			}
		}
		if err := b.settled(ctx, s); err != nil {
			return fmt.Errorf("prepare %s: %w", s.name, err)
		}
	}
	var calls []call
	for range b.pods {
		for at, s := range shops {
			calls = append(calls, call{at, func(ctx context.Context) error { return b.inject(ctx, s) }})
		}
	}
	times, err := b.run(ctx, b.clients, len(shops), calls)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(out, "SidecarSets that select the Pod\tp50 ms\tp99 ms\tadded p50\tp99\t")
	for i, t := range times {
		_, _ = fmt.Fprintf(out, "%s\t%.1f\t%.1f\t%+.1f\t%+.1f\t\n", shops[i].name, at(t, 50), at(t, 99),
			at(t, 50)-at(times[0], 50), at(t, 99)-at(times[0], 99))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	added := func(i int) float64 { return at(times[i], 50) - at(times[0], 50) }
	fmt.Printf("%d dry-run creations of a Pod for each; what 3 of 500 add over what 3 of 3 add: %.2f\n", b.pods, added(3)/added(2))
	return b.unconcerned(ctx)
}

func newSidecarSet(s *shop, i int) *v1beta1.SidecarSet {
	app := "bench-" + strconv.Itoa(i)
	if i < s.matching {
		app = "bench"
	}
	name := fmt.Sprintf("agent-%03d", i)
	return &v1beta1.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + name, Labels: map[string]string{"bench": "sidecars"}},
		Spec: v1beta1.SidecarSetSpec{
			Selector:          &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}},
			Containers:        []v1beta1.SidecarContainer{{Container: corev1.Container{Name: name, Image: "kruise.local/demo:v1"}}},
		},
	}
}

// settled waits until the namespace has the label that it keeps, and new Pods get what they must.
func (b *bench) settled(ctx context.Context, s *shop) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		namespace, err := b.core.CoreV1().Namespaces().Get(ctx, s.namespace, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if (namespace.Labels[pub.PodCreationKey] == pub.PodCreationIgnored) != (s.sets == 0) {
			return false, nil
		}
		return b.inject(ctx, s) == nil, nil
	})
}

// inject creates a Pod as a dry run, and checks its containers.
func (b *bench) inject(ctx context.Context, s *shop) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-", Labels: map[string]string{"app": "bench"}}, Spec: template("bench").Spec,
	}
	own := len(pod.Spec.Containers)
	made, err := b.core.CoreV1().Pods(s.namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil && len(made.Spec.Containers) != own+s.matching {
		err = fmt.Errorf("a Pod has %d containers instead of %d", len(made.Spec.Containers), own+s.matching)
	}
	return err
}
