//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/test/hostcontroller"
)

// scaleBench measures the CloneSet controller on simulated nodes. The controller runs as the only controller, as a process on
// this machine and without leader election, so that its cost can be separated from the cluster's.
type scaleBench struct {
	core       kubernetes.Interface
	kruise     versioned.Interface
	process    *hostcontroller.Process
	namespace  string
	sets, each int
	out        *tabwriter.Writer
}

const (
	scalePatience = 10 * time.Minute
	scalePoll     = 100 * time.Millisecond
)

// scaleShape describes the measurements: one large CloneSet, several CloneSets with the same total number of Pods, and many
// small CloneSets.
type scaleShape struct{ large, several, sets, each int }

// measureScale stops the cluster's controller, measures large and small CloneSets with its own controller, and starts the
// cluster's controller again.
func measureScale(ctx context.Context, core kubernetes.Interface, kruise versioned.Interface, shape scaleShape) (err error) {
	nodes, err := core.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "type=kwok"})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	if len(nodes.Items) == 0 {
		return fmt.Errorf("no node is simulated: start the cluster with KWOK_NODES=%d", max(shape.large, shape.sets*shape.each)/500+1)
	}
	giveBack, err := hostcontroller.TakeOver(ctx, core)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, giveBack(context.WithoutCancel(ctx))) }()
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = joined(err, os.RemoveAll(dir)) }()
	checkout, err := os.Getwd()
	if err != nil {
		return err
	}
	binary, err := hostcontroller.Build(ctx, checkout, dir)
	if err != nil {
		return err
	}
	b := &scaleBench{core: core, kruise: kruise, out: tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)}
	const header = "controller\ts\tCPU s\tCPU ms/Pod\tpeak MiB\trequests\tper Pod\twrites/Pod\tstatus writes\tKiB/Pod\t"
	fmt.Fprintln(b.out, header) //nolint:errcheck // Standard output.
	shapes := []struct{ sets, each int }{{1, shape.large}, {shape.several, shape.large / max(1, shape.several)}, {shape.sets, shape.each}}
	for _, next := range shapes {
		b.sets, b.each = next.sets, next.each
		if err := b.shape(ctx, binary, filepath.Join(dir, "controller.log")); err != nil {
			return err
		}
	}
	return b.out.Flush()
}

// shape measures a number of CloneSets of one size: their creation, an in-place update, and a restart of the controller.
func (b *scaleBench) shape(ctx context.Context, binary, logFile string) (err error) {
	namespace, err := b.core.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	b.namespace = namespace.Name
	defer func() { err = joined(err, b.remove(context.WithoutCancel(ctx))) }()
	if b.process, err = hostcontroller.New(ctx, binary, os.Getenv("KUBECONFIG"), logFile); err != nil {
		return err
	}
	if err := b.process.Start(ctx); err != nil {
		return err
	}
	defer func() { err = joined(err, b.process.Kill()) }()
	empty, err := b.process.Heap(ctx)
	if err != nil {
		return err
	}
	if err := b.step(ctx, "ready", b.create); err != nil {
		return err
	}
	full, err := b.process.Heap(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d CloneSets of %d: %.1f KiB on the controller's heap for each Pod\n", b.sets, b.each,
		float64(full-empty)/1024/float64(b.sets*b.each))
	if err := b.step(ctx, "updated in place", b.change(imageOp("v2"))); err != nil {
		return err
	}
	if b.sets == 1 {
		if err := b.pause(ctx); err != nil {
			return err
		}
	}
	recreate := b.change(`{"op":"add","path":"/spec/template/spec/containers/0/env","value":[{"name":"A","value":"1"}]}`)
	if err := b.step(ctx, "recreated", recreate); err != nil {
		return err
	}
	return b.restart(ctx)
}

