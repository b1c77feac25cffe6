package apps

import (
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/registry/rest"
)

// NewSpreads returns the writer of the status of WorkloadSpreads for admission. Its store is not open yet.
func NewSpreads() *rest.Statuses[apps.WorkloadSpread, v1beta1.WorkloadSpread] {
	return rest.NewStatuses(v1beta1.SchemeGroupVersion.WithResource("workloadspreads"),
		v1beta1.Convert_apps_WorkloadSpread_To_v1beta1_WorkloadSpread,
		func(from *v1beta1.WorkloadSpread, to *apps.WorkloadSpread) error {
			return v1beta1.Convert_v1beta1_WorkloadSpreadStatus_To_apps_WorkloadSpreadStatus(&from.Status, &to.Status, nil)
		})
}
