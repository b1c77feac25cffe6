package podprober

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/nodeagent/cluster"
	"kruise.io/kruise/pkg/nodeagent/handler"
	"kruise.io/kruise/pkg/reconcile"
)

const (
	// A changed state is written at once, up to a burst, and then once in a second.
	writesPerSecond = 1
	writeBurst      = 5
	// messageInterval is the least time from any write to one that only changes messages. So one write has the messages of several
	// Pods. See also pace.
	messageInterval = 5 * time.Second
	// leastRefresh is how old a report becomes before its times are written again. Each node adds a random part.
	leastRefresh = 600 * time.Second
	// maxMessages limits the messages of a status together in bytes, so that the object fits into the store.
	maxMessages = 256 << 10
)

// publishedIn returns the states of a status by probe.
func publishedIn(status *v1alpha1.NodePodProbeStatus) map[probeKey]*v1alpha1.ContainerProbeState {
	states := map[probeKey]*v1alpha1.ContainerProbeState{}
	for i := range status.PodProbeStatuses {
		entry := &status.PodProbeStatuses[i]
		for j := range entry.ProbeStates {
			states[probeKey{keyOf(entry), entry.ProbeStates[j].Name}] = &entry.ProbeStates[j]
		}
	}
	return states
}

// report writes the status if it differs, at the pace that the kind of difference allows: a changed state at once, a
// changed message less often, and new times alone only when the report is old.
func (c *Controller) report(ctx context.Context, _ types.NamespacedName) (reconcile.Result, error) {
	cached, err := c.nodePodProbe()
	if err != nil || cached == nil {
		return reconcile.Result{}, err
	}
	now := c.config.Clock.Now()
	// Without our last write, the same difference would be written again.
	node, unseen := c.wrote.Newer(cached, now)
	// The results are for the probes of the cached spec, but the comparison is with what was written last.
	status := c.status(cached)
	held := c.paces.hold(&node.Status, status, now)
	if c.wroteAt.IsZero() {
		c.wroteAt = now
	}
	wait := c.refresh - now.Sub(c.wroteAt)
	// Each kind of difference has its own pace. wait is how long the write has to wait.
	switch differ(&node.Status, status) {
	case same:
		if len(status.PodProbeStatuses) == 0 {
			return reconcile.Result{RequeueAfter: unseen}, nil
		}
	case message:
		wait = messageInterval - now.Sub(c.wroteAt)
		// The agent has written nothing yet, so no earlier write limits the pace.
		if c.wrote.Empty() {
			wait = 0
		}
	case state:
		slot := c.writes.ReserveN(now, 1)
		if wait = slot.DelayFrom(now); wait > 0 {
			slot.CancelAt(now)
		}
	}
	// Once the cache is believed again, it may differ. A message that was held back is written when it is due.
	for _, sooner := range []time.Duration{unseen, held} {
		if sooner > 0 {
			wait = min(wait, sooner)
		}
	}
	if wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	result, err := c.write(ctx, cached, status)
	if err == nil {
		c.paces.wrote(&node.Status, status, now)
		if held > 0 {
			result.RequeueAfter = min(result.RequeueAfter, held)
		}
	}
	return result, err
}

// write patches the status. The agent is its only writer, so the patch needs no resourceVersion. The UID makes sure that the
// NodePodProbe is still the same.
func (c *Controller) write(
	ctx context.Context, node *v1alpha1.NodePodProbe, status *v1alpha1.NodePodProbeStatus,
) (reconcile.Result, error) {
	statuses := status.PodProbeStatuses
	// A null in a merge patch would remove the field. The list must become empty instead.
	if statuses == nil {
		statuses = []v1alpha1.PodProbeStatus{}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": node.UID}, "status": map[string]any{"podProbeStatuses": statuses},
	})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("encode the status: %w", err)
	}
	stored, err := c.config.Client.NodePodProbes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("write the status: %w", err)
	}
	klog.FromContext(ctx).V(4).Info("Reported", "pods", len(statuses))
	// The cache has no managed fields either.
	stored.ManagedFields = nil
	now := c.config.Clock.Now()
	c.wrote, c.wroteAt = cluster.Wrote(stored, now), now
	return reconcile.Result{RequeueAfter: c.refresh}, nil
}

// status returns the results of the probes in the spec, in its order. A probe without a result, and a Pod without
// any, is left out.
func (c *Controller) status(node *v1alpha1.NodePodProbe) *v1alpha1.NodePodProbeStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := &v1alpha1.NodePodProbeStatus{}
	for i := range node.Spec.PodProbes {
		entry := &node.Spec.PodProbes[i]
		pod := v1alpha1.PodProbeStatus{Name: entry.Name, Namespace: entry.Namespace, UID: entry.UID}
		for j := range entry.Probes {
			p := c.schedule.probes[probeKey{podKey{entry.Namespace, entry.Name, types.UID(entry.UID)}, entry.Probes[j].Name}]
			// The spec can be newer than the schedule: sync runs in another worker.
			if p == nil || p.result.state == "" {
				continue
			}
			pod.ProbeStates = append(pod.ProbeStates, v1alpha1.ContainerProbeState{
				Name: p.key.name, State: p.result.state, Message: p.result.message,
				LastProbeTime: metav1.NewTime(p.result.probed), LastTransitionTime: metav1.NewTime(p.result.changed),
			})
		}
		if len(pod.ProbeStates) > 0 {
			status.PodProbeStatuses = append(status.PodProbeStatuses, pod)
		}
	}
	shorten(status)
	return status
}

// shorten cuts the longest messages until all of them together fit. It halves the limit in each round, so a few long
// messages are cut before many short ones.
func shorten(status *v1alpha1.NodePodProbeStatus) {
	for limit := handler.MaxOutput; ; limit /= 2 {
		total := 0
		for i := range status.PodProbeStatuses {
			states := status.PodProbeStatuses[i].ProbeStates
			for j := range states {
				if message := states[j].Message; len(message) > limit {
					states[j].Message = strings.ToValidUTF8(message[:limit], "")
				}
				total += len(states[j].Message)
			}
		}
		if total <= maxMessages || limit == 0 {
			return
		}
	}
}

// difference says what differs between two statuses.
type difference int

// The constants are ordered by how soon the difference is written.
const (
	same difference = iota
	message
	state
)

// differ compares what two statuses say. Their times do not count. A changed state outweighs a changed message.
func differ(a, b *v1alpha1.NodePodProbeStatus) difference {
	before, after := publishedIn(a), publishedIn(b)
	if len(before) != len(after) {
		return state
	}
	found := same
	for i := range b.PodProbeStatuses {
		found = max(found, differOfPod(before, &b.PodProbeStatuses[i]))
	}
	return found
}

// differOfPod compares the states of one Pod with the published ones.
func differOfPod(published map[probeKey]*v1alpha1.ContainerProbeState, entry *v1alpha1.PodProbeStatus) difference {
	found := same
	for i := range entry.ProbeStates {
		is := &entry.ProbeStates[i]
		was := published[probeKey{keyOf(entry), is.Name}]
		switch {
		case was == nil || was.State != is.State:
			return state
		case was.Message != is.Message:
			found = message
		}
	}
	return found
}

// keyOf returns the key of the Pod of an entry.
func keyOf(entry *v1alpha1.PodProbeStatus) podKey {
	return podKey{entry.Namespace, entry.Name, types.UID(entry.UID)}
}