// step measures the time until every CloneSet matches its spec.
func (b *scaleBench) step(ctx context.Context, name string, act func(context.Context) error) error {
	before, err := b.process.Metrics(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := act(ctx); err != nil {
		return err
	}
	if err := b.settled(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	took := time.Since(began)
	after, err := b.process.Metrics(ctx)
	if err != nil {
		return err
	}
	peak, err := hostcontroller.PeakMemory(b.process.PID())
	if err != nil {
		return err
	}
	b.row(name, took, before, after, peak)
	return nil
}

func (b *scaleBench) row(name string, took time.Duration, before, after hostcontroller.Metrics, peak int64) {
	spent := func(metric string, labels ...string) float64 {
		return after.Sum(metric, labels...) - before.Sum(metric, labels...)
	}
	pods := float64(b.sets * b.each)
	cpu := spent("process_cpu_seconds_total")
	requests, writes := spent("rest_client_requests_total"), 0.0
	for _, verb := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		writes += spent("rest_client_requests_total", `method="`+verb+`"`)
	}
	status := spent("rest_client_requests_total", `method="PUT"`)
	bytes := spent("rest_client_request_size_bytes_sum") + spent("rest_client_response_size_bytes_sum")
	_, _ = fmt.Fprintf(b.out, "%d of %d: %s\t%.1f\t%.2f\t%.2f\t%d\t%.0f\t%.2f\t%.2f\t%.0f\t%.1f\t\n", b.sets, b.each, name, took.Seconds(),
		cpu, cpu*1000/pods, peak>>20, requests, requests/pods, writes/pods, status, bytes/1024/pods)
}

func joined(first, second error) error {
	if first == nil {
		return second
	}
	return first
}

func (b *scaleBench) name(i int) string { return fmt.Sprintf("bench-%03d", i) }

func (b *scaleBench) create(ctx context.Context) error {
	all := intstr.FromString("100%")
	for i := range b.sets {
		set := &v1beta1.CloneSet{
			ObjectMeta: metav1.ObjectMeta{Name: b.name(i)},
			Spec: v1beta1.CloneSetSpec{
				Replicas: new(int32(b.each)), Selector: selector(b.name(i)), Template: template(b.name(i)),
				UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
					PodUpdatePolicy: pub.InPlaceIfPossiblePodUpdatePolicy, MaxUnavailable: &all,
				}},
			},
		}
		set.Spec.Template.Spec.NodeSelector = map[string]string{"type": "kwok"}
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		if _, err := b.kruise.AppsV1beta1().CloneSets(b.namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create CloneSet %s: %w", set.Name, err)
		}
	}
	return nil
}

func imageOp(tag string) string {
	return `{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"kruise.local/demo:` + tag + `"}`
}

func pauseOp(paused bool) string {
	return fmt.Sprintf(`{"op":"add","path":"/spec/updateStrategy/rollingUpdate/paused","value":%t}`, paused)
}

// change edits every CloneSet with a JSON patch.
func (b *scaleBench) change(operation string) func(context.Context) error {
	return func(ctx context.Context) error {
		for i := range b.sets {
			_, err := b.kruise.AppsV1beta1().CloneSets(b.namespace).Patch(ctx, b.name(i), types.JSONPatchType, []byte("["+operation+"]"),
				metav1.PatchOptions{})
			if err != nil {
				return fmt.Errorf("change CloneSet %s: %w", b.name(i), err)
			}
		}
		return nil
	}
}

const (
	// pauseAfter is how long an update runs before it is paused. pauseWatch is how long the test then watches for further updates.
	pauseAfter = 3 * time.Second
	pauseWatch = 10 * time.Second
)

