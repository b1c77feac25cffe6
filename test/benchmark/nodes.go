//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// benchNode is a label of the nodes that a measurement adds. KWOK simulates nodes with the annotation and the taint simulated.
	benchNode = "bench"
	simulated = "kwok.x-k8s.io/node"
	// writers is how many requests are in flight at the same time.
	writers = 10
)

// run36 tells the nodes of this run from those of an earlier one. KWOK can lose the lease of a node whose name was used before.
var run36 = strconv.FormatInt(time.Now().Unix(), 36)

func nodeName(i int) string { return fmt.Sprintf("bench-%s-%04d", run36, i) }

// newNode returns a simulated node.
func newNode(i int) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(i), Annotations: map[string]string{simulated: "fake"},
			Labels: map[string]string{benchNode: "true", corev1.LabelHostname: nodeName(i), "type": "kwok"},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: simulated, Value: "fake", Effect: corev1.TaintEffectNoSchedule}}},
	}
}

// addNodes adds simulated nodes, from and including the first number up to the last, and waits until they are ready.
func (f *fleet) addNodes(ctx context.Context, first, last int) error {
	err := each(first, last, func(i int) error {
		_, err := f.core.CoreV1().Nodes().Create(ctx, newNode(i), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("add nodes: %w", err)
	}
	return wait.PollUntilContextTimeout(ctx, time.Second, scalePatience, true, func(ctx context.Context) (bool, error) {
		list, err := f.core.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: benchNode, ResourceVersion: "0"})
		if err != nil {
			return false, nil //nolint:nilerr // It is asked again.
		}
		ready := 0
		for i := range list.Items {
			if len(list.Items[i].Spec.Taints) == 1 && nodeReady(&list.Items[i]) {
				ready++
			}
		}
		return ready >= last-first, nil
	})
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// removeNodes deletes nodes, and the Pods that are bound to them, which the collector of Pods would find after a minute.
func (f *fleet) removeNodes(ctx context.Context, first, last int, namespaces ...string) error {
	gone := map[string]bool{}
	for i := first; i < last; i++ {
		gone[nodeName(i)] = true
	}
	err := each(first, last, func(i int) error {
		err := f.core.CoreV1().Nodes().Delete(ctx, nodeName(i), metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	for _, namespace := range namespaces {
		pods := f.core.CoreV1().Pods(namespace)
		list, listErr := pods.List(ctx, metav1.ListOptions{})
		if err = errors.Join(err, listErr); listErr != nil {
			continue
		}
		for i := range list.Items {
			if gone[list.Items[i].Spec.NodeName] {
				_ = pods.Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
			}
		}
	}
	return err
}

// heartbeats writes the statuses of nodes as kubelets do: only times change.
func (f *fleet) heartbeats(ctx context.Context, nodes int) error {
	return each(0, nodes, func(i int) error {
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
		_, err := f.core.CoreV1().Nodes().Patch(ctx, nodeName(i), types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		return err
	})
}

// each calls a function for each number from and including the first up to the last, several at a time. It returns the first error.
func each(first, last int, do func(i int) error) error {
	var group sync.WaitGroup
	var once sync.Once
	var failed error
	next := make(chan int)
	for range writers {
		group.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					once.Do(func() { failed = err })
				}
			}
		})
	}
	for i := first; i < last; i++ {
		next <- i
	}
	close(next)
	group.Wait()
	return failed
}
