package takeover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// webhookService is the Service of OpenKruise's manager that its webhooks call.
	webhookService = "kruise-webhook-service"
	// garbageWebhook is a webhook of ours that the old manager does not have.
	garbageWebhook = "kruise-garbage-collection"
	// probeName is the name of the configuration, the Pod and the label by which a return finds out whether the manager answers.
	probeName = "kruise-takeover-probe"
)

// webhooksOf returns the webhooks of a configuration. They are copies.
func webhooksOf(object *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	var all []map[string]any
	for _, webhook := range list {
		if webhook, ok := webhook.(map[string]any); ok {
			all = append(all, webhook)
		}
	}
	return all
}

// setWebhooks replaces the webhooks of a configuration.
func setWebhooks(object *unstructured.Unstructured, all []map[string]any) {
	list := make([]any, 0, len(all))
	for _, webhook := range all {
		list = append(list, webhook)
	}
	object.Object["webhooks"] = list
}

// webhooksTo returns the namespaces of the managers of OpenKruise that the webhooks call. Our own configurations have the same names, and
// call another Service.
func webhooksTo(object *unstructured.Unstructured) []string {
	var namespaces []string
	for _, webhook := range webhooksOf(object) {
		if name, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "name"); name == webhookService {
			namespace, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "namespace")
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

// repeatsWebhooks returns true for an annotation that has the webhooks once more, from which the manager or kubectl would restore their
// failure policies.
func repeatsWebhooks(_, value string) bool { return strings.Contains(value, "failurePolicy") }

// ignoring returns a configuration that refuses nothing if nobody answers.
func ignoring(kept *unstructured.Unstructured) *unstructured.Unstructured {
	object, all := kept.DeepCopy(), webhooksOf(kept)
	for _, webhook := range all {
		webhook["failurePolicy"] = "Ignore"
	}
	setWebhooks(object, all)
	annotations := object.GetAnnotations()
	maps.DeleteFunc(annotations, repeatsWebhooks)
	object.SetAnnotations(annotations)
	return object
}

// arm gives the webhooks of OpenKruise the failure policies that they had, as soon as its manager answers them. Until then they refuse
// nothing. The manager writes its CA into the configurations after its start, so only the policies are restored.
func (t *Takeover) arm(ctx context.Context, state *record) error {
	kept := t.keptAs(state, intercepts)
	if len(kept) == 0 {
		return nil
	}
	deployment, err := t.manager(ctx)
	if err != nil {
		return err
	}
	if deployment == nil || replicasOf(deployment) == 0 {
		t.say("  Deployment %s/%s has no replicas, so its webhooks keep failurePolicy Ignore", t.Namespace, managerName)
		return nil
	}
	if err := t.answered(ctx, kept); err != nil {
		return fmt.Errorf("%w; its webhooks have failurePolicy Ignore, so Pods can be written; look at the Pods of Deployment %s/%s",
			err, t.Namespace, managerName)
	}
	for _, each := range kept {
		if err := t.rearm(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// replicasOf returns how many Pods a Deployment asks for.
func replicasOf(deployment *unstructured.Unstructured) int64 {
	if replicas, set, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas"); set {
		return replicas
	}
	return 1
}

// answered waits until the manager has endpoints, and answers kube-apiserver with a certificate of the CA in its webhooks.
func (t *Takeover) answered(ctx context.Context, kept []*unstructured.Unstructured) error {
	err := t.until(ctx, "Service "+webhookService+" to have a ready endpoint", func() (bool, error) { return t.hasEndpoint(ctx) })
	if err != nil {
		return err
	}
	for _, object := range kept {
		for _, webhook := range webhooksOf(object) {
			if intercepted(webhook) {
				name, _ := webhook["name"].(string)
				return t.probe(ctx, named{resourceOf(object), "", object.GetName()}, name)
			}
		}
	}
	return nil // No webhook is called for Pods.
}

// hasEndpoint returns true if a Pod of the manager is ready to answer.
func (t *Takeover) hasEndpoint(ctx context.Context) (bool, error) {
	list, err := t.Dynamic.Resource(endpointSliceResource).Namespace(t.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "kubernetes.io/service-name=" + webhookService,
	})
	if err != nil {
		return false, err
	}
	for i := range list.Items {
		endpoints, _, _ := unstructured.NestedSlice(list.Items[i].Object, "endpoints")
		for _, endpoint := range endpoints {
			endpoint, _ := endpoint.(map[string]any)
			if ready, set, _ := unstructured.NestedBool(endpoint, "conditions", "ready"); ready || !set {
				return true, nil
			}
		}
	}
	return false, nil
}

// intercepted returns true for a webhook that is called for the creation of a Pod.
func intercepted(webhook map[string]any) bool {
	rules, _, _ := unstructured.NestedSlice(webhook, "rules")
	return slices.ContainsFunc(rules, func(rule any) bool {
		content, _ := rule.(map[string]any)
		resources, _, _ := unstructured.NestedStringSlice(content, "resources")
		operations, _, _ := unstructured.NestedStringSlice(content, "operations")
		return slices.Contains(resources, "pods") && (slices.Contains(operations, "CREATE") || slices.Contains(operations, "*"))
	})
}

// probe waits until kube-apiserver gets an answer of a webhook. It creates a configuration that calls it for Pods with a label, and with
// failurePolicy Fail, and creates such a Pod as a dry run. The configuration calls a Service first that does not exist: as soon as this is
// refused, kube-apiserver knows the configuration.
func (t *Takeover) probe(ctx context.Context, configuration named, webhook string) (err error) {
	client := t.Dynamic.Resource(configuration.GroupVersionResource)
	defer func() {
		gone := client.Delete(ctx, probeName, metav1.DeleteOptions{})
		if gone != nil && !apierrors.IsNotFound(gone) {
			err = errors.Join(err, fmt.Errorf("delete %s %s: %w", configuration.Resource, probeName, gone))
		}
	}()
	nobody := map[string]any{"service": map[string]any{"namespace": t.Namespace, "name": "kruise-takeover-nobody"}}
	err = t.until(ctx, "kube-apiserver to read the webhook "+probeName, func() (bool, error) {
		if err := t.writeProbe(ctx, configuration, webhook, nobody); err != nil {
			return false, err
		}
		return !answers(t.createProbe(ctx)), nil
	})
	if err != nil {
		return err
	}
	return t.until(ctx, "the manager of OpenKruise to answer its webhooks", func() (bool, error) {
		if err := t.writeProbe(ctx, configuration, webhook, nil); err != nil {
			return false, err
		}
		err := t.createProbe(ctx)
		return answers(err), err
	})
}

// answers returns false if kube-apiserver failed to call a webhook. Any other result, such as a refusal, needs an answer of the webhook.
func answers(err error) bool {
	return !apierrors.IsInternalError(err) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err)
}

// writeProbe writes the configuration of the probe, which calls a webhook as its configuration says now. to, if set, is called instead.
func (t *Takeover) writeProbe(ctx context.Context, configuration named, name string, to map[string]any) error {
	client := t.Dynamic.Resource(configuration.GroupVersionResource)
	current, err := client.Get(ctx, configuration.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s %s: %w", configuration.Resource, configuration.name, err)
	}
	all := webhooksOf(current)
	i := slices.IndexFunc(all, func(webhook map[string]any) bool { return webhook["name"] == name })
	if i < 0 {
		return fmt.Errorf("%s %s has no webhook %s", configuration.Resource, configuration.name, name)
	}
	if to == nil {
		to, _ = all[i]["clientConfig"].(map[string]any)
	}
	label := map[string]any{"matchLabels": map[string]any{probeName: "true"}}
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": current.GetAPIVersion(), "kind": current.GetKind(), "metadata": map[string]any{"name": probeName},
		"webhooks": []any{map[string]any{
			"name": name, "clientConfig": to, "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": int64(5),
			"admissionReviewVersions": all[i]["admissionReviewVersions"], "objectSelector": label,
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": t.Namespace}},
			"rules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}, "operations": []any{"CREATE"},
			}},
		}},
	}}
	before, err := client.Get(ctx, probeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, wanted, metav1.CreateOptions{})
		return err
	}
	if err != nil || apiequality.Semantic.DeepEqual(webhooksOf(before)[0]["clientConfig"], to) {
		return err
	}
	wanted.SetResourceVersion(before.GetResourceVersion())
	_, err = client.Update(ctx, wanted, metav1.UpdateOptions{})
	return err
}

