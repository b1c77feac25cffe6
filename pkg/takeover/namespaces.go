package takeover

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The labels and annotations that our chart and Helm set on the namespace of the installation. A return removes those that it did not have.
var (
	ourLabels      = []string{"control-plane", "pod-security.kubernetes.io/enforce", partOf, "app.kubernetes.io/managed-by"}
	ourAnnotations = []string{helmRelease, helmNamespace}
)

// keepNamespace saves the labels of the namespace of the installation. The webhooks of OpenKruise exclude this namespace by a label:
// without it, they intercept the Pods that answer them.
func (t *Takeover) keepNamespace(ctx context.Context, state *record) error {
	namespace, err := t.Dynamic.Resource(namespaceResource).Get(ctx, t.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Namespace %s: %w", t.Namespace, err)
	}
	return t.keep(ctx, state, namespace)
}

// restoreNamespaces gives the namespace of the installation the labels that it had. Labels that users have added since stay. The namespace
// of the agents exists in both charts; its annotation makes it survive an uninstallation of ours, with its Secrets.
func (t *Takeover) restoreNamespaces(ctx context.Context, state *record) error {
	if kept := state.kept(named{namespaceResource, "", t.Namespace}); kept != nil {
		had := func(values map[string]string, ours []string) map[string]any {
			patch := map[string]any{}
			for _, name := range ours {
				patch[name] = nil
			}
			for name, value := range values {
				patch[name] = value
			}
			return patch
		}
		err := t.patch(ctx, named{namespaceResource, "", t.Namespace}, map[string]any{"metadata": map[string]any{
			"labels": had(kept.GetLabels(), ourLabels), "annotations": had(kept.GetAnnotations(), ourAnnotations),
		}})
		if err != nil {
			return err
		}
	}
	err := t.patch(ctx, named{namespaceResource, "", agentsNamespace}, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{helmPolicy: "keep"},
	}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// patch applies a merge patch to an object.
func (t *Takeover) patch(ctx context.Context, object named, change map[string]any) error {
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	if _, err := t.of(object).Patch(ctx, object.name, types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch %s %s: %w", object.Resource, object.name, err)
	}
	return nil
}
