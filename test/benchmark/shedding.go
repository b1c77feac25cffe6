//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// sheddingManifest is a UnitedDeployment that puts two of three Pods on the nodes of a pool. Pods that find no room there move after
// shedAfter, and the subset gets Pods again after returnsAfter.
const sheddingManifest = unitedManifest + `
  topology:
    subsets:
    - name: a
      maxReplicas: 2
      nodeSelectorTerm: {matchExpressions: [{key: ` + poolLabel + `, operator: Exists}]}
    - name: b
      nodeSelectorTerm: {matchExpressions: [{key: ` + poolLabel + `, operator: DoesNotExist}]}
    scheduleStrategy:
      type: Adaptive
      adaptive: {rescheduleCriticalSeconds: SHED, unschedulableDuration: RETURN}
`

const (
	poolLabel = "bench-pool"
	shedAfter = 10 * time.Second
	// returnsAfter must be longer than it takes to move the Pods of all UnitedDeployments. Pods that are not ready by then move back.
	returnsAfter = 2 * time.Minute
	// grown is the number of replicas after the subset has returned.
	grown = 5
	// smallPool and largePool are how many Pods the two nodes of the pool take. The UnitedDeployments want 2 each.
	smallPool, largePool = 100, 10000
)

// measureShedding measures what UnitedDeployments do when the nodes of a subset are full, and when there is room again.
func measureShedding(ctx context.Context, config *rest.Config, core kubernetes.Interface, shape fleetShape) (err error) {
	f, end, err := newFleet(ctx, config, core)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, end(context.WithoutCancel(ctx))) }()
	if err := f.measureIdle(ctx); err != nil {
		return err
	}
	return f.shedding(ctx, shape.united)
}

func (f *fleet) shedding(ctx context.Context, count int) (err error) {
	defer func() { err = joined(err, f.removeNodes(context.WithoutCancel(ctx), 0, 2)) }()
	if err := f.addPoolNode(ctx, 0, smallPool); err != nil {
		return err
	}
	e, leave, err := f.enter(ctx, f.rivals[1], "uniteddeployments", count*podsOfUnited)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, leave(context.WithoutCancel(ctx))) }()
	f.header(fmt.Sprintf("%d UnitedDeployments, %d of %d Pods of a subset fit", count, smallPool, count*2))
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }
	var took []time.Duration
	if err := e.step(ctx, "shed", func(ctx context.Context) error {
		began := make([]time.Time, count)
		if err := each(0, count, func(i int) error {
			began[i] = time.Now()
			return e.create(ctx, sheddingManifest, "NUMBER", strconv.Itoa(i), "SHED", seconds(shedAfter), "RETURN", seconds(returnsAfter))
		}); err != nil {
			return err
		}
		took, err = e.eachUnited(ctx, began, func(u *unstructured.Unstructured) bool { return readyAt(u) == podsOfUnited })
		return err
	}); err != nil {
		return err
	}
	inPool, err := e.podsIn(ctx, "a")
	if err != nil {
		return err
	}
	if inPool != smallPool {
		return fmt.Errorf("%d Pods run in the subset whose nodes take %d", inPool, smallPool)
	}
	fmt.Printf("%d Pods found room; with a deadline of %s, all Pods of a UnitedDeployment ran after %.1f s (median), %.1f s (slowest)\n",
		inPool, shedAfter, took[count/2].Seconds(), took[count-1].Seconds())
	return e.returns(ctx, count)
}

// returns adds room to the pool, and measures when the subset gets Pods again.
func (e *entrant) returns(ctx context.Context, count int) error {
	if err := e.addPoolNode(ctx, 1, largePool); err != nil {
		return err
	}
	began := slices.Repeat([]time.Time{time.Now()}, count)
	var took []time.Duration
	if err := e.step(ctx, "returned", func(ctx context.Context) (err error) {
		took, err = e.eachUnited(ctx, began, func(u *unstructured.Unstructured) bool { return !unschedulable(u) })
		return err
	}); err != nil {
		return err
	}
	if err := e.step(ctx, "grown", func(ctx context.Context) error {
		if err := each(0, count, func(i int) error {
			_, err := e.object.Patch(ctx, fmt.Sprintf("bench-%d", i), types.MergePatchType,
				[]byte(fmt.Sprintf(`{"spec":{"replicas":%d}}`, grown)), metav1.PatchOptions{})
			return err
		}); err != nil {
			return err
		}
		_, err := e.eachUnited(ctx, began, func(u *unstructured.Unstructured) bool { return readyAt(u) == grown })
		return err
	}); err != nil {
		return err
	}
	inPool, err := e.podsIn(ctx, "a")
	if err != nil {
		return err
	}
	if inPool != 2*count {
		return fmt.Errorf("%d Pods are in the subset that has room again, want %d", inPool, 2*count)
	}
	fmt.Printf("the last subset returned %.1f s after there was room (%s from the last failure), and got all of its %d Pods\n",
		took[count-1].Seconds(), returnsAfter, inPool)
	return e.out.Flush()
}

