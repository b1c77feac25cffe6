package broadcastjob

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/rollout"
)

// ownScheduler is the name of the scheduler of Pods that are bound by this controller. It is no real scheduler. With it, no scheduler
// acts on a Pod that already has a node.
const ownScheduler = "kubernetes.io/broadcastjob-controller"

// run plans to delete Pods that no longer fit their nodes, and to create Pods on nodes that have none. A Pod that is being deleted does
// not count against parallelism: on a lost node, it never ends. parallelism is of the desired nodes. Without it, all nodes run at once.
func (r *Reconciler) run(job *v1beta1.BroadcastJob, view *engine.View, c *census, v *verdict) {
	// Misfits are deleted even if parallelism is invalid.
	v.plan = deleteAll(c.misfits)
	stage := &v.plan.Stages[0]
	parallelism, err := rollout.RoundedUp(job.Spec.Parallelism, len(c.desired), len(c.desired))
	if err != nil {
		v.err = fmt.Errorf("resolve parallelism: %w", err)
		return
	}
	// The user lowered parallelism. Pods that run are not stopped for it.
	if running := c.counts[active] - len(c.misfits); running > parallelism {
		stage.Warn = append(stage.Warn, engine.Notice{Reason: "TooManyActivePods",
			Message: fmt.Sprintf("Number of active pods %d is greater than parallelism %d", running, parallelism)})
		return
	}
	// Misfits count as active in the pass that deletes them.
	room := max(0, parallelism-c.counts[active])
	v.err = r.create(job, view, stage, c.missing[:min(room, len(c.missing))])
}

// create adds the creation of Pods on nodes to a stage.
func (r *Reconciler) create(job *v1beta1.BroadcastJob, view *engine.View, stage *engine.Stage, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	blueprint, err := view.Blueprint(view.Update)
	if err != nil {
		return err
	}
	// Readiness gates cannot be added to a running Pod, so every Pod has this one from the start.
	blueprint.Gates = []corev1.PodConditionType{pub.KruisePodReadyConditionType}
	nodeOf := map[string]string{}
	blueprint.Complete = func(pod *corev1.Pod, id string) {
		pod.GenerateName = job.Name + "-"
		if r.options.BindPods {
			pod.Spec.NodeName, pod.Spec.SchedulerName = nodeOf[id], ownScheduler
		} else {
			nodefit.Pin(pod, nodeOf[id])
		}
	}
	ids, err := view.PlaceIDs(nodes)
	if err != nil {
		return err
	}
	for i, id := range ids {
		nodeOf[id] = nodes[i]
		stage.Create = append(stage.Create, engine.Creation{Blueprint: blueprint, ID: id})
	}
	return nil
}
