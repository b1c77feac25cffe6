package deletionprotection

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/workload/kinds"
)

// kind is what the plugin knows of a protected kind.
type kind struct {
	name          string
	clusterScoped bool
	// contents says what a deletion would take along, as the end of a sentence, or that it cannot know.
	// Nothing means that there is nothing.
	contents func(ctx context.Context, p *Plugin, object runtime.Object) string
}

// protected returns what is known of a resource whose objects may be protected. Workload kinds are in the table of package kinds.
func protected(resource schema.GroupResource) (kind, bool) {
	if workload := kinds.OfResource(resource); workload != nil && workload.Protected {
		return kind{name: workload.Kind, contents: replicas(workload)}, true
	}
	found, known := others[resource]
	return found, known
}

var others = map[schema.GroupResource]kind{
	{Resource: "namespaces"}: {name: "Namespace", clusterScoped: true, contents: podsAndClaims},
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: {
		name: "CustomResourceDefinition", clusterScoped: true, contents: customResources,
	},
}

// replicas counts what a workload is to have, not the Pods that it still has: scaled to zero it may go
// at once.
func replicas(workload *kinds.Kind) func(context.Context, *Plugin, runtime.Object) string {
	return func(_ context.Context, _ *Plugin, object runtime.Object) string {
		count := workload.Replicas(object)
		if count == nil {
			return fmt.Sprintf(", its replicas cannot be read from a %T", object)
		}
		if *count > 0 {
			return fmt.Sprintf(" and replicas %d>0", *count)
		}
		return ""
	}
}
