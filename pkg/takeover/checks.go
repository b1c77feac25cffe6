package takeover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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

// checkServer refuses if kruise-apiserver is not installed as the chart does it. The APIService of the reviews is the
// one that the chart creates also before a take-over.
func (t *Takeover) checkServer(ctx context.Context) error {
	if _, err := t.Dynamic.Resource(apiServiceResource).Get(ctx, reviewService, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("APIService %s: %w; install kruise-apiserver with the chart's value takeover=true", reviewService, err)
	}
	return nil
}

// checkDefinition refuses definitions whose objects cannot be read without the old manager, or that are being
// deleted. With several stored versions, some objects need a conversion, which only its webhook does.
func checkDefinition(d *definition) error {
	if at := d.object.GetDeletionTimestamp(); at != nil {
		return fmt.Errorf("CustomResourceDefinition %s has been in deletion since %s, together with its objects: wait until it is gone; "+
			"there is nothing to move", d.name(), at)
	}
	for _, version := range d.versions {
		if !slices.Contains(versions, version) {
			return fmt.Errorf("CustomResourceDefinition %s: spec.versions has %q, which this release does not serve: %s",
				d.name(), version, "use a release that does")
		}
	}
	stored, _, _ := unstructured.NestedStringSlice(d.object.Object, "status", "storedVersions")
	strategy, _, _ := unstructured.NestedString(d.object.Object, "spec", "conversion", "strategy")
	if strategy == "Webhook" && len(stored) > 1 {
		return fmt.Errorf("CustomResourceDefinition %[1]s: status.storedVersions is %[2]q, and only the old manager converts between them: "+
			"write all objects again (kubectl get %[1]s -A -o json | kubectl replace -f -), and then remove all but %[3]q from "+
			"status.storedVersions",
			d.name(), stored, d.storage)
	}
	return nil
}

// checkNamespace refuses if webhooks or conversions name the manager of an OpenKruise in another namespace. Nobody would stop that one, and
// a return could not restore it.
func (t *Takeover) checkNamespace(ctx context.Context, all []definition) error {
	callers := map[string][]string{}
	note := func(namespace, caller string) {
		if namespace != t.Namespace && !slices.Contains(callers[namespace], caller) {
			callers[namespace] = append(callers[namespace], caller)
		}
	}
	for _, resource := range webhookResources {
		list, err := t.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for i := range list.Items {
			for _, namespace := range webhooksTo(&list.Items[i]) {
				note(namespace, list.Items[i].GetKind()+" "+list.Items[i].GetName())
			}
		}
	}
	for _, d := range all {
		service, _, _ := unstructured.NestedMap(d.object.Object, "spec", "conversion", "webhook", "clientConfig", "service")
		if namespace, _ := service["namespace"].(string); service["name"] == webhookService {
			note(namespace, "CustomResourceDefinition "+d.name())
		}
	}
	var problems []error
	for _, namespace := range slices.Sorted(maps.Keys(callers)) {
		problems = append(problems, fmt.Errorf("an OpenKruise runs in namespace %[1]q, not in %[2]q, because Service %[1]s/%[3]s "+
			"is called by %[4]s: use --installation-namespace=%[1]s, and install the chart with installation.namespace=%[1]s; "+
			"if two are installed, remove one", namespace, t.Namespace, webhookService, strings.Join(callers[namespace], ", ")))
	}
	return errors.Join(problems...)
}

// checkGitOps refuses if a GitOps controller manages what the take-over changes: it would write it back within minutes.
func (t *Takeover) checkGitOps(ctx context.Context, all []definition) error {
	if t.GitOpsSuspended {
		return nil
	}
	objects := make([]*unstructured.Unstructured, 0, len(all))
	for _, d := range all {
		objects = append(objects, d.object)
	}
	for _, p := range t.installed() {
		if p.role != intercepts && p.role != runs {
			continue
		}
		found, err := t.find(ctx, p)
		if err != nil {
			return err
		}
		for i := range found {
			objects = append(objects, &found[i])
		}
	}
	managed := map[string][]string{}
	for _, object := range objects {
		if by := gitOpsOf(object); by != "" {
			managed[by] = append(managed[by], object.GetKind()+" "+object.GetName())
		}
	}
	var problems []error
	for _, by := range slices.Sorted(maps.Keys(managed)) {
		problems = append(problems, fmt.Errorf("%s, which would write back what the take-over changes, manages %s: suspend it there until the "+
			"take-over is finished, and then run the command with --gitops-suspended", by, strings.Join(managed[by], ", ")))
	}
	return errors.Join(problems...)
}

// gitOpsOf returns which GitOps controller manages an object, and by which mark it says so, or an empty string.
func gitOpsOf(object *unstructured.Unstructured) string {
	const tracking, instance = "argocd.argoproj.io/tracking-id", "app.kubernetes.io/instance"
	for _, name := range []string{"helm.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/name"} {
		if value := object.GetLabels()[name]; value != "" {
			return fmt.Sprintf("Flux (label %s=%s)", name, value)
		}
	}
	if value := object.GetAnnotations()[tracking]; value != "" {
		return fmt.Sprintf("Argo CD (annotation %s)", tracking)
	}
	// Charts set this label too. Helm marks what it installs by an annotation, and Argo CD does not install by Helm.
	if value := object.GetLabels()[instance]; value != "" && object.GetAnnotations()[helmRelease] == "" {
		return fmt.Sprintf("Argo CD (label %s=%s)", instance, value)
	}
	return ""
}
