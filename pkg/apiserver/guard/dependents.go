package guard

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/metadata"
)

// pageSize is how many objects one list request reads. Only metadata is read, so a page is small.
const pageSize = 500

// dependentKinds lists the kinds that the garbage collector would delete. ControllerRevisions come first, because
// there are fewer of them than Pods.
var dependentKinds = []struct {
	resource schema.GroupVersionResource
	kind     string
}{
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}, "ControllerRevision"},
	{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod"},
}

// findDependent returns the name of an object whose owner is in one of the groups, or an empty string. It reads only
// metadata, page by page, and stops at the first one. In a cluster without Kruise objects it reads all pages of both
// kinds, which happens once, at the first start.
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

// ownedBy returns true if an owner is in one of the groups. It ignores terminating objects, because they do not show
// that their owner should exist.
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
