//go:build bench

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/test/hostcontroller"
)

// managerPort is the port at which kube-controller-manager serves its metrics.
const managerPort = "10257"

// fleet measures workloads of this project beside those of Kubernetes, on simulated nodes. Our controller runs as a process on this
// machine. kube-controller-manager runs the others.
type fleet struct {
	core    kubernetes.Interface
	dynamic dynamic.Interface
	process *hostcontroller.Process
	rivals  []*rival
	out     *tabwriter.Writer
}

// fleetShape is the size of the measurements.
type fleetShape struct{ parallel, ordered, nodes, kills, united, namespaces, secrets int }

// measureStatefulSets measures StatefulSets whose Pods are managed in parallel and in order.
func measureStatefulSets(ctx context.Context, config *rest.Config, core kubernetes.Interface, shape fleetShape) (err error) {
	f, end, err := newFleet(ctx, config, core)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, end(context.WithoutCancel(ctx))) }()
	if err := f.measureIdle(ctx); err != nil {
		return err
	}
	if err := f.statefulSets(ctx, "Parallel", shape.parallel); err != nil {
		return err
	}
	return f.statefulSets(ctx, "OrderedReady", shape.ordered)
}

// measureNodes adds nodes, and measures DaemonSets or a BroadcastJob on them.
func measureNodes(ctx context.Context, config *rest.Config, core kubernetes.Interface, shape fleetShape, broadcast bool) (err error) {
	f, end, err := newFleet(ctx, config, core)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, end(context.WithoutCancel(ctx))) }()
	defer func() { err = joined(err, f.removeNodes(context.WithoutCancel(ctx), 0, shape.nodes)) }()
	if err := f.addNodes(ctx, 0, shape.nodes); err != nil {
		return err
	}
	if err := f.measureIdle(ctx); err != nil {
		return err
	}
	if broadcast {
		return f.broadcast(ctx, shape.nodes, shape.kills)
	}
	return f.daemonSets(ctx, shape.nodes)
}

// rival is a group of the API with the controller that reconciles it.
type rival struct {
	name string
	gv   schema.GroupVersion
	read func(ctx context.Context) (reading, error)
	// idle is what the controller costs in a second without work.
	idle cost
}

// reading is what a controller has spent since it started. cpu is in seconds.
type reading struct {
	hostcontroller.Metrics
	cpu float64
}

// cost is what a controller spent.
type cost struct{ cpu, requests, writes float64 }

// newFleet stops the cluster's controller and starts ours. What it returns undoes that.
func newFleet(ctx context.Context, config *rest.Config, core kubernetes.Interface) (f *fleet, end func(context.Context) error, err error) {
	nodes, err := core.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "type=kwok", Limit: 1})
	if err != nil {
		return nil, nil, fmt.Errorf("list nodes: %w", err)
	}
	if len(nodes.Items) == 0 {
		return nil, nil, errors.New("no node is simulated: start the cluster with KWOK_NODES=5")
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	manager, err := managerReader(config)
	if err != nil {
		return nil, nil, err
	}
	giveBack, err := hostcontroller.TakeOver(ctx, core)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, nil, errors.Join(err, giveBack(ctx))
	}
	f = &fleet{core: core, dynamic: client, out: tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)}
	end = func(ctx context.Context) error {
		return errors.Join(f.process.Kill(), os.RemoveAll(dir), giveBack(ctx))
	}
	if err := f.start(ctx, dir); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir), giveBack(context.WithoutCancel(ctx)))
	}
	f.rivals = []*rival{
		{name: "apps/v1", gv: appsv1.SchemeGroupVersion, read: manager},
		{name: "ours", gv: schema.GroupVersion{Group: "apps.kruise.io", Version: "v1beta1"}, read: f.readOurs},
	}
	return f, end, nil
}

// start builds and starts our controller.
func (f *fleet) start(ctx context.Context, dir string) error {
	checkout, err := os.Getwd()
	if err != nil {
		return err
	}
	binary, err := hostcontroller.Build(ctx, checkout, dir)
	if err != nil {
		return err
	}
	if f.process, err = hostcontroller.New(ctx, binary, os.Getenv("KUBECONFIG"), filepath.Join(dir, "controller.log")); err != nil {
		return err
	}
	return f.process.Start(context.WithoutCancel(ctx))
}

// readOurs reads what our controller has spent.
func (f *fleet) readOurs(ctx context.Context) (reading, error) {
	metrics, err := f.process.Metrics(ctx)
	return reading{metrics, metrics.Sum("process_cpu_seconds_total")}, err
}

// managerReader returns a function that reads what kube-controller-manager has spent. It runs in a PID namespace in which its own metrics
// do not find its CPU time.
func managerReader(config *rest.Config) (func(ctx context.Context) (reading, error), error) {
	manager, err := managerServer(config)
	if err != nil {
		return nil, err
	}
	cluster, err := localCluster()
	if err != nil {
		return nil, err
	}
	pid, err := cluster.ComponentPID(manager.name)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (r reading, err error) {
		text, err := manager.client.Get().AbsPath("/metrics").DoRaw(ctx)
		if err != nil {
			return r, fmt.Errorf("read the metrics of %s: %w", manager.name, err)
		}
		r.Metrics = hostcontroller.Metrics(text)
		r.cpu, err = hostcontroller.CPU(pid)
		return r, err
	}, nil
}

