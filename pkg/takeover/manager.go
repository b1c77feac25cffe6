package takeover

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// The names are those of the charts. Both charts use the same names for the manager, the node agents and the lease.
const (
	managerName   = "kruise-controller-manager"
	agentName     = "kruise-daemon"
	managerLease  = "kruise-manager"
	oldWebhooksTo = "kruise-webhook-service"
	// garbageWebhook is a webhook of ours that the old manager does not have.
	garbageWebhook = "kruise-garbage-collection"
)

// oldWebhooksNames are the names of the webhook configurations of the old manager, by their resource.
var (
	leaseResource    = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	oldWebhooksNames = map[string]string{
		"mutatingwebhookconfigurations":   "kruise-mutating-webhook-configuration",
		"validatingwebhookconfigurations": "kruise-validating-webhook-configuration",
	}
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

// checkManager refuses a manager that this program cannot stop. A manager that runs elsewhere would go on writing
// after the take-over.
func (t *Takeover) checkManager(ctx context.Context) error {
	deployment, err := t.manager(ctx)
	if err != nil || deployment != nil {
		return err
	}
	holder, err := t.leaseHolder(ctx)
	if err != nil || holder == "" {
		return err
	}
	return fmt.Errorf("a manager that is not Deployment %s/%s runs: %q renews Lease %s/%s; stop it, or name its namespace",
		t.Namespace, managerName, holder, t.Namespace, managerLease)
}

// oldWorkloads are what OpenKruise runs. Ours have the same names and other selectors, which cannot be changed, so the old ones have to be
// deleted before.
func oldWorkloads() map[string]schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{managerName: deploymentResource, agentName: daemonSetResource}
}

// isOld returns true for an object that our chart did not create. Our objects have the label even if Helm has
// replaced the old ones.
func isOld(object *unstructured.Unstructured) bool {
	return object.GetLabels()[partOf] != "kruise"
}

// partOf is a label of all objects of our chart.
const partOf = "app.kubernetes.io/part-of"

// stopOld stops the old manager and deletes it. The record keeps it. The old node agents end too. The manager is
// scaled to zero before the deletion, so the function can wait for its Pods: none of them writes after this step.
func (t *Takeover) stopOld(ctx context.Context, state *record) error {
	if err := t.keepAccess(ctx, state); err != nil {
		return err
	}
	for _, name := range []string{managerName, agentName} {
		resource := oldWorkloads()[name]
		object, err := t.Dynamic.Resource(resource).Namespace(t.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && !isOld(object) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s %s/%s: %w", resource.Resource, t.Namespace, name, err)
		}
		if err := t.keep(ctx, state, object); err != nil {
			return err
		}
		// Only the manager is a Deployment. The node agents are a DaemonSet, and this step does not wait for their Pods.
		if resource == deploymentResource {
			if err := t.stop(ctx, object); err != nil {
				return err
			}
		}
		if err := t.deleteAndWait(ctx, resource, object); err != nil {
			return err
		}
	}
	return nil
}

// keep saves an object in the record before it is changed or deleted. The first saved state stays: a repetition would
// save an object that this program has changed. Fields that a server sets are removed, so the object can be created
// again.
func (t *Takeover) keep(ctx context.Context, state *record, object *unstructured.Unstructured) error {
	for _, kept := range state.Old {
		if kept.GetKind() == object.GetKind() && kept.GetNamespace() == object.GetNamespace() && kept.GetName() == object.GetName() {
			return nil
		}
	}
	// The object is saved as it was before the first step, with its replicas.
	kept := object.DeepCopy()
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(kept.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(kept.Object, "status")
	state.Old = append(state.Old, kept)
	return t.writeRecord(ctx, state)
}

// stop scales a Deployment to zero and waits until its Pods are gone. A Pod that is terminating still counts, because
// it may still write.
func (t *Takeover) stop(ctx context.Context, deployment *unstructured.Unstructured) error {
	_, err := t.Dynamic.Resource(deploymentResource).Namespace(t.Namespace).Patch(ctx, deployment.GetName(), types.MergePatchType,
		[]byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("scale Deployment %s/%s to 0: %w", t.Namespace, deployment.GetName(), err)
	}
	// The Pods are found by the selector, so those that an earlier revision started count too.
	selected, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "selector", "matchLabels")
	options := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selected).String()}
	return t.until(ctx, "the manager to stop", func() (bool, error) {
		pods, err := t.Dynamic.Resource(podResource).Namespace(t.Namespace).List(ctx, options)
		return err == nil && len(pods.Items) == 0, err
	})
}

