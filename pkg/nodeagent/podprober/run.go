package podprober

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/nodeagent/handler"
)

// Event reasons.
const (
	ReasonSucceeded = "KruiseProbeSucceeded"
	ReasonFailed    = "KruiseProbeFailed"
)

const (
	userAgent = "kube-probe"
	// absentRetry is the time until a container that does not exist yet is looked for again. It doubles up to longestAbsentRetry. The
	// agent can never find the containers of a static Pod, because the API has another UID.
	absentRetry        = 2 * time.Second
	longestAbsentRetry = 30 * time.Second
)

// run runs a probe once. It returns when to run it again, if that is not the end of its period. It runs without the mutex,
// so it works with a copy of what sync may change.
func (c *Controller) run(ctx context.Context, p *probe) rerun {
	c.mu.Lock()
	pod, container, spec, version, ip := p.pod, p.container, p.spec, p.version, p.pod.ip
	c.mu.Unlock()
	now := c.config.Clock.Now()
	found, err := pod.instances.find(ctx, c.config.Clock, c.config.Runtimes, pod.key, container)
	absent := err == nil && (found == nil || found.state == runtimeapi.ContainerState_CONTAINER_CREATED)
	wait := p.absence(absent)
	switch {
	// Without an answer of the runtime there is no result, and what is published stays.
	case err != nil:
		klog.FromContext(ctx).V(4).Info("The runtime does not answer a probe", "pod", klog.KRef(pod.key.namespace, pod.key.name), "err", err)
		return rerun{}
	// The container has not started. It is looked for again soon, so that its probe begins in time.
	case absent:
		return rerun{at: now.Add(wait), late: wait > absentRetry}
	// A container that ended cannot be probed. It counts as failed at once for this run.
	case found.state == runtimeapi.ContainerState_CONTAINER_EXITED:
		c.record(p, version, found.id, handler.Result{
			Outcome: handler.Failed, Output: fmt.Sprintf("Container(%s) is Non-running", container),
		})
		return rerun{}
	case found.state != runtimeapi.ContainerState_CONTAINER_RUNNING:
		return rerun{}
	}
	// The delay counts from the start of this instance, so it applies again after a restart.
	if ready := found.startedAt.Add(seconds(spec.InitialDelaySeconds)); now.Before(ready) {
		return rerun{at: ready}
	}
	result := handler.Run(ctx, handler.Target{Runtime: found.runtime, ID: found.id, IP: ip, UserAgent: userAgent},
		&spec.ProbeHandler, seconds(spec.TimeoutSeconds))
	if result.Outcome == handler.Unknown || result.NotStarted {
		result = c.doubt(ctx, p, container, found.id, result)
	}
	c.record(p, version, found.id, result)
	return rerun{}
}

// absence returns the time until an absent container is looked for again. Only the run of the probe calls it, and at most one runs.
func (p *probe) absence(absent bool) time.Duration {
	switch {
	case !absent:
		p.absent = 0
	case p.absent == 0:
		p.absent = absentRetry
	default:
		p.absent = min(2*p.absent, longestAbsentRetry)
	}
	return p.absent
}

// doubt looks at the container again after a command that did not run. If the instance has ended, this is the reason,
// and the result says nothing about the command. If the instance still runs, the command does not exist in it, which
// is a failure.
func (c *Controller) doubt(ctx context.Context, p *probe, container, id string, result handler.Result) handler.Result {
	instances := &p.pod.instances
	instances.forget()
	if result.NotStarted {
		now, err := instances.find(ctx, c.config.Clock, c.config.Runtimes, p.pod.key, container)
		if err != nil || now == nil || now.id != id || now.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
			result.Outcome = handler.Unknown
		}
	}
	if result.Outcome == handler.Unknown {
		klog.FromContext(ctx).V(4).Info("A probe has no result", "pod", klog.KRef(p.key.pod.namespace, p.key.pod.name), "probe", p.key.name,
			"reason", result.Reason, "message", result.Output)
	}
	return result
}

// record counts the outcome of a run, and publishes the result if it changed. The outcome is dropped if the probe was
// removed or its handler changed during the run. The event is written only when the state changes.
func (c *Controller) record(p *probe, version int, instance string, outcome handler.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schedule.probes[p.key] != p || p.version != version {
		return
	}
	probes.WithLabelValues(label(outcome.Outcome)).Inc()
	before := p.result
	p.result.seen(instance)
	changed := p.result.add(&p.spec, outcome.Outcome, outcome.Output, c.config.Clock.Now())
	// The message of the event is the output of the probe, which the owner of the Pod controls.
	if changed {
		reason := ReasonSucceeded
		if p.result.state == v1alpha1.ProbeFailed {
			reason = ReasonFailed
		}
		c.config.Recorder.Event(p.reference(), corev1.EventTypeNormal, reason, outcome.Output)
	}
	// A new time alone causes no write; it is written with the next one, or by the refresh.
	if changed || before.message != p.result.message {
		c.statuses.Add(c.key())
	}
}
