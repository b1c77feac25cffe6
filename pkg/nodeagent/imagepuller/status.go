package imagepuller

import (
	"slices"
	"strings"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// statusOf returns the status for the tags in the spec. A running pull reports its progress; other tags keep the
// report from the NodeImage. Tags that are no longer in the spec are dropped. The order of the tags is stable, so an
// equal status compares equal.
func (c *Controller) statusOf(node *v1beta1.NodeImage) v1beta1.NodeImageStatus {
	// The controller of NodeImages writes FirstSyncStatus, and the agent keeps it.
	status := v1beta1.NodeImageStatus{FirstSyncStatus: node.Status.FirstSyncStatus}
	for image := range node.Spec.Images {
		var reports []v1beta1.ImageTagStatus
		for _, tag := range node.Spec.Images[image].Tags {
			// A finished pull stays in the map until the NodeImage has its report. Then its tag has no task any more.
			if p := c.pulls[imageTag{image, tag.Tag}]; p != nil {
				reports = append(reports, p.report())
			} else if report := reportOf(node, image, tag.Tag); report != nil {
				reports = append(reports, *report.DeepCopy())
			}
		}
		if len(reports) == 0 {
			continue
		}
		slices.SortFunc(reports, func(a, b v1beta1.ImageTagStatus) int { return strings.Compare(a.Tag, b.Tag) })
		if status.ImageStatuses == nil {
			status.ImageStatuses = map[string]v1beta1.ImageStatus{}
		}
		status.ImageStatuses[image] = v1beta1.ImageStatus{Tags: reports}
		count(&status, reports)
	}
	return status
}

// count adds the reports to the totals.
func count(status *v1beta1.NodeImageStatus, reports []v1beta1.ImageTagStatus) {
	for i := range reports {
		status.Desired++
		switch reports[i].Phase {
		case v1beta1.ImagePhaseSucceeded:
			status.Succeeded++
		case v1beta1.ImagePhaseFailed:
			status.Failed++
		case v1beta1.ImagePhaseWaiting:
			status.Waiting++
		case v1beta1.ImagePhasePulling:
			status.Pulling++
		}
	}
}
