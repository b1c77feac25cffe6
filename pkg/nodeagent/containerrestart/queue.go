package containerrestart

import (
	"cmp"
	"slices"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// queue returns the unfinished requests of one Pod in the order in which they run. The request that has started comes
// first, then the others by creation time and name. The order depends on stored fields only, so an agent that
// restarts continues with the same request.
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

// turn sorts a started request before the others.
func turn(r *v1beta1.ContainerRecreateRequest) int {
	if r.Status.Phase == v1beta1.ContainerRecreateRequestRecreating {
		return 0
	}
	return 1
}

// over returns true if a request needs no more work: it is deleted, or somebody has ended it.
func over(request *v1beta1.ContainerRecreateRequest) bool {
	return request.DeletionTimestamp != nil || request.Status.CompletionTime != nil ||
		request.Status.Phase == v1beta1.ContainerRecreateRequestCompleted
}

// waitingFor returns the message of a waiting request. It names the previous request in the queue, so that the
// message stays correct while earlier requests complete.
func waitingFor(before *v1beta1.ContainerRecreateRequest) string { return "waiting for " + before.Name }

// stillStopping is the message of a request that has no other request before it, but must not begin yet.
const stillStopping = "waiting for a container that still stops for a request that has ended"

// mayWait returns true if a request with this phase has not started.
func mayWait(phase v1beta1.ContainerRecreateRequestPhase) bool {
	return phase == "" || phase == v1beta1.ContainerRecreateRequestPending
}