// addPoolNode adds a node to the pool, and sets how many Pods it takes once it is ready: until then, KWOK sets that.
func (f *fleet) addPoolNode(ctx context.Context, i, pods int) error {
	nodes := f.core.CoreV1().Nodes()
	node := newNode(i)
	node.Labels[poolLabel] = "true"
	if _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("add a node to the pool: %w", err)
	}
	if err := wait.PollUntilContextTimeout(ctx, scalePoll, scalePatience, true, func(ctx context.Context) (bool, error) {
		node, err := nodes.Get(ctx, nodeName(i), metav1.GetOptions{})
		return err == nil && nodeReady(node), nil
	}); err != nil {
		return fmt.Errorf("wait for a node of the pool: %w", err)
	}
	patch := fmt.Sprintf(`{"status":{"capacity":{"pods":"%d"},"allocatable":{"pods":"%[1]d"}}}`, pods)
	_, err := nodes.Patch(ctx, nodeName(i), types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

// eachUnited waits until all UnitedDeployments have a state. It returns how long each took, from the fastest to the slowest.
func (e *entrant) eachUnited(
	ctx context.Context, began []time.Time, done func(*unstructured.Unstructured) bool,
) (took []time.Duration, err error) {
	seen := map[string]bool{}
	err = wait.PollUntilContextTimeout(ctx, scalePoll, scalePatience, true, func(ctx context.Context) (bool, error) {
		list, err := e.object.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, nil //nolint:nilerr // It is asked again.
		}
		for i := range list.Items {
			united := &list.Items[i]
			observed, _, _ := unstructured.NestedInt64(united.Object, "status", "observedGeneration")
			if seen[united.GetName()] || observed != united.GetGeneration() || !done(united) {
				continue
			}
			var number int
			if _, err := fmt.Sscanf(united.GetName(), "bench-%d", &number); err != nil {
				return false, err
			}
			seen[united.GetName()], took = true, append(took, time.Since(began[number]))
		}
		return len(seen) == len(began), nil
	})
	if err != nil {
		return nil, fmt.Errorf("%d of %d UnitedDeployments are ready: %w", len(seen), len(began), err)
	}
	slices.Sort(took)
	return took, nil
}

// readyAt returns the number of ready Pods, or -1 while the status lists other Pods too.
func readyAt(united *unstructured.Unstructured) int64 {
	ready, _, _ := unstructured.NestedInt64(united.Object, "status", "readyReplicas")
	replicas, _, _ := unstructured.NestedInt64(united.Object, "status", "replicas")
	if ready != replicas {
		return -1
	}
	return ready
}

// unschedulable reports whether a subset gets no Pods because others found no node there.
func unschedulable(united *unstructured.Unstructured) bool {
	subsets, _, _ := unstructured.NestedSlice(united.Object, "status", "subsetStatuses")
	return slices.ContainsFunc(subsets, func(subset any) bool {
		conditions, _, _ := unstructured.NestedSlice(subset.(map[string]any), "conditions")
		return slices.ContainsFunc(conditions, func(condition any) bool {
			fields := condition.(map[string]any)
			return fields["type"] == "Schedulable" && fields["status"] == "False"
		})
	})
}

// podsIn returns the number of Pods of a subset that have a node.
func (e *entrant) podsIn(ctx context.Context, subset string) (count int, err error) {
	list, err := e.core.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: "apps.kruise.io/subset-name=" + subset})
	for i := range list.Items {
		if list.Items[i].Spec.NodeName != "" {
			count++
		}
	}
	return count, errors.Join(err)
}
