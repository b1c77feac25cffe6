package takeover

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// helmRelease and helmNamespace are the annotations by which Helm says to which release an object belongs.
const (
	helmRelease   = "meta.helm.sh/release-name"
	helmNamespace = "meta.helm.sh/release-namespace"
)

// listRemains says what is left of OpenKruise, and who else has rights by the names of its accounts.
func (t *Takeover) listRemains(ctx context.Context, state *record) error {
	for _, p := range t.installed() {
		if p.role != remains {
			continue
		}
		found, err := t.find(ctx, p)
		if err != nil {
			return err
		}
		for i := range found {
			t.say("  %s %s/%s stays for a return; finish deletes it", found[i].GetKind(), found[i].GetNamespace(), found[i].GetName())
		}
	}
	if deployment := state.kept(named{deploymentResource, t.Namespace, managerName}); deployment != nil {
		if name := deployment.GetAnnotations()[helmRelease]; name != "" {
			if err := t.listRelease(ctx, deployment.GetAnnotations()[helmNamespace], name); err != nil {
				return err
			}
		}
	}
	for _, resource := range []schema.GroupVersionResource{roleBindingResource, clusterRoleBindingResource} {
		err := t.each(ctx, resource, func(binding *unstructured.Unstructured) error {
			if account := t.grants(binding); account != "" && isOld(binding) {
				t.say("  %s %s gives rights to ServiceAccount %s: it is not of a chart that this release knows; check that you need it",
					binding.GetKind(), nameIn(binding), account)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// listRelease says that Helm still knows the release of OpenKruise.
func (t *Takeover) listRelease(ctx context.Context, namespace, name string) error {
	selector := "owner=helm,name=" + name
	secrets, err := t.Dynamic.Resource(secretResource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("list the Secrets of Helm: %w", err)
	}
	if len(secrets.Items) > 0 {
		t.say("  Helm knows release %[1]s in namespace %[2]s (%[3]d Secrets): do not upgrade, roll back or uninstall it; "+
			"to make Helm forget it: kubectl -n %[2]s delete secret -l %[4]s", name, namespace, len(secrets.Items), selector)
	}
	return nil
}

// grants returns the account of the manager or of the node agents that a binding names, or an empty string.
func (t *Takeover) grants(binding *unstructured.Unstructured) string {
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	for _, subject := range subjects {
		subject, _ := subject.(map[string]any)
		name, _ := subject["name"].(string)
		ours := subject["kind"] == "ServiceAccount" && subject["namespace"] == t.Namespace
		if ours && slices.Contains([]string{"kruise-manager", "kruise-daemon"}, name) {
			return t.Namespace + "/" + name
		}
	}
	return ""
}

// nameIn returns the name of an object, with its namespace if it has one.
func nameIn(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// removeRemains deletes what only a return needs.
func (t *Takeover) removeRemains(ctx context.Context, state *record) error {
	return t.remove(ctx, state, remains)
}