func spent(before, after reading) (c cost) {
	of := func(metric string, labels ...string) float64 {
		return after.Sum(metric, labels...) - before.Sum(metric, labels...)
	}
	c.cpu, c.requests = after.cpu-before.cpu, of("rest_client_requests_total")
	for _, verb := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		c.writes += of("rest_client_requests_total", `method="`+verb+`"`)
	}
	return c
}

const (
	// calmFor is how long the controllers may work off what happened before. Then their cost without work is measured for idleFor.
	calmFor = 5 * time.Second
	idleFor = 10 * time.Second
)

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// measureIdle measures what the controllers cost without work. kube-controller-manager has many controllers, so this is left out of
// its figures.
func (f *fleet) measureIdle(ctx context.Context) error {
	if err := pause(ctx, calmFor); err != nil {
		return err
	}
	before := map[*rival]reading{}
	for _, r := range f.rivals {
		var err error
		if before[r], err = r.read(ctx); err != nil {
			return err
		}
	}
	if err := pause(ctx, idleFor); err != nil {
		return err
	}
	for _, r := range f.rivals {
		after, err := r.read(ctx)
		if err != nil {
			return err
		}
		c := spent(before[r], after)
		r.idle = cost{c.cpu / idleFor.Seconds(), c.requests / idleFor.Seconds(), c.writes / idleFor.Seconds()}
		fmt.Printf("without work, the controller of %s costs %.1f ms of CPU and %.1f requests in a second; the figures leave that out\n",
			r.name, r.idle.cpu*1000, r.idle.requests)
	}
	return nil
}

// entrant is a workload of one of the rivals, in a namespace of its own.
type entrant struct {
	*fleet
	*rival
	namespace string
	object    dynamic.ResourceInterface
	// pods is the number by which the figures of a step are divided.
	pods int
}

// enter creates a namespace for a workload of a rival. What it returns deletes the namespace, and waits for its Pods to go.
func (f *fleet) enter(ctx context.Context, r *rival, resource string, pods int) (e *entrant, leave func(context.Context) error, err error) {
	namespaces := f.core.CoreV1().Namespaces()
	created, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("create namespace: %w", err)
	}
	e = &entrant{
		fleet: f, rival: r, namespace: created.Name, pods: pods,
		object: f.dynamic.Resource(r.gv.WithResource(resource)).Namespace(created.Name),
	}
	return e, func(ctx context.Context) error {
		if err := namespaces.Delete(ctx, e.namespace, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete namespace: %w", err)
		}
		return wait.PollUntilContextTimeout(ctx, time.Second, scalePatience, true, func(ctx context.Context) (bool, error) {
			pods, err := f.core.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil && len(pods.Items) == 0, nil
		})
	}, nil
}

// create creates an object from a manifest, whose apiVersion is GROUP.
func (e *entrant) create(ctx context.Context, manifest string, replacements ...string) error {
	text := strings.NewReplacer(append(replacements, "GROUP", e.gv.String())...).Replace(manifest)
	raw, err := yaml.ToJSON([]byte(text))
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		return err
	}
	_, err = e.object.Create(ctx, object, metav1.CreateOptions{})
	return err
}

func (e *entrant) patch(ctx context.Context, kind types.PatchType, text string) error {
	_, err := e.object.Patch(ctx, "bench", kind, []byte(text), metav1.PatchOptions{})
	return err
}

func (e *entrant) image(ctx context.Context, tag string) error {
	return e.patch(ctx, types.JSONPatchType, "["+imageOp(tag)+"]")
}

// reached waits until numbers of the status have these values, and the newest generation is observed.
func (e *entrant) reached(ctx context.Context, want map[string]int64) error {
	var lacks string
	err := wait.PollUntilContextTimeout(ctx, scalePoll, scalePatience, true, func(ctx context.Context) (bool, error) {
		object, err := e.object.Get(ctx, "bench", metav1.GetOptions{})
		if err != nil {
			lacks = err.Error()
			return false, nil //nolint:nilerr // It is asked again.
		}
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		if lacks = "observedGeneration"; observed != object.GetGeneration() {
			return false, nil
		}
		for name, value := range want {
			if found, _, _ := unstructured.NestedInt64(object.Object, "status", name); found != value {
				lacks = fmt.Sprintf("%s is %d, want %d", name, found, value)
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %s: %w", e.name, lacks, err)
	}
	return nil
}

func (f *fleet) header(title string) {
	fmt.Fprintf(f.out, "%s\tcontroller\ts\tCPU ms/Pod\trequests/Pod\twrites/Pod\t\n", title) //nolint:errcheck // Standard output.
}

// step measures what happens until act returns.
func (e *entrant) step(ctx context.Context, name string, act func(context.Context) error) error {
	before, err := e.read(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := act(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	took := time.Since(began).Seconds()
	after, err := e.read(ctx)
	if err != nil {
		return err
	}
	e.row(name, took, spent(before, after))
	return nil
}

func (e *entrant) row(name string, took float64, c cost) {
	pods := float64(e.pods)
	fmt.Fprintf(os.Stderr, "%s: %s after %.1f s\n", e.name, name, took) // The table is printed when it is whole.
	_, _ = fmt.Fprintf(e.out, "%s\t%s\t%.1f\t%.2f\t%.2f\t%.2f\t\n", name, e.name, took, max(0, c.cpu-e.idle.cpu*took)*1000/pods,
		max(0, c.requests-e.idle.requests*took)/pods, max(0, c.writes-e.idle.writes*took)/pods)
}
