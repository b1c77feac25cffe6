package broadcastjob

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/rollout"
)

// ownScheduler is the name of the scheduler of Pods that are bound by this controller.
const ownScheduler = "kubernetes.io/broadcastjob-controller"

// run plans to delete Pods that no longer fit their nodes, and to create Pods on nodes that have none. A Pod that is being deleted
// may still run, so it counts against parallelism.
func (r *Reconciler) run(job *v1beta1.BroadcastJob, view *engine.View, c *census, v *verdict) {
	v.plan = deleteAll(c.misfits)
	stage := &v.plan.Stages[0]
	parallelism, err := rollout.RoundedUp(job.Spec.Parallelism, len(c.desired), len(c.desired))
	if err != nil {
		v.err = fmt.Errorf("resolve parallelism: %w", err)
		return
	}
	if running := c.counts[active] - len(c.misfits); running > parallelism {
		stage.Warn = append(stage.Warn, engine.Notice{Reason: "TooManyActivePods",
			Message: fmt.Sprintf("Number of active pods %d is greater than parallelism %d", running, parallelism)})
		return
	}
	room := max(0, parallelism-c.counts[active]-c.counts[leaving])
	v.err = r.create(job, view, c, stage, c.missing[:min(room, len(c.missing))])
}

// create adds the creation of Pods on nodes to a stage.
func (r *Reconciler) create(job *v1beta1.BroadcastJob, view *engine.View, c *census, stage *engine.Stage, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	blueprint, err := view.Blueprint(view.Update)
	if err != nil {
		return err
	}
	blueprint.Name = podcontrol.PlaceName(job.Name)
	blueprint.Gates = []corev1.PodConditionType{pub.KruisePodReadyConditionType}
	nodeOf, taken := map[string]string{}, map[string]bool{}
	blueprint.Complete = func(pod *corev1.Pod, id string) {
		pod.GenerateName = job.Name + "-"
		if r.options.BindPods {
			pod.Spec.NodeName, pod.Spec.SchedulerName = nodeOf[id], ownScheduler
		} else {
			nodefit.Pin(pod, nodeOf[id])
		}
	}
	for _, pod := range c.all {
		taken[podcontrol.PlaceOf(pod.Name)] = true
	}
	for _, name := range nodes {
		id := podcontrol.PlaceID(job.UID, name, taken)
		taken[id], nodeOf[id] = true, name
		stage.Create = append(stage.Create, engine.Creation{Blueprint: blueprint, ID: id})
	}
	return nil
}
