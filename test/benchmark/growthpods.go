//go:build bench

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

const (
	// podsOfSet is how many Pods a CloneSet has, and podsOfNode how many a node has.
	podsOfSet, podsOfNode = 100, 500
	podSpace              = "growth-pods"
	cpuProfile            = "profile?seconds=15"
	// podPatience is how long the simulated nodes may take to report a Pod as ready. With 50,000 Pods on two cores, they report 15 to 30
	// Pods in a second.
	podPatience = 50 * time.Millisecond
)

// podGrowth measures CloneSets with Pods on simulated nodes. The Pod templates name the node, so that no scheduler is needed.
type podGrowth struct {
	*growth
	*fleet
	sets versioned.Interface
	// empty is the live heap of the controller without Pods.
	empty int64
	sent  int
}

// growPods measures the controller with growing numbers of Pods. It leaves the Pods behind, as growObjects does.
func (b *bench) growPods(ctx context.Context, kruise versioned.Interface, shape growthShape) (err error) {
	for _, count := range shape.pods {
		if count%podsOfSet != 0 {
			return fmt.Errorf("-growth-pods %d: use multiples of %d, which is how many Pods a CloneSet has", count, podsOfSet)
		}
	}
	f, end, err := newFleet(ctx, b.config, b.core)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, end(context.WithoutCancel(ctx))) }()
	g := &podGrowth{growth: b.newGrowth(shape, "pods"), fleet: f, sets: kruise}
	g.controller = f.process
	if g.kruise, g.kube, err = b.servers(ctx); err != nil {
		return err
	}
	if g.manager, err = managerServer(b.config); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: podSpace}}
	_, err = b.core.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err := unlessExists(err); err != nil {
		return err
	}
	nodes := (shape.pods[len(shape.pods)-1] + podsOfNode - 1) / podsOfNode
	if err := f.addNodes(ctx, 0, nodes); err != nil {
		return err
	}
	if g.empty, err = g.controller.Heap(ctx); err != nil {
		return err
	}
	return g.climb(ctx, shape.pods, g.fill, g.measure)
}

func setName(i int) string { return fmt.Sprintf("bench-%03d", i) }

// fill creates CloneSets, waits until all their Pods are ready, and measures what that cost the controller.
func (g *podGrowth) fill(ctx context.Context, from, to int) error {
	before, err := g.controller.Metrics(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	err = each(from/podsOfSet, to/podsOfSet, func(i int) error {
		_, err := g.sets.AppsV1beta1().CloneSets(podSpace).Create(ctx, g.set(i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := g.settled(ctx, to); err != nil {
		return err
	}
	after, err := g.controller.Metrics(ctx)
	if err != nil {
		return err
	}
	g.work("a new Pod", to, float64(to-from), before, after)
	g.figures.Add(timeChart, "a new Pod is ready, mean", to, 1000*time.Since(began).Seconds()/float64(to-from))
	return nil
}

func (g *podGrowth) set(i int) *v1beta1.CloneSet {
	all := intstr.FromString("100%")
	set := &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Name: setName(i)},
		Spec: v1beta1.CloneSetSpec{
			Replicas: new(int32(podsOfSet)), Selector: selector(setName(i)), Template: template(setName(i)),
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
				PodUpdatePolicy: pub.InPlaceIfPossiblePodUpdatePolicy, MaxUnavailable: &all,
			}},
		},
	}
	set.Spec.Template.Spec.NodeName = nodeName(i * podsOfSet / podsOfNode)
	set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return set
}

// settled waits until the CloneSets report that so many Pods are updated and available, at most in proportion to their number.
func (g *podGrowth) settled(ctx context.Context, pods int) error {
	patience := scalePatience + time.Duration(pods)*podPatience
	return wait.PollUntilContextTimeout(ctx, time.Second, patience, true, func(ctx context.Context) (bool, error) {
		list, err := g.sets.AppsV1beta1().CloneSets(podSpace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // It is asked again.
		}
		available := 0
		for i := range list.Items {
			if set := &list.Items[i]; set.Status.ObservedGeneration == set.Generation {
				available += int(set.Status.UpdatedAvailableReplicas)
			}
		}
		return available == pods, nil
	})
}

func (g *podGrowth) measure(ctx context.Context, count int) error {
	for _, do := range []func(context.Context, int) error{
		g.still, g.controllerMemory, g.heapOfPod, g.memory, g.update, g.change, g.idle, g.restart,
	} {
		if err := do(ctx, count); err != nil {
			return err
		}
	}
	return nil
}

func (g *podGrowth) heapOfPod(ctx context.Context, count int) error {
	heap, err := g.controller.Heap(ctx)
	g.figures.Add(bytesChart, "heap of a Pod", count, float64(heap-g.empty)/1024/float64(count))
	return err
}

// statusWrites returns how many statuses of Pods kube-apiserver has written, from all clients.
func (g *podGrowth) statusWrites(ctx context.Context) (float64, error) {
	metrics, err := g.kube.client.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read kube-apiserver's metrics: %w", err)
	}
	return sum(metrics, "apiserver_request_total{", `resource="pods",scope="resource",subresource="status",verb="PATCH"`)
}

