package deletionprotection

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
)

// kind is what the plugin knows of a protected kind.
type kind struct {
	name          string
	clusterScoped bool
	// contents says what a deletion would take along, as the end of a sentence, or that it cannot know.
	// Nothing means that there is nothing.
	contents func(ctx context.Context, p *Plugin, object runtime.Object) string
}

var kinds = map[schema.GroupResource]kind{
	apps.Resource("clonesets"): {
		name: "CloneSet", contents: replicas(func(set *apps.CloneSet) *int32 { return set.Spec.Replicas }),
	},
	apps.Resource("statefulsets"): {
		name: "StatefulSet", contents: replicas(func(set *apps.StatefulSet) *int32 { return set.Spec.Replicas }),
	},
	apps.Resource("uniteddeployments"): {name: "UnitedDeployment", contents: replicas(replicasOfAllSubsets)},
	{Resource: "namespaces"}:           {name: "Namespace", clusterScoped: true, contents: podsAndClaims},
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: {
		name: "CustomResourceDefinition", clusterScoped: true, contents: customResources,
	},
}

// replicasOfAllSubsets is the number that the user gave, or the sum of the subsets' when each of them
// has one.
func replicasOfAllSubsets(united *apps.UnitedDeployment) *int32 {
	if united.Spec.Replicas != nil {
		return united.Spec.Replicas
	}
	var sum int32
	for i := range united.Spec.Topology.Subsets {
		if of := united.Spec.Topology.Subsets[i].Replicas; of != nil {
			sum += of.IntVal
		}
	}
	return &sum
}

// replicas counts what a workload is to have, not the Pods that it still has: scaled to zero it may go
// at once.
func replicas[T any](of func(*T) *int32) func(context.Context, *Plugin, runtime.Object) string {
	return func(_ context.Context, _ *Plugin, object runtime.Object) string {
		workload, ok := any(object).(*T)
		if !ok {
			return fmt.Sprintf(", its replicas cannot be read from a %T", object)
		}
		if count := ptr.Deref(of(workload), 0); count > 0 {
			return fmt.Sprintf(" and replicas %d>0", count)
		}
		return ""
	}
}
