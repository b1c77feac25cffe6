package takeover

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// agentsNamespace has the Secrets with which node agents pull images. Both charts have it.
const agentsNamespace = "kruise-daemon-config"

// named is an object by its name. namespace is empty for a cluster-scoped one.
type named struct {
	schema.GroupVersionResource

	namespace, name string
}

// role is what an object does for OpenKruise. It decides when a take-over removes the object, and when a return restores it.
type role string

const (
	// intercepts are the webhooks. They are removed while the manager still answers them, and are restored after it answers again.
	intercepts role = "intercepts"
	// runs are the manager and the node agents.
	runs role = "runs"
	// permits are accounts, roles and bindings. They are removed after the manager has stopped. A Pod of it on a lost node has no rights
	// from then on.
	permits role = "permits"
	// remains are objects that give nobody a right. A return needs them, so only finish removes them. The record does not have them: one
	// is a Secret.
	remains role = "remains"
)

// part is an object that a chart of OpenKruise installs, in any of its versions. A name that ends in * stands for all names that begin so.
type part struct {
	named

	role role
}

// installed returns all that the charts of OpenKruise install, except for the CustomResourceDefinitions, in the order of its removal.
func (t *Takeover) installed() []part {
	var parts []part
	add := func(does role, resource schema.GroupVersionResource, namespace string, names ...string) {
		for _, name := range names {
			parts = append(parts, part{named{resource, namespace, name}, does})
		}
	}
	add(intercepts, webhookResources[0], "", "kruise-mutating-webhook-configuration")
	add(intercepts, webhookResources[1], "", "kruise-validating-webhook-configuration")
	add(runs, deploymentResource, t.Namespace, managerName)
	add(runs, daemonSetResource, t.Namespace, agentName)
	add(permits, clusterRoleBindingResource, "", "kruise-manager-rolebinding", "kruise-daemon-rolebinding", "kruise-certs-role*",
		"kruise-helm-hook*")
	add(permits, clusterRoleResource, "", "kruise-manager-role", "kruise-daemon-role", "kruise-certs-role", "kruise-helm-hook*",
		"aggregate-kruise-view", "aggregate-kruise-edit", "aggregate-kruise-admin")
	add(permits, roleBindingResource, t.Namespace, "kruise-leader-election-rolebinding", "kruise-webhook-rolebinding", "kruise-helm-hook*")
	add(permits, roleResource, t.Namespace, "kruise-leader-election-role", "kruise-webhook-role", "kruise-helm-hook*")
	add(permits, roleBindingResource, agentsNamespace, "kruise-daemon-secret-rolebinding")
	add(permits, roleResource, agentsNamespace, "kruise-daemon-secret-role")
	add(permits, serviceAccountResource, t.Namespace, "kruise-manager", "kruise-daemon", "kruise-helm-hook*")
	add(remains, serviceResource, t.Namespace, webhookService)
	add(remains, secretResource, t.Namespace, "kruise-webhook-certs")
	return parts
}

// of returns the client of an object.
func (t *Takeover) of(object named) dynamic.ResourceInterface {
	if object.namespace == "" {
		return t.Dynamic.Resource(object.GroupVersionResource)
	}
	return t.Dynamic.Resource(object.GroupVersionResource).Namespace(object.namespace)
}

// find reads the objects of a part. Objects of our chart with the same names are not found.
func (t *Takeover) find(ctx context.Context, p part) ([]unstructured.Unstructured, error) {
	var found []unstructured.Unstructured
	if prefix, many := strings.CutSuffix(p.name, "*"); many {
		list, err := t.of(p.named).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", p.Resource, err)
		}
		found = slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool { return !strings.HasPrefix(o.GetName(), prefix) })
	} else {
		object, err := t.of(p.named).Get(ctx, p.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", p.Resource, p.name, err)
		}
		found = []unstructured.Unstructured{*object}
	}
	return slices.DeleteFunc(found, func(o unstructured.Unstructured) bool {
		return !isOld(&o) || p.role == intercepts && len(webhooksTo(&o)) == 0
	}), nil
}

// isOld returns true for an object that our chart did not create. Our objects have the label even if Helm has
// replaced the old ones.
func isOld(object *unstructured.Unstructured) bool {
	return object.GetLabels()[partOf] != "kruise"
}

// partOf is a label of all objects of our chart.
const partOf = "app.kubernetes.io/part-of"

