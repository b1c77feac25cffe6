//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// unitedManifest is a UnitedDeployment of three Pods without its subsets.
const unitedManifest = `
apiVersion: GROUP
kind: UnitedDeployment
metadata: {name: bench-NUMBER}
spec:
  replicas: 3
  selector: {matchLabels: {app: bench-NUMBER}}
  template:
    cloneSetTemplate:
      metadata: {labels: {app: bench-NUMBER}}
      spec:
        template:
          metadata: {labels: {app: bench-NUMBER}}
          spec:
            nodeSelector: {type: kwok}
            tolerations: [{operator: Exists}]
            terminationGracePeriodSeconds: 1
            containers: [{name: main, image: "kruise.local/demo:v1"}]
`

const threeSubsets = `
  topology: {subsets: [{name: a}, {name: b}, {name: c}]}
`

// podsOfUnited is the number of Pods of the manifest.
const podsOfUnited = 3

// measureUnitedDeployments measures small UnitedDeployments of CloneSets: their creation, an update, and a restart of the controller.
func measureUnitedDeployments(ctx context.Context, config *rest.Config, core kubernetes.Interface, shape fleetShape) (err error) {
	f, end, err := newFleet(ctx, config, core)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, end(context.WithoutCancel(ctx))) }()
	if err := f.measureIdle(ctx); err != nil {
		return err
	}
	e, leave, err := f.enter(ctx, f.rivals[1], "uniteddeployments", shape.united*podsOfUnited)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, leave(context.WithoutCancel(ctx))) }()
	f.header(fmt.Sprintf("%d UnitedDeployments of %d CloneSets", shape.united, podsOfUnited))
	if err := e.step(ctx, "ready", func(ctx context.Context) error {
		err := each(0, shape.united, func(i int) error { return e.create(ctx, unitedManifest+threeSubsets, "NUMBER", strconv.Itoa(i)) })
		return errors.Join(err, e.settled(ctx))
	}); err != nil {
		return err
	}
	if err := e.step(ctx, "updated", func(ctx context.Context) error {
		err := each(0, shape.united, func(i int) error {
			_, err := e.object.Patch(ctx, fmt.Sprintf("bench-%d", i), types.JSONPatchType, []byte(
				`[{"op":"replace","path":"/spec/template/cloneSetTemplate/spec/template/spec/containers/0/image","value":"kruise.local/demo:v2"}]`,
			), metav1.PatchOptions{})
			return err
		})
		return errors.Join(err, e.settled(ctx))
	}); err != nil {
		return err
	}
	if err := f.out.Flush(); err != nil {
		return err
	}
	return e.restarted(ctx)
}

// settled waits until all Pods of all UnitedDeployments are updated and ready.
func (e *entrant) settled(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, scalePoll, scalePatience, true, func(ctx context.Context) (bool, error) {
		list, err := e.object.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // It is asked again.
		}
		for i := range list.Items {
			observed, _, _ := unstructured.NestedInt64(list.Items[i].Object, "status", "observedGeneration")
			ready, _, _ := unstructured.NestedInt64(list.Items[i].Object, "status", "updatedReadyReplicas")
			if observed != list.Items[i].GetGeneration() || ready != podsOfUnited {
				return false, nil
			}
		}
		return true, nil
	})
}

// finished waits until the controller writes nothing for a while.
func (e *entrant) finished(ctx context.Context) error {
	before, err := e.read(ctx)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, calmFor, scalePatience, false, func(ctx context.Context) (bool, error) {
		after, err := e.read(ctx)
		done := spent(before, after).writes == 0
		before = after
		return done, err
	})
}

// restarted restarts the controller, and prints what it writes although nothing changed.
func (e *entrant) restarted(ctx context.Context) error {
	if err := e.finished(ctx); err != nil {
		return err
	}
	if err := errors.Join(e.process.Kill(), e.process.Start(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	if err := pause(ctx, idleFor); err != nil {
		return err
	}
	after, err := e.read(ctx)
	if err != nil {
		return err
	}
	total := spent(reading{}, after)
	fmt.Printf("after a restart without changes: %.1f s of CPU, %.0f requests, %.0f writes\n",
		total.cpu, total.requests, total.writes)
	return nil
}
