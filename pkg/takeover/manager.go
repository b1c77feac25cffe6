package takeover

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// The names are those of the charts. Both charts use the same names for the manager, the node agents and the lease.
const (
	managerName  = "kruise-controller-manager"
	agentName    = "kruise-daemon"
	managerLease = "kruise-manager"
)

// manager returns the Deployment of the manager, or nil. It can be the old one or ours.
func (t *Takeover) manager(ctx context.Context) (*unstructured.Unstructured, error) {
	object, err := t.Dynamic.Resource(deploymentResource).Namespace(t.Namespace).Get(ctx, managerName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the Deployment of the manager: %w", err)
	}
	return object, nil
}

// leaseHolder returns who renewed the lease of the manager a short time ago, or an empty string. An expired lease has
// no holder.
func (t *Takeover) leaseHolder(ctx context.Context) (string, error) {
	object, err := t.Dynamic.Resource(leaseResource).Namespace(t.Namespace).Get(ctx, managerLease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the lease of the manager: %w", err)
	}
	holder, _, _ := unstructured.NestedString(object.Object, "spec", "holderIdentity")
	renewed, _, _ := unstructured.NestedString(object.Object, "spec", "renewTime")
	seconds, _, _ := unstructured.NestedInt64(object.Object, "spec", "leaseDurationSeconds")
	at, err := time.Parse(metav1.RFC3339Micro, renewed)
	if err != nil || t.Clock.Since(at) > time.Duration(seconds)*time.Second {
		return "", nil //nolint:nilerr // Nobody has renewed it.
	}
	return holder, nil
}

// removeWebhooks deletes the webhooks of OpenKruise while its manager still answers them. With failurePolicy Fail and nobody who answers,
// kube-apiserver refuses each write of a Pod. They are not set to Ignore instead: the manager writes its configurations again. The pause is
// for kube-apiservers that read of the deletion late.
func (t *Takeover) removeWebhooks(ctx context.Context, state *record) error {
	if err := t.keepNamespace(ctx, state); err != nil {
		return err
	}
	if err := t.remove(ctx, state, intercepts); err != nil {
		return err
	}
	return t.pause(ctx, t.settle)
}

// retire stops the manager and the node agents of OpenKruise, and removes them and their permissions. The record keeps all. It removes
// webhooks again that somebody has created in the meantime.
func (t *Takeover) retire(ctx context.Context, state *record) error {
	return t.remove(ctx, state, intercepts, runs, permits)
}

// stop scales a Deployment to zero and waits until its Pods are gone. A Pod that is terminating still counts, because
// it may still write. A Pod on a node that is not ready does not count, because nobody knows when it ends. It cannot write as soon as its
// account is removed.
func (t *Takeover) stop(ctx context.Context, deployment *unstructured.Unstructured) error {
	object := named{deploymentResource, t.Namespace, deployment.GetName()}
	if err := t.patch(ctx, object, map[string]any{"spec": map[string]any{"replicas": 0}}); err != nil {
		return err
	}
	// The Pods are found by the selector, so those that an earlier revision started count too.
	selected, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "selector", "matchLabels")
	options := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selected).String()}
	var lost []string
	err := t.until(ctx, "the manager to stop", func() (bool, error) {
		pods, err := t.Dynamic.Resource(podResource).Namespace(t.Namespace).List(ctx, options)
		if err != nil {
			return false, err
		}
		var running []string
		lost = nil
		for i := range pods.Items {
			node, _, _ := unstructured.NestedString(pods.Items[i].Object, "spec", "nodeName")
			ready, err := t.nodeIsReady(ctx, node)
			switch {
			case err != nil:
				return false, err
			case ready:
				running = append(running, pods.Items[i].GetName())
			default:
				lost = append(lost, fmt.Sprintf("Pod %s on node %s", pods.Items[i].GetName(), node))
			}
		}
		if len(running) > 0 {
			return false, fmt.Errorf("still there: %s", strings.Join(running, ", "))
		}
		return true, nil
	})
	if len(lost) > 0 && err == nil {
		t.say("  not waiting for %s, because the node is not ready: without its account, the Pod cannot write", strings.Join(lost, " and "))
	}
	return err
}

// nodeIsReady returns false for a node that is gone or whose kubelet does not report. A Pod without a node counts as on a ready one.
func (t *Takeover) nodeIsReady(ctx context.Context, name string) (bool, error) {
	if name == "" {
		return true, nil
	}
	node, err := t.Dynamic.Resource(nodeResource).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read Node %s: %w", name, err)
	}
	conditions, _, _ := unstructured.NestedSlice(node.Object, "status", "conditions")
	for _, condition := range conditions {
		if condition, ok := condition.(map[string]any); ok && condition["type"] == "Ready" {
			return condition["status"] == "True", nil
		}
	}
	return false, nil
}

// stopOurs stops the manager that runs since the take-over. It is deleted later, by clear. If the take-over has not replaced the old
// manager yet, that one goes on.
func (t *Takeover) stopOurs(ctx context.Context, _ *record) error {
	deployment, err := t.manager(ctx)
	if err != nil || deployment == nil || isOld(deployment) {
		return err
	}
	return t.stop(ctx, deployment)
}

// clear removes what of ours is in the way of the old manager: policies, webhooks, and the programs, which have the same names. The closed
// server answers no review, so with our webhooks the garbage collector could not delete any Pod of the old objects.
func (t *Takeover) clear(ctx context.Context, _ *record) error {
	if err := t.deleteOurPolicies(ctx); err != nil {
		return err
	}
	ours := []named{{webhookResources[1], "", garbageWebhook}}
	for _, p := range t.installed() {
		if p.role == intercepts || p.role == runs {
			ours = append(ours, p.named)
		}
	}
	for _, object := range ours {
		if err := t.deleteOurs(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// startOld creates again what was deleted. The labels of the namespace and the permissions come before the manager, which would fail
// without them. Its webhooks exist when it starts, because it writes its CA into them, but they refuse nothing until it answers.
func (t *Takeover) startOld(ctx context.Context, state *record) error {
	if err := t.restoreNamespaces(ctx, state); err != nil {
		return err
	}
	for _, kept := range t.keptAs(state, permits) {
		if err := t.restore(ctx, kept); err != nil {
			return err
		}
	}
	for _, kept := range t.keptAs(state, intercepts) {
		if err := t.restore(ctx, ignoring(kept)); err != nil {
			return err
		}
	}
	for _, kept := range t.keptAs(state, runs) {
		if err := t.restore(ctx, kept); err != nil {
			return err
		}
	}
	return nil
}
