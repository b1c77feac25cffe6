package deletionprotection

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/features"
)

// definition holds the fields of a CustomResourceDefinition that this package reads. They are read through JSON,
// because client-go has no type for a CustomResourceDefinition and a review delivers an unstructured object.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Plural string `json:"plural"`
		} `json:"names"`
		Versions []struct {
			Name    string `json:"name"`
			Served  bool   `json:"served"`
			Storage bool   `json:"storage"`
		} `json:"versions"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// customResources looks for custom resources of the defined kind in all namespaces. Its result follows the rule of
// kind.contents: everything that prevents the count, such as a disabled feature gate or a missing permission, is a
// reason to refuse. Terminating custom resources do not count.
func customResources(ctx context.Context, p *Plugin, object runtime.Object) string {
	if !p.Gate.Enabled(features.DeletionProtectionForCRDCascadingGate) {
		return fmt.Sprintf(", feature-gate %s is not enabled", features.DeletionProtectionForCRDCascadingGate)
	}
	resource, served, err := resourceOf(object)
	if err != nil {
		return fmt.Sprintf(", failed to list CRs: %v", err)
	}
	// Without an established definition, no custom resource was ever created.
	if !served {
		return ""
	}
	living, err := count(func(options metav1.ListOptions) ([]metav1.PartialObjectMetadata, string, error) {
		list, err := p.Metadata.Resource(resource).List(ctx, options)
		if err != nil {
			return nil, "", err
		}
		return list.Items, list.Continue, nil
	}, func(custom *metav1.PartialObjectMetadata) bool { return custom.DeletionTimestamp == nil })
	switch {
	// The message names the remedy, because the role is empty by default (see readerLabel).
	case apierrors.IsForbidden(err):
		return fmt.Sprintf(", failed to list CRs: grant the verb list on %s to the apiserver of Kruise by a ClusterRole with the label "+
			"%s: %v",
			resource.GroupResource(), readerLabel, err)
	case err != nil:
		return fmt.Sprintf(", failed to list CRs: %v", err)
	case living > 0:
		return fmt.Sprintf(" and active CRs %d>0", living)
	}
	return ""
}

// readerLabel is the label that aggregates a ClusterRole into the chart's role for reading custom resources.
const readerLabel = "kruise.io/aggregate-to-custom-resource-reader=true"

// resourceOf returns the resource to list for a definition. It prefers the stored version if that one is served.
// served is false if the definition was never established.
func resourceOf(object runtime.Object) (resource schema.GroupVersionResource, served bool, err error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return resource, false, err
	}
	var custom definition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &custom); err != nil {
		return resource, false, err
	}
	if !established(custom.Status.Conditions) {
		return resource, false, nil
	}
	resource.Group, resource.Resource = custom.Spec.Group, custom.Spec.Names.Plural
	for _, version := range custom.Spec.Versions {
		// The loop keeps the first served version, until it finds the stored one. Each version lists the same
		// objects, but the stored one needs no conversion, and so no conversion webhook that could fail.
		if version.Served && (version.Storage || resource.Version == "") {
			resource.Version = version.Name
		}
	}
	if resource.Version == "" {
		return resource, false, fmt.Errorf("no version of %s is served; set served: true in the stored version", resource.GroupResource())
	}
	return resource, true, nil
}

// established returns true if kube-apiserver has accepted the names of the definition and serves it.
func established(conditions []metav1.Condition) bool {
	for _, condition := range conditions {
		if condition.Type == "Established" {
			return condition.Status == metav1.ConditionTrue
		}
	}
	return false
}