// still waits until nobody writes statuses of Pods. Nodes report new Pods for longer than it takes until the Pods are ready, and the
// controller reads each report.
func (g *podGrowth) still(ctx context.Context, count int) error {
	began, last := time.Now(), -1.0
	for {
		writes, err := g.statusWrites(ctx)
		if err != nil {
			return err
		}
		if writes == last {
			g.figures.Add(stillChart, "after the last Pod is ready", count, time.Since(began).Seconds())
			return nil
		}
		last = writes
		if err := pause(ctx, quietFor); err != nil {
			return err
		}
	}
}

// update changes the image of one CloneSet, whose Pods are updated in place.
func (g *podGrowth) update(ctx context.Context, count int) error {
	written, err := g.statusWrites(ctx)
	if err != nil {
		return err
	}
	before, err := g.controller.Metrics(ctx)
	if err != nil {
		return err
	}
	profiled := make(chan error, 1)
	go func() { profiled <- g.profileController(ctx, "cpu-update", cpuProfile, count) }()
	began := time.Now()
	if err := g.image(ctx, 0); err != nil {
		return joined(err, <-profiled)
	}
	if err := g.settled(ctx, count); err != nil {
		return joined(err, <-profiled)
	}
	took := time.Since(began)
	after, err := g.controller.Metrics(ctx)
	if err != nil {
		return joined(err, <-profiled)
	}
	writes, err := g.statusWrites(ctx)
	if err != nil {
		return joined(err, <-profiled)
	}
	g.figures.Add(serverCallsChart, "statuses of Pods for an updated Pod", count, (writes-written)/podsOfSet)
	g.work("an updated Pod", count, podsOfSet, before, after)
	g.figures.Add(timeChart, fmt.Sprintf("%d Pods are updated, mean", podsOfSet), count, float64(took.Milliseconds())/podsOfSet)
	return <-profiled
}

// image gives a CloneSet an image that it has not had before.
func (g *podGrowth) image(ctx context.Context, i int) error {
	g.sent++
	_, err := g.sets.AppsV1beta1().CloneSets(podSpace).Patch(ctx, setName(i), types.JSONPatchType,
		[]byte("["+imageOp(fmt.Sprintf("g%d", g.sent))+"]"), metav1.PatchOptions{})
	return err
}

func (g *podGrowth) change(ctx context.Context, count int) error {
	return g.react(ctx, podSpace, setName(0), count)
}

// restart kills the controller, changes a CloneSet, and starts the controller again.
func (g *podGrowth) restart(ctx context.Context, count int) error {
	if err := g.controller.Kill(); err != nil {
		return err
	}
	if err := g.image(ctx, 0); err != nil {
		return err
	}
	began := time.Now()
	if err := g.controller.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	profiled := make(chan error, 1)
	go func() { profiled <- g.profileController(ctx, "cpu-start", cpuProfile, count) }()
	if err := g.works(ctx, count, began); err != nil {
		return joined(err, <-profiled)
	}
	return joined(g.settled(ctx, count), <-profiled)
}
