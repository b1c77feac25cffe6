package fuzzer

import (
	"cmp"

	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

var workloadSpread = []any{
	// v1beta1 shows a reason in every condition.
	func(condition *v1beta1.WorkloadSpreadSubsetCondition, c randfill.Continue) {
		c.FillNoCustom(condition)
		condition.Reason = cmp.Or(condition.Reason, "Unknown")
	},
}