// deleteAndWait deletes exactly this object, and waits until its name is free. The precondition protects another
// object that takes the name meanwhile.
func (t *Takeover) deleteAndWait(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	client := dynamic.ResourceInterface(t.Dynamic.Resource(resource))
	if object.GetNamespace() != "" {
		client = t.Dynamic.Resource(resource).Namespace(object.GetNamespace())
	}
	uid := object.GetUID()
	err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s %s: %w", resource.Resource, object.GetName(), err)
	}
	return t.until(ctx, resource.Resource+" "+object.GetName()+" to go", func() (bool, error) {
		_, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
}

// stopOurs stops the manager that runs since the take-over. It is deleted later, by startOld. If the take-over has not replaced the old
// manager yet, that one goes on.
func (t *Takeover) stopOurs(ctx context.Context, _ *record) error {
	deployment, err := t.manager(ctx)
	if err != nil || deployment == nil || isOld(deployment) {
		return err
	}
	return t.stop(ctx, deployment)
}

// startOld deletes our manager and node agents, and creates again what was deleted. The permissions come before the
// old manager starts.
func (t *Takeover) startOld(ctx context.Context, state *record) error {
	// Ours go first, because the old ones have the same names.
	for name, resource := range oldWorkloads() {
		if err := t.deleteOurs(ctx, named{resource, t.Namespace, name}); err != nil {
			return err
		}
	}
	// Without its permissions, the old manager would fail and restart.
	if err := t.restoreAccess(ctx, state); err != nil {
		return err
	}
	for name, resource := range oldWorkloads() {
		if err := t.restore(ctx, state.kept(named{resource, t.Namespace, name})); err != nil {
			return err
		}
	}
	return nil
}

// restore creates a kept object again, if there is one. Helm does not delete it with the release of our chart, which
// has an object of the same name. It can be repeated: an object that exists already is not ours, so it is the restored one, or one that
// the take-over has only scaled to zero.
func (t *Takeover) restore(ctx context.Context, kept *unstructured.Unstructured) error {
	if kept == nil {
		return nil
	}
	object := named{resourceOf(kept), kept.GetNamespace(), kept.GetName()}
	if err := t.deleteOurs(ctx, object); err != nil {
		return err
	}
	kept = kept.DeepCopy()
	annotations := kept.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	// An uninstallation of our chart must not delete it.
	annotations[helmPolicy] = "keep"
	kept.SetAnnotations(annotations)
	_, err := t.of(object).Create(ctx, kept, metav1.CreateOptions{})
	switch replicas, scales, _ := unstructured.NestedInt64(kept.Object, "spec", "replicas"); {
	case apierrors.IsAlreadyExists(err) && scales:
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		if _, err := t.of(object).Patch(ctx, object.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("scale %s %s to %d again: %w", object.Resource, object.name, replicas, err)
		}
	case err != nil && !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("create %s %s again: %w", object.Resource, object.name, err)
	}
	return nil
}

// removeWebhooks deletes the webhooks of the old manager, which would refuse every write now, because nobody answers
// them. The record keeps them. Ours may have the same names already, and stay.
func (t *Takeover) removeWebhooks(ctx context.Context, state *record) error {
	for _, resource := range webhookResources {
		name := oldWebhooksNames[resource.Resource]
		object, err := t.Dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && !ofOldManager(object) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s %s: %w", resource.Resource, name, err)
		}
		if err := t.keep(ctx, state, object); err != nil {
			return err
		}
		if err := t.deleteAndWait(ctx, resource, object); err != nil {
			return err
		}
	}
	return nil
}

// ofOldManager returns true if a webhook calls the Service of the old manager. Our own have the same name, and another Service.
func ofOldManager(object *unstructured.Unstructured) bool {
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	for _, webhook := range webhooks {
		if webhook, ok := webhook.(map[string]any); ok {
			if name, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "name"); name == oldWebhooksTo {
				return true
			}
		}
	}
	return false
}

// restoreWebhooks deletes our webhooks and policies, and creates the webhooks of the old manager again. The closed server answers no
// review, so with our webhooks the garbage collector could not delete any Pod of the old objects.
func (t *Takeover) restoreWebhooks(ctx context.Context, state *record) error {
	if err := t.deletePolicies(ctx); err != nil {
		return err
	}
	for _, resource := range webhookResources {
		for _, name := range []string{oldWebhooksNames[resource.Resource], garbageWebhook} {
			if err := t.deleteOurs(ctx, named{resource, "", name}); err != nil {
				return err
			}
		}
	}
	for _, resource := range webhookResources {
		if err := t.restore(ctx, state.kept(named{resource, "", oldWebhooksNames[resource.Resource]})); err != nil {
			return err
		}
	}
	return nil
}
