package containerrestart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/nodeagent/containerstop"
)

// defaultGrace is the default grace period of a request, in seconds. Admission sets the period of the Pod, so this is
// only for requests that lack it.
const defaultGrace = 30

// stop begins to stop one container. With forceRecreate, it first records which instance it will stop; the event of
// that write starts the pass that stops it. It returns before the container has stopped.
func (c *Controller) stop(
	ctx context.Context, pod types.NamespacedName, runtime Runtime, r *request, states []containerState, i int, in *instance,
) error {
	if r.Spec.Strategy.ForceRecreate && !isStopping(states[i], in) {
		states = slices.Clone(states)
		announce(&states[i], in)
		return c.reportStates(ctx, r, states)
	}
	container := &r.Spec.Containers[i]
	podIP, err := c.podIP(ctx, r, container.PreStop)
	if err != nil {
		return err
	}
	// From here on, the worker is free. The end of the stop enqueues the Pod.
	target := c.target(ctx, runtime, r, container, in, podIP)
	c.stops.Begin(pod, func() error { return c.carryOut(ctx, r, states[i], in, target) }, func() { c.pods.Add(pod) })
	return nil
}

// carryOut stops the container and records the result. If the runtime or the API server does not answer, the result
// is unknown and the next pass retries. A second stop of an instance that has ended does nothing.
func (c *Controller) carryOut(ctx context.Context, r *request, state containerState, in *instance, target containerstop.Target) error {
	err := c.stopper.Stop(ctx, target)
	switch {
	case err == nil:
		recreates.WithLabelValues(stopped).Inc()
		state = containerState{Name: state.Name, Phase: v1beta1.ContainerRecreateRequestRecreating, IsKilled: true}
	case unanswered(ctx, err):
		return err
	default:
		klog.FromContext(ctx).V(2).Info("Failed to stop a container", "container", state.Name, "id", in.id, "err", err)
		recreates.WithLabelValues(failed).Inc()
		state.Phase, state.Message = v1beta1.ContainerRecreateRequestFailed, "kill container error: "+err.Error()
	}
	return c.persist(ctx, r, state)
}

// unanswered returns true if the stop has to be tried again: the runtime did not answer in time, the container has not
// started yet, or the agent is stopping.
func unanswered(ctx context.Context, err error) bool {
	code := status.Code(err)
	return ctx.Err() != nil || code == codes.Unavailable || code == codes.Canceled || code == codes.DeadlineExceeded ||
		errors.Is(err, containerstop.ErrNotStarted)
}

// target describes the container to stop. The callbacks record events on the Pod.
func (c *Controller) target(
	ctx context.Context, runtime Runtime, r *request, container *containerSpec, in *instance, podIP string,
) containerstop.Target {
	pod := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: r.Namespace, Name: r.Spec.PodName,
		UID:       types.UID(r.Labels[pub.ContainerRecreateRequestPodUIDKey]),
		FieldPath: "spec.containers{" + container.Name + "}",
	}
	_, id, _ := strings.Cut(in.id, "://")
	return containerstop.Target{
		Runtime: runtime, ID: id, PodIP: podIP,
		Manner: &containerstop.Manner{
			Grace:   delay.Seconds(ptr.Deref(r.Spec.Strategy.TerminationGracePeriodSeconds, defaultGrace)),
			PreStop: container.PreStop, Ports: container.Ports,
		},
		Begin: func() {
			klog.FromContext(ctx).V(2).Info("Stopping a container", "request", klog.KObj(r), "container", container.Name, "id", in.id)
			c.config.Recorder.Eventf(pod, corev1.EventTypeNormal, "Killing", "Stopping container %s by ContainerRecreateRequest %s",
				container.Name, r.Name)
		},
		HookFailed: func(err error) {
			c.config.Recorder.Eventf(pod, corev1.EventTypeWarning, "FailedPreStopHook", "PreStop hook failed: %v", err)
		},
	}
}

// podIP returns the Pod IP if the hook is an HTTP request without a host, else an empty string. Other hooks need no
// read of the Pod.
func (c *Controller) podIP(ctx context.Context, r *request, hook *corev1.LifecycleHandler) (string, error) {
	if hook == nil || hook.HTTPGet == nil || hook.HTTPGet.Host != "" {
		return "", nil
	}
	pod, err := c.config.Client.Pods(r.Namespace).Get(ctx, r.Spec.PodName, metav1.GetOptions{})
	switch {
	// The Pod is gone, so its containers stop and the request ends.
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("get Pod for its address: %w", err)
	// Another Pod of the name must not get the HTTP request of the hook.
	case string(pod.UID) != r.Labels[pub.ContainerRecreateRequestPodUIDKey]:
		return "", nil
	default:
		return pod.Status.PodIP, nil
	}
}