// pause pauses an update halfway, and prints the time from the accepted pause to the last Pod that got the new image.
func (b *scaleBench) pause(ctx context.Context) error {
	pods := b.core.CoreV1().Pods(b.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	events, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return fmt.Errorf("watch Pods: %w", err)
	}
	defer events.Stop()
	if err := b.change(imageOp("v3"))(ctx); err != nil {
		return err
	}
	updated := map[string]bool{}
	last := b.lastUpdate(events, updated, time.Now().Add(pauseAfter))
	before := len(updated)
	if err := b.change(pauseOp(true))(ctx); err != nil {
		return err
	}
	accepted := time.Now()
	last = later(last, b.lastUpdate(events, updated, accepted.Add(pauseWatch)))
	fmt.Printf("%d CloneSets of %d: a pause after %d updates took hold after %.2f s, with %d more\n", b.sets, b.each, before,
		max(0, last.Sub(accepted)).Seconds(), len(updated)-before)
	if err := b.change(pauseOp(false))(ctx); err != nil {
		return err
	}
	return b.settled(ctx)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lastUpdate records the Pods that get the new image until the given time, and returns when the last of them did.
func (b *scaleBench) lastUpdate(events watch.Interface, updated map[string]bool, until time.Time) (last time.Time) {
	end := time.After(time.Until(until))
	for {
		select {
		case <-end:
			return last
		case event, open := <-events.ResultChan():
			if !open {
				return last
			}
			pod, ok := event.Object.(*corev1.Pod)
			if ok && pod.Spec.Containers[0].Image == "kruise.local/demo:v3" && !updated[pod.Name] {
				updated[pod.Name], last = true, time.Now()
			}
		}
	}
}

// settled waits until every CloneSet reports that all its Pods are updated and available.
func (b *scaleBench) settled(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, scalePoll, scalePatience, true, func(ctx context.Context) (bool, error) {
		list, err := b.kruise.AppsV1beta1().CloneSets(b.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // It is asked again.
		}
		for i := range list.Items {
			set := &list.Items[i]
			if set.Status.ObservedGeneration != set.Generation || set.Status.UpdatedAvailableReplicas != *set.Spec.Replicas {
				return false, nil
			}
		}
		return true, nil
	})
}

// restart kills the controller, asks for one more Pod, starts the controller, and waits for that Pod.
func (b *scaleBench) restart(ctx context.Context) error {
	if err := b.process.Kill(); err != nil {
		return err
	}
	sets := b.kruise.AppsV1beta1().CloneSets(b.namespace)
	scale, err := sets.GetScale(ctx, b.name(0), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get scale: %w", err)
	}
	scale.Spec.Replicas++
	if _, err := sets.UpdateScale(ctx, b.name(0), scale, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("scale: %w", err)
	}
	pods := b.core.CoreV1().Pods(b.namespace)
	now, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	events, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: now.ResourceVersion})
	if err != nil {
		return fmt.Errorf("watch Pods: %w", err)
	}
	defer events.Stop()
	began := time.Now()
	if err := b.process.Start(ctx); err != nil {
		return err
	}
	if err := created(ctx, events); err != nil {
		return err
	}
	took := time.Since(began)
	metrics, err := b.process.Metrics(ctx)
	if err != nil {
		return err
	}
	peak, err := hostcontroller.PeakMemory(b.process.PID())
	if err != nil {
		return err
	}
	b.row("useful after a restart", took, "", metrics, peak)
	return nil
}

// created waits for the first new Pod.
func created(ctx context.Context, events watch.Interface) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(scalePatience):
			return errors.New("no Pod came after the restart")
		case event, open := <-events.ResultChan():
			if !open {
				return errors.New("the watch for a Pod after the restart ended")
			}
			if event.Type == watch.Added {
				return nil
			}
		}
	}
}

// remove deletes the namespace and waits until its Pods are deleted, so that they do not affect the next measurement.
func (b *scaleBench) remove(ctx context.Context) error {
	if err := b.core.CoreV1().Namespaces().Delete(ctx, b.namespace, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete namespace: %w", err)
	}
	err := wait.PollUntilContextTimeout(ctx, time.Second, scalePatience, true, func(ctx context.Context) (bool, error) {
		pods, err := b.core.CoreV1().Pods(b.namespace).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil && len(pods.Items) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the Pods of %s to go: %w", b.namespace, err)
	}
	return nil
}
