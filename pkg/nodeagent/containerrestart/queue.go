package containerrestart

import (
	"cmp"
	"slices"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// queue orders the requests of one Pod that are to be worked on: the one that was begun, then the others by age, whether they
// have been told to wait or not.
func queue(requests []*v1beta1.ContainerRecreateRequest) []*v1beta1.ContainerRecreateRequest {
	requests = slices.DeleteFunc(requests, over)
	slices.SortFunc(requests, func(a, b *v1beta1.ContainerRecreateRequest) int {
		return cmp.Or(
			cmp.Compare(turn(a), turn(b)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return requests
}

func turn(r *v1beta1.ContainerRecreateRequest) int {
	if r.Status.Phase == v1beta1.ContainerRecreateRequestRecreating {
		return 0
	}
	return 1
}

// over tells whether nothing is left to do for a request.
func over(request *v1beta1.ContainerRecreateRequest) bool {
	return request.DeletionTimestamp != nil || request.Status.CompletionTime != nil ||
		request.Status.Phase == v1beta1.ContainerRecreateRequestCompleted
}

// waitingFor is what a request says that waits for another one: the one before it in the queue, so that the words stay true
// while the queue moves on.
func waitingFor(before *v1beta1.ContainerRecreateRequest) string { return "waiting for " + before.Name }

// mayWait tells whether a request is not begun.
func mayWait(phase v1beta1.ContainerRecreateRequestPhase) bool {
	return phase == "" || phase == v1beta1.ContainerRecreateRequestPending
}
