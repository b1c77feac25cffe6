package guard

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/metadata"
)

// pageSize bounds what is read of dependents at once.
const pageSize = 500

// dependentKinds are what would be deleted. There are fewer revisions than Pods, so they come first.
var dependentKinds = []struct {
	resource schema.GroupVersionResource
	kind     string
}{
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}, "ControllerRevision"},
	{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod"},
}

// findDependent names an object of the cluster whose owner is of these groups, or returns an empty name. It reads metadata alone,
// page by page.
func findDependent(ctx context.Context, client metadata.Interface, groups sets.Set[string]) (string, error) {
	for _, dependent := range dependentKinds {
		options := metav1.ListOptions{Limit: pageSize}
		for {
			page, err := client.Resource(dependent.resource).List(ctx, options)
			if err != nil {
				return "", fmt.Errorf("list %s: %w", dependent.resource.Resource, err)
			}
			for i := range page.Items {
				if ownedBy(&page.Items[i], groups) {
					return dependent.kind + " " + page.Items[i].Namespace + "/" + page.Items[i].Name, nil
				}
			}
			if page.Continue == "" {
				break
			}
			options.Continue = page.Continue
		}
	}
	return "", nil
}

// ownedBy leaves out what is being deleted anyway.
func ownedBy(object metav1.Object, groups sets.Set[string]) bool {
	if object.GetDeletionTimestamp() != nil {
		return false
	}
	for _, owner := range object.GetOwnerReferences() {
		if groups.Has(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group) {
			return true
		}
	}
	return false
}