// createProbe asks kube-apiserver to create a Pod that the probe intercepts, as a dry run.
func (t *Takeover) createProbe(ctx context.Context) error {
	_, err := t.Dynamic.Resource(podResource).Namespace(t.Namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": probeName, "namespace": t.Namespace, "labels": map[string]any{probeName: "true"}},
		"spec": map[string]any{
			"automountServiceAccountToken": false, "serviceAccountName": "kruise-manager",
			"containers": []any{map[string]any{"name": "none", "image": "none"}},
		},
	}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// rearm gives the webhooks of a configuration their failure policies. It keeps what the manager has written since.
func (t *Takeover) rearm(ctx context.Context, kept *unstructured.Unstructured) error {
	client := t.Dynamic.Resource(resourceOf(kept))
	policies := map[any]any{}
	for _, webhook := range webhooksOf(kept) {
		policies[webhook["name"]] = webhook["failurePolicy"]
	}
	return t.until(ctx, kept.GetKind()+" "+kept.GetName()+" to be written", func() (bool, error) {
		current, err := client.Get(ctx, kept.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		all := webhooksOf(current)
		for _, webhook := range all {
			if policy := policies[webhook["name"]]; policy != nil {
				webhook["failurePolicy"] = policy
			}
		}
		setWebhooks(current, all)
		// The manager has repeated the webhooks with the policy Ignore.
		annotations := maps.Clone(current.GetAnnotations())
		maps.DeleteFunc(annotations, repeatsWebhooks)
		current.SetAnnotations(annotations)
		for name, value := range kept.GetAnnotations() {
			setAnnotation(current, name, value)
		}
		_, err = client.Update(ctx, current, metav1.UpdateOptions{})
		return err == nil, err
	})
}
