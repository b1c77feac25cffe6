package deletionprotection

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/workload/kinds"
)

// kind describes a protected kind.
type kind struct {
	// name is the kind in metrics, messages and the protection log.
	name string
	// clusterScoped is true if objects of the kind are in no namespace. So they are never deleted together with one.
	clusterScoped bool
	// contents returns what a deletion would also delete, or why that is unknown, as the end of a sentence. It
	// returns an empty string if there is nothing.
	contents func(ctx context.Context, p *Plugin, object runtime.Object) string
}

// protected returns the description of a resource that supports protection. Workload kinds come from the table in
// package kinds. It marks only kinds of this server, because the policy of the chart decides about workloads of
// kube-apiserver.
func protected(resource schema.GroupResource) (kind, bool) {
	if workload := kinds.OfResource(resource); workload != nil && workload.Protected {
		return kind{name: workload.Kind, contents: replicas(workload)}, true
	}
	found, known := others[resource]
	return found, known
}

// others lists the kinds that are no workloads. kube-apiserver asks about them by review.
var others = map[schema.GroupResource]kind{
	{Resource: "namespaces"}: {name: "Namespace", clusterScoped: true, contents: podsAndClaims},
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: {
		name: "CustomResourceDefinition", clusterScoped: true, contents: customResources,
	},
}

// replicas counts the desired replicas of a workload and not its Pods. So a workload that is scaled to zero can be
// deleted at once, while its Pods still terminate. An object whose replicas cannot be read is refused.
func replicas(workload *kinds.Kind) func(context.Context, *Plugin, runtime.Object) string {
	return func(_ context.Context, _ *Plugin, object runtime.Object) string {
		count := workload.Replicas(object)
		if count == nil {
			return fmt.Sprintf(", cannot read replicas of a %T", object)
		}
		if *count > 0 {
			return fmt.Sprintf(" and replicas %d>0", *count)
		}
		return ""
	}
}
