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
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// disruptions are the requests that a budget judges. A Pod can be disrupted only once, so each request has its own Pods.
var disruptions = []string{"update", "evict", "delete"}

// place is a namespace with Pods and a number of budgets. One of the budgets governs the Pods.
type place struct {
	name, namespace string
	budgets         int
	remove          func()
}

// budgets compares the latency of disruptions in three cases: no budget, one budget that governs the Pods, and a thousand
// budgets besides it.
func (b *bench) budgets(ctx context.Context, kruise versioned.Interface) error {
	places := []*place{{name: "no budget"}, {name: "one"}, {name: "one of 1,000", budgets: 1000}}
	places[1].budgets = 1
	defer func() {
		for _, p := range places {
			if p.remove != nil {
				p.remove()
			}
		}
	}()
	for _, p := range places {
		var err error
		if p.namespace, p.remove, err = b.namespace(ctx); err != nil {
			return err
		}
		if err := b.fill(ctx, kruise, p); err != nil {
			return fmt.Errorf("prepare %s: %w", p.name, err)
		}
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(out, "ms\t")
	for i, p := range places {
		_, _ = fmt.Fprintf(out, "%s p50\tp99\t", p.name)
		if i > 0 {
			_, _ = fmt.Fprint(out, "added p50\tp99\t")
		}
	}
	_, _ = fmt.Fprintln(out)
	for _, verb := range disruptions {
		var calls []call
		for i := range b.pods {
			for at, p := range places {
				name := fmt.Sprintf("%s-%05d", verb, i)
				calls = append(calls, call{at, func(ctx context.Context) error { return b.disrupt(ctx, verb, p.namespace, name) }})
			}
		}
		times, err := b.run(ctx, b.clients, len(places), calls)
		if err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
		_, _ = fmt.Fprintf(out, "%s\t", verb)
		for i, t := range times {
			_, _ = fmt.Fprintf(out, "%.1f\t%.1f\t", at(t, 50), at(t, 99))
			if i > 0 {
				_, _ = fmt.Fprintf(out, "%+.1f\t%+.1f\t", at(t, 50)-at(times[0], 50), at(t, 99)-at(times[0], 99))
			}
		}
		_, _ = fmt.Fprintln(out)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Printf("%d Pods for each, all ready; every disruption is granted and recorded\n", b.pods)
	return nil
}

// fill creates the budgets, then the Pods, and waits until the governing budget has counted all Pods.
func (b *bench) fill(ctx context.Context, kruise versioned.Interface, p *place) error {
	client := kruise.PolicyV1beta1().PodUnavailableBudgets(p.namespace)
	var calls []call
	for i := range p.budgets {
		calls = append(calls, call{0, func(ctx context.Context) error {
			budget := &policyv1beta1.PodUnavailableBudget{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bench-%05d", i)},
				Spec: policyv1beta1.PodUnavailableBudgetSpec{
					Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "bench-" + strconv.Itoa(i)}},
					MinAvailable: new(intstr.FromInt32(1)),
				},
			}
			_, err := client.Create(ctx, budget, metav1.CreateOptions{})
			return err
		}})
	}
	for _, verb := range disruptions {
		for i := range b.pods {
			calls = append(calls, call{0, func(ctx context.Context) error { return b.ready(ctx, p.namespace, fmt.Sprintf("%s-%05d", verb, i)) }})
		}
	}
	calls = append(calls, call{0, func(ctx context.Context) error { return b.ready(ctx, p.namespace, "stays") }})
	if _, err := b.run(ctx, b.clients, 1, calls); err != nil || p.budgets == 0 {
		return err
	}
	want := int32(len(disruptions)*b.pods + 1)
	return wait.PollUntilContextTimeout(ctx, time.Second, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		budget, err := client.Get(ctx, "bench-00000", metav1.GetOptions{})
		if err != nil || budget.Status.CurrentAvailable != want {
			return false, err
		}
		marked, err := b.core.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{})
		for i := range marked.Items {
			if marked.Items[i].Annotations["kruise.io/related-pub"] == "" {
				return false, err
			}
		}
		return true, err
	})
}

// ready creates a Pod that runs on no node, and marks it as ready.
func (b *bench) ready(ctx context.Context, namespace, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "bench-0"}}, Spec: template(name).Spec}
	pod.Spec.SchedulerName = "none"
	pods := b.core.CoreV1().Pods(namespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	status := `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`
	_, err := pods.Patch(ctx, name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	return err
}

func (b *bench) disrupt(ctx context.Context, verb, namespace, name string) error {
	pods := b.core.CoreV1().Pods(namespace)
	switch verb {
	case "update":
		image := `[{"op":"replace","path":"/spec/containers/0/image","value":"kruise.local/demo:v2"}]`
		_, err := pods.Patch(ctx, name, types.JSONPatchType, []byte(image), metav1.PatchOptions{})
		return err
	case "evict":
		return pods.EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: namespace, Name: name},
			DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)},
		})
	default:
		return pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	}
}
