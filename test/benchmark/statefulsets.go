//go:build bench

package main

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// setManifest is a StatefulSet of either group.
const setManifest = `
apiVersion: GROUP
kind: StatefulSet
metadata: {name: bench}
spec:
  replicas: REPLICAS
  serviceName: bench
  podManagementPolicy: POLICY
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: PARTITION}}
  selector: {matchLabels: {app: bench}}
  template:
    metadata: {labels: {app: bench}}
    spec:
      nodeSelector: {type: kwok}
      tolerations: [{operator: Exists}]
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "kruise.local/demo:v1"}]
`

// updatedPods is how many Pods of a StatefulSet are updated, one after the other.
const updatedPods = 50

// statefulSets measures a StatefulSet of each group: its creation, an update of some Pods, and its end.
func (f *fleet) statefulSets(ctx context.Context, policy string, replicas int) error {
	f.header(fmt.Sprintf("StatefulSet, %d Pods, %s", replicas, policy))
	for _, r := range f.rivals {
		if err := f.statefulSet(ctx, r, policy, replicas); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return f.out.Flush()
}

func (f *fleet) statefulSet(ctx context.Context, r *rival, policy string, replicas int) (err error) {
	e, leave, err := f.enter(ctx, r, "statefulsets", replicas)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, leave(context.WithoutCancel(ctx))) }()
	updated := min(updatedPods, replicas)
	all := map[string]int64{"replicas": int64(replicas), "readyReplicas": int64(replicas)}
	err = e.step(ctx, "ready", func(ctx context.Context) error {
		err := e.create(ctx, setManifest, "REPLICAS", strconv.Itoa(replicas), "POLICY", policy, "PARTITION", strconv.Itoa(replicas-updated))
		if err != nil {
			return err
		}
		return e.reached(ctx, all)
	})
	if err != nil {
		return err
	}
	e.pods = updated
	err = e.step(ctx, fmt.Sprintf("%d updated", updated), func(ctx context.Context) error {
		if err := e.image(ctx, "v2"); err != nil {
			return err
		}
		return e.reached(ctx, map[string]int64{
			"replicas": int64(replicas), "readyReplicas": int64(replicas), "updatedReplicas": int64(updated),
		})
	})
	if err != nil {
		return err
	}
	e.pods = replicas
	return e.step(ctx, "scaled to zero", func(ctx context.Context) error {
		if err := e.patch(ctx, types.MergePatchType, `{"spec":{"replicas":0}}`); err != nil {
			return err
		}
		return e.reached(ctx, map[string]int64{"replicas": 0, "readyReplicas": 0})
	})
}
