//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"kruise.io/kruise/pkg/workload/nodefit"
)

const (
	broadcastManifest = `
apiVersion: GROUP
kind: BroadcastJob
metadata: {name: bench}
spec:
  parallelism: 50
  completionPolicy: {type: Always}
  template:
    metadata: {labels: {app: bench}}
    spec:
      restartPolicy: Never
      nodeSelector: {bench: "true"}
      tolerations: [{operator: Exists}]
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "kruise.local/demo:v1"}]
`
	// broadcastParallelism is the bound in the manifest.
	broadcastParallelism = 50
	// runFor is how long each Pod runs. The nodes are simulated, so this program ends the Pods.
	runFor = 500 * time.Millisecond
)

// census is what a watcher sees of the Pods of a BroadcastJob.
type census struct {
	lock sync.Mutex
	// active are the Pods that exist and have not ended. most is the largest number of them at any moment.
	active map[types.UID]bool
	most   int
	// runs counts the Pods that each node ever had. ended are the Pods that ran to their end.
	runs  map[string]int
	ended int
	known map[types.UID]bool
}

func (c *census) see(what watch.EventType, pod *corev1.Pod) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.known[pod.UID] {
		c.known[pod.UID] = true
		c.runs[nodefit.NodeOf(pod)]++
	}
	done := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if done && c.active[pod.UID] {
		c.ended++
	}
	if done || what == watch.Deleted {
		delete(c.active, pod.UID)
		return
	}
	c.active[pod.UID] = true
	c.most = max(c.most, len(c.active))
}

func (c *census) finished() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.ended
}

// verify returns an error unless each node ran exactly one Pod to its end, and never too many ran at the same time.
func (c *census) verify(nodes int) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	var failures []error
	for node, runs := range c.runs {
		if runs != 1 {
			failures = append(failures, fmt.Errorf("node %s had %d Pods", node, runs))
		}
	}
	if len(c.runs) != nodes || c.ended != nodes {
		failures = append(failures, fmt.Errorf("%d Pods ended on %d of %d nodes", c.ended, len(c.runs), nodes))
	}
	if c.most > broadcastParallelism {
		failures = append(failures, fmt.Errorf("%d Pods were active at the same time, at most %d are allowed", c.most, broadcastParallelism))
	}
	return errors.Join(failures...)
}

// broadcast measures a BroadcastJob over the nodes, while the controller is killed a number of times. It fails if a node runs no Pod or
// two, or if more Pods are active at any moment than the job allows.
func (f *fleet) broadcast(ctx context.Context, nodes, kills int) (err error) {
	e, leave, err := f.enter(ctx, f.rivals[1], "broadcastjobs", nodes)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, leave(context.WithoutCancel(ctx))) }()
	ctx, cancel := context.WithTimeout(ctx, scalePatience)
	defer cancel()
	seen := &census{active: map[types.UID]bool{}, runs: map[string]int{}, known: map[types.UID]bool{}}
	stop, err := e.observe(ctx, seen)
	if err != nil {
		return err
	}
	defer stop()
	began := time.Now()
	if err := e.create(ctx, broadcastManifest); err != nil {
		return err
	}
	total, killed := cost{}, 0
	before, err := e.read(ctx)
	if err != nil {
		return err
	}
	for seen.finished() < nodes {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d Pods ended: %w", seen.finished(), nodes, context.Cause(ctx))
		case <-time.After(scalePoll):
		}
		if killed == kills || seen.finished() < nodes*(killed+1)/(kills+1) {
			continue
		}
		after, err := e.read(ctx)
		if err != nil {
			return err
		}
		total = total.plus(spent(before, after))
		if err := errors.Join(f.process.Kill(), f.process.Start(context.WithoutCancel(ctx))); err != nil {
			return err
		}
		before, killed = reading{}, killed+1
	}
	if err := e.completed(ctx, nodes); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	after, err := e.read(ctx)
	if err != nil {
		return err
	}
	f.header(fmt.Sprintf("BroadcastJob, %d nodes, parallelism %d", nodes, broadcastParallelism))
	e.row(fmt.Sprintf("complete, controller killed %d times, at most %d active", killed, seen.most), took, total.plus(spent(before, after)))
	return errors.Join(f.out.Flush(), seen.verify(nodes))
}

func (c cost) plus(other cost) cost {
	return cost{c.cpu + other.cpu, c.requests + other.requests, c.writes + other.writes}
}

// completed waits until the job reports that all nodes succeeded.
func (e *entrant) completed(ctx context.Context, nodes int) error {
	for {
		object, err := e.object.Get(ctx, "bench", metav1.GetOptions{})
		if err != nil {
			return err
		}
		status, _ := object.Object["status"].(map[string]any)
		if status["phase"] == "completed" {
			if status["succeeded"] != int64(nodes) || status["desired"] != int64(nodes) {
				return fmt.Errorf("the job is complete with %v of %v Pods, want %d", status["succeeded"], status["desired"], nodes)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the job is not complete: %w", context.Cause(ctx))
		case <-time.After(scalePoll):
		}
	}
}

// observe watches the Pods, and ends each a while after it runs.
func (e *entrant) observe(ctx context.Context, seen *census) (stop func(), err error) {
	pods := e.core.CoreV1().Pods(e.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	// kube-apiserver ends a watch that does not read fast enough. The next one begins with the first event that was not read.
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: pods.Watch})
	if err != nil {
		return nil, fmt.Errorf("watch Pods: %w", err)
	}
	var ending sync.WaitGroup
	ending.Go(func() {
		started := map[types.UID]bool{}
		for event := range events.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			seen.see(event.Type, pod)
			if pod.Status.Phase != corev1.PodRunning || started[pod.UID] {
				continue
			}
			started[pod.UID] = true
			ending.Go(func() {
				select {
				case <-ctx.Done():
				case <-time.After(runFor):
					_, _ = pods.Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
				}
			})
		}
	})
	return func() {
		events.Stop()
		ending.Wait()
	}, nil
}
