package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
)

// reown makes dependents of objects that have a new UID refer to it. Nothing is collected meanwhile: the collector
// reads an owner before it deletes a dependent, and the API answers 503. An object of any kind can be a dependent, so it reads the metadata
// of all objects in the cluster. Old objects can be dependents too, and are read by the take-over version.
func (r *returning) reown(ctx context.Context, all []definition) error {
	if len(r.moved) == 0 {
		return nil
	}
	resources, err := r.collected()
	if err != nil {
		return err
	}
	for _, d := range all {
		resources = append(resources, d.resource(Version))
	}
	// The kinds of Kruise itself come last; a StatefulSet can be owned by a UnitedDeployment, for example.
	for _, resource := range resources {
		if err := r.reownAll(ctx, resource); err != nil {
			return err
		}
	}
	return nil
}

// collected returns the resources that the garbage collector can delete, in one version each, except for those of Kruise.
func (r *returning) collected() ([]schema.GroupVersionResource, error) {
	lists, err := r.Discovery.ServerPreferredResources()
	failed := &discovery.ErrGroupDiscoveryFailed{}
	if err != nil && !errors.As(err, &failed) {
		return nil, fmt.Errorf("find the kinds of the cluster: %w", err)
	}
	// The groups of Kruise are away now. Objects of another API that is away keep the owners that they name.
	for version, reason := range failed.Groups {
		if !slices.Contains(Groups, version.Group) {
			r.say("  %s does not answer (%v): its objects keep the UIDs of their owners", version, reason)
		}
	}
	var resources []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			// The collector ignores events too.
			ignored := slices.Contains(Groups, version.Group) || resource.Name == "events"
			verbs := sets.New(resource.Verbs...)
			if !ignored && verbs.HasAll("list", "patch", "delete") {
				resources = append(resources, version.WithResource(resource.Name))
			}
		}
	}
	return resources, nil
}

// reownAll corrects the owner references of all objects of a resource, page by page. The resourceVersion in the patch makes sure that no
// other change of the references is lost; a conflict ends the step, which can be repeated.
func (r *returning) reownAll(ctx context.Context, resource schema.GroupVersionResource) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := r.Metadata.Resource(resource).List(ctx, options)
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return nil // Its definition was deleted since the discovery.
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", resource.GroupResource(), err)
		}
		for i := range page.Items {
			if err := r.reownOne(ctx, resource, &page.Items[i]); err != nil {
				return err
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

func (r *returning) reownOne(ctx context.Context, resource schema.GroupVersionResource, object *metav1.PartialObjectMetadata) error {
	owners, changed := slices.Clone(object.OwnerReferences), false
	for i := range owners {
		if uid, moved := r.moved[string(owners[i].UID)]; moved {
			owners[i].UID, changed = types.UID(uid), true
		}
	}
	if !changed {
		return nil
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"ownerReferences": owners, "resourceVersion": object.ResourceVersion,
	}})
	if err != nil {
		return err
	}
	client := r.Metadata.Resource(resource).Namespace(object.Namespace)
	_, err = client.Patch(ctx, object.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("give %s %s/%s its new owner: %w", resource.Resource, object.Namespace, object.Name, err)
	}
	return nil
}
