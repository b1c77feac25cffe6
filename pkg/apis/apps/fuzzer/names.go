package fuzzer

import (
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// namesOfV1alpha1 leaves out the fields that v1beta1 has only to be written with the names of v1alpha1: it
// returns their values in other fields.
var namesOfV1alpha1 = []any{
	func(subset *v1beta1.WorkloadSpreadSubset, c randfill.Continue) {
		c.FillNoCustom(subset)
		subset.RequiredNodeSelectorTerm, subset.PreferredNodeSelectorTerms = nil, nil
	},
	func(targets *v1beta1.ResourceDistributionTargets, c randfill.Continue) {
		c.FillNoCustom(targets)
		targets.NamespaceLabelSelector = nil
	},
	func(term *v1beta1.NodeTopologyTerm, c randfill.Continue) {
		c.FillNoCustom(term)
		term.NodeTopologyKeys = nil
	},
	func(spec *v1beta1.SidecarSetSpec, c randfill.Continue) {
		c.FillNoCustom(spec)
		spec.Namespace = ""
	},
}
