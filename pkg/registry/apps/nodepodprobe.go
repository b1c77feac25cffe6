package apps

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/registry/rest"
)

// nodePodProbe is served in one version only, as in OpenKruise.
func nodePodProbe() rest.AnyKind {
	type probes = apps.NodePodProbe
	return &rest.Kind[*probes]{
		Plural: "nodepodprobes", Singular: "nodepodprobe", ClusterScoped: true, ForNodes: true, Controlled: true,
		Stored: v1alpha1.SchemeGroupVersion, Served: []schema.GroupVersion{v1alpha1.SchemeGroupVersion},
		New: func() *probes { return &probes{} }, NewList: func() runtime.Object { return &apps.NodePodProbeList{} },
		Spec: func(c *probes) any { return &c.Spec }, Status: func(c *probes) any { return &c.Status },
		Validate: validation.ValidateNodePodProbe, ValidateUpdate: validation.ValidateNodePodProbeUpdate,
		ValidateStatus: validation.ValidateNodePodProbeUpdate,
		Columns:        []rest.Column[*probes]{rest.Age[*probes]()},
	}
}
