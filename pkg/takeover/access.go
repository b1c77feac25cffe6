package takeover

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// agentsNamespace has the Secrets with which node agents pull images. Both charts have it.
const agentsNamespace = "kruise-daemon-config"

// named is an object by its name. namespace is empty for a cluster-scoped one.
type named struct {
	schema.GroupVersionResource

	namespace, name string
}

// access returns what gives the old manager and its node agents their permissions. Our chart has objects with the same names and fewer
// permissions, and its upgrade after a take-over replaces the old ones.
func (t *Takeover) access() []named {
	rbac := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
	}
	// The names are those that both charts give to these objects.
	accounts := schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	return []named{
		{accounts, t.Namespace, "kruise-manager"},
		{accounts, t.Namespace, "kruise-daemon"},
		{rbac("clusterroles"), "", "kruise-manager-role"},
		{rbac("clusterroles"), "", "kruise-daemon-role"},
		{rbac("clusterrolebindings"), "", "kruise-manager-rolebinding"},
		{rbac("clusterrolebindings"), "", "kruise-daemon-rolebinding"},
		{rbac("roles"), t.Namespace, "kruise-leader-election-role"},
		{rbac("rolebindings"), t.Namespace, "kruise-leader-election-rolebinding"},
	}
}

// of returns the client of an object.
func (t *Takeover) of(object named) dynamic.ResourceInterface {
	if object.namespace == "" {
		return t.Dynamic.Resource(object.GroupVersionResource)
	}
	return t.Dynamic.Resource(object.GroupVersionResource).Namespace(object.namespace)
}

// keepAccess saves the permissions of the old manager in the record. An object that our chart has replaced already is
// not saved, because it is not the old one.
func (t *Takeover) keepAccess(ctx context.Context, state *record) error {
	for _, each := range t.access() {
		object, err := t.of(each).Get(ctx, each.name, metav1.GetOptions{})
		// A missing object is not restored later, and a repetition finds some replaced.
		if apierrors.IsNotFound(err) || err == nil && !isOld(object) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s %s: %w", each.Resource, each.name, err)
		}
		if err := t.keep(ctx, state, object); err != nil {
			return err
		}
	}
	return nil
}

// restoreAccess replaces our permissions by those of the old manager. Without a kept object, ours stays. The
// namespace of the agents exists in both charts; its annotation makes it survive an uninstallation of ours.
func (t *Takeover) restoreAccess(ctx context.Context, state *record) error {
	for _, each := range t.access() {
		if err := t.restore(ctx, state.kept(each)); err != nil {
			return err
		}
	}
	// Helm must not delete the Secrets in it with our release.
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"keep"}}}`, helmPolicy)
	_, err := t.Dynamic.Resource(namespaceResource).Patch(ctx, agentsNamespace, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("annotate Namespace %s: %w", agentsNamespace, err)
	}
	return nil
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

// resourceOf returns the resource of a kept object, whose kinds all have a regular plural. So no discovery is needed,
// which may be incomplete during a take-over.
func resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	return resource
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

// deletePolicies deletes the bindings of our ValidatingAdmissionPolicies, which refuse most of what the old manager does.
func (t *Takeover) deletePolicies(ctx context.Context) error {
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