// remove deletes the objects of OpenKruise that have one of the roles, after the record has them. It may be repeated, and then also deletes
// what somebody has created again.
func (t *Takeover) remove(ctx context.Context, state *record, roles ...role) error {
	for _, p := range t.installed() {
		if !slices.Contains(roles, p.role) {
			continue
		}
		found, err := t.find(ctx, p)
		if err != nil {
			return err
		}
		for i := range found {
			if err := t.removeOne(ctx, state, p, &found[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeOne keeps and deletes one object. The manager is scaled to zero before, so that none of its Pods writes after this.
func (t *Takeover) removeOne(ctx context.Context, state *record, p part, object *unstructured.Unstructured) error {
	if p.role != remains {
		if err := t.keep(ctx, state, object); err != nil {
			return err
		}
	}
	// Only the manager is a Deployment. Nothing waits for the Pods of the node agents.
	if p.GroupVersionResource == deploymentResource {
		if err := t.stop(ctx, object); err != nil {
			return err
		}
	}
	return t.deleteAndWait(ctx, p.GroupVersionResource, object)
}

// keep saves an object in the record before it is changed or deleted. The first saved state stays: a repetition would
// save an object that this program has changed. Fields that a server sets are removed, so the object can be created
// again.
func (t *Takeover) keep(ctx context.Context, state *record, object *unstructured.Unstructured) error {
	if state.kept(named{resourceOf(object), object.GetNamespace(), object.GetName()}) != nil {
		return nil
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

// kept returns an object of the old Kruise, or nil.
func (r *record) kept(object named) *unstructured.Unstructured {
	for _, kept := range r.Old {
		if resourceOf(kept) == object.GroupVersionResource && kept.GetName() == object.name && kept.GetNamespace() == object.namespace {
			return kept
		}
	}
	return nil
}

// keptAs returns the recorded objects with a role.
func (t *Takeover) keptAs(state *record, does role) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, p := range t.installed() {
		prefix, many := strings.CutSuffix(p.name, "*")
		for _, kept := range state.Old {
			if p.role == does && resourceOf(kept) == p.GroupVersionResource && kept.GetNamespace() == p.namespace &&
				(kept.GetName() == p.name || many && strings.HasPrefix(kept.GetName(), prefix)) {
				found = append(found, kept)
			}
		}
	}
	return found
}

// resourceOf returns the resource of a kept object, whose kinds all have a regular plural. So no discovery is needed,
// which may be incomplete during a take-over.
func resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	return resource
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
	// An uninstallation of our chart must not delete it.
	kept = kept.DeepCopy()
	setAnnotation(kept, helmPolicy, "keep")
	_, err := t.of(object).Create(ctx, kept, metav1.CreateOptions{})
	switch replicas, scales, _ := unstructured.NestedInt64(kept.Object, "spec", "replicas"); {
	case apierrors.IsAlreadyExists(err) && scales:
		return t.patch(ctx, object, map[string]any{"spec": map[string]any{"replicas": replicas}})
	case err != nil && !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("create %s %s again: %w", object.Resource, object.name, err)
	}
	return nil
}

// setAnnotation sets an annotation of an object in memory.
func setAnnotation(object *unstructured.Unstructured, name, value string) {
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	object.SetAnnotations(annotations)
}

// deleteOurs deletes an object that our chart created, and waits until its name is free. An object of the old Kruise
// stays, so the step can be repeated.
func (t *Takeover) deleteOurs(ctx context.Context, object named) error {
	current, err := t.of(object).Get(ctx, object.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && isOld(current) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s %s: %w", object.Resource, object.name, err)
	}
	return t.deleteAndWait(ctx, object.GroupVersionResource, current)
}

// deleteAndWait deletes exactly this object, and waits until its name is free. The precondition protects another
// object that takes the name meanwhile.
func (t *Takeover) deleteAndWait(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	client, uid := t.of(named{resource, object.GetNamespace(), object.GetName()}), object.GetUID()
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

// deleteOurPolicies deletes the bindings of our ValidatingAdmissionPolicies, which refuse most of what the old manager does.
func (t *Takeover) deleteOurPolicies(ctx context.Context) error {
	bindings, err := t.Dynamic.Resource(policyBindingResource).List(ctx, metav1.ListOptions{LabelSelector: partOf + "=kruise"})
	if err != nil {
		return fmt.Errorf("list the ValidatingAdmissionPolicyBindings: %w", err)
	}
	for i := range bindings.Items {
		if err := t.deleteAndWait(ctx, policyBindingResource, &bindings.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
