package containerstop

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/nodeagent/handler"
)

// userAgent is the User-Agent of HTTP hooks.
const userAgent = "kube-lifecycle"

// runHook runs a preStop hook, and waits for it for at most the grace period. A slower hook is not stopped: it goes on for as long as the
// container still runs after the grace period. The error contains no output of the hook, because callers record it in events, which more
// users may read than the output. The output is logged.
func (s *Stopper) runHook(ctx context.Context, target Target, manner *Manner) error {
	hook := manner.PreStop
	switch {
	case hook.Exec != nil, hook.HTTPGet != nil:
	case hook.Sleep != nil:
		// The hook may not take longer than the grace period, however long its sleep is.
		return s.sleep(ctx, time.Duration(min(hook.Sleep.Seconds, int64(manner.Grace/time.Second)))*time.Second)
	case hook.TCPSocket != nil:
		return nil // The API accepts tcpSocket hooks, but Kubernetes does not run them.
	default:
		return errors.New("the hook has none of exec, httpGet and sleep")
	}
	limit := manner.Grace + leastGrace
	ended := make(chan handler.Result, 1)
	go func() {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ended <- handler.Run(limited, handler.Target{
			Runtime: target.Runtime, ID: target.ID, IP: target.PodIP, Ports: manner.Ports, UserAgent: userAgent, Hook: true,
		}, &corev1.ProbeHandler{Exec: hook.Exec, HTTPGet: hook.HTTPGet}, limit)
	}()
	var result handler.Result
	select {
	case <-ctx.Done():
		result.Reason = context.Cause(ctx).Error()
	case <-s.Clock.After(manner.Grace):
		result.Reason = fmt.Sprintf("timed out after %v", manner.Grace)
	case result = <-ended:
	}
	if result.Outcome == handler.Succeeded {
		return nil
	}
	klog.FromContext(ctx).V(2).Info("PreStop hook failed", "id", target.ID, "reason", result.Reason, "output", result.Output)
	return errors.New(result.Reason)
}

// sleep returns after d, or when ctx ends. Neither is a failure of the hook.
func (s *Stopper) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-s.Clock.After(d):
	}
	return nil
}
