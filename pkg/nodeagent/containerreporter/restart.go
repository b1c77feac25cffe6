package containerreporter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/nodeagent/containerstop"
	"kruise.io/kruise/pkg/reconcile"
)

// busyPeriod is how often a pass that found a stop under way is repeated.
const busyPeriod = time.Second

// restart stops the containers of one Pod that an update restarts, or that were started with outdated metadata. It acts only while an
// in-place update keeps the Pod out of service. A label that a user changes by hand restarts nothing. It does not wait for the stops.
func (c *Controller) restart(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	busy, err := c.stops.Outcome(key)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case busy:
		// Another container may be due, too.
		return reconcile.Result{RequeueAfter: busyPeriod, KeepFailures: true}, nil
	}
	r := c.get(key)
	if r == nil {
		return reconcile.Result{}, nil
	}
	// Only instances whose metadata has not changed for a while are due, see settlePeriod.
	due, wait := c.settled(key, r.stale())
	if len(due) == 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	var failed error
	stop := func() error {
		failures := make([]error, len(due))
		var running sync.WaitGroup
		for i, in := range due {
			// Containers are stopped in parallel, as the kubelet stops the containers of a Pod.
			running.Go(func() { failures[i] = c.stop(ctx, r, in) })
		}
		running.Wait()
		failed = errors.Join(failures...)
		return failed
	}
	c.stops.Begin(key, stop, func() {
		// The next report shows the new instances, and starts the next pass.
		if failed == nil {
			_, _ = c.stops.Outcome(key)
			return
		}
		c.restarts.Add(key)
	})
	// A stop that begins is no success yet. A container that does not start fails each one.
	return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
}

// restarts reports whether an update restarts a container of the Pod.
func (r *knownPod) restarts() bool {
	return slices.ContainsFunc(r.containers, func(in instance) bool { return in.restarts })
}

// stale returns the instances that the update restarts, and those whose report proves that they were started with outdated
// metadata. It skips instances that the kubelet replaces.
func (r *knownPod) stale() (instances []*instance) {
	if !r.held {
		return nil
	}
	for i := range r.containers {
		in := &r.containers[i]
		entry := r.report.Find(in.name)
		if in.restarts && !in.replaced {
			instances = append(instances, in)
			continue
		}
		if in.replaced || in.id == "" || entry == nil || entry.ContainerID != in.id {
			continue
		}
		if hash := entry.Hashes.ExtractedEnvFromMetadataHash; hash != 0 && hash != in.expected {
			instances = append(instances, in)
		}
	}
	return instances
}

// stop stops one instance by the rules of the kubelet. The events are on the container of the Pod.
func (c *Controller) stop(ctx context.Context, r *knownPod, in *instance) error {
	scheme, id, _ := strings.Cut(in.id, "://")
	runtime := c.config.Runtime(scheme)
	if runtime == nil {
		return fmt.Errorf("no container runtime named %q", scheme)
	}
	ref := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: r.Namespace, Name: r.Name, UID: r.UID, FieldPath: "spec.containers{" + in.name + "}",
	}
	return c.stopper.Stop(ctx, containerstop.Target{
		Runtime: runtime, ID: id, PodIP: r.ip,
		Begin: func() {
			klog.FromContext(ctx).V(2).Info("Restarting a container for an update in place", "container", in.name, "id", in.id)
			c.config.Recorder.Eventf(ref, corev1.EventTypeNormal, "Killing", "Stopping containerID %s by container meta restarter", in.id)
		},
		HookFailed: func(err error) {
			c.config.Recorder.Eventf(ref, corev1.EventTypeWarning, "FailedPreStopHook", "PreStop hook failed: %v", err)
		},
	})
}
