package hostcontroller

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	namespace  = "kruise-system"
	deployment = "kruise-controller-manager"
	selector   = "control-plane=controller-manager"
	patience   = 2 * time.Minute
)

// TakeOver ends the cluster's own controllers and returns when they are gone. What it returns brings them back.
func TakeOver(ctx context.Context, core kubernetes.Interface) (giveBack func(ctx context.Context) error, err error) {
	scale := func(ctx context.Context, replicas int32) error {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		_, err := core.AppsV1().Deployments(namespace).Patch(ctx, deployment, types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
		if err != nil {
			return fmt.Errorf("scale %s to %d: %w", deployment, replicas, err)
		}
		return nil
	}
	before, err := core.AppsV1().Deployments(namespace).GetScale(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get scale of %s: %w", deployment, err)
	}
	if err := scale(ctx, 0); err != nil {
		return nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, time.Second, patience, true, func(ctx context.Context) (bool, error) {
		pods, err := core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		return err == nil && len(pods.Items) == 0, nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the cluster's controllers to end: %w", err)
	}
	return func(ctx context.Context) error { return scale(ctx, max(1, before.Spec.Replicas)) }, nil
}
