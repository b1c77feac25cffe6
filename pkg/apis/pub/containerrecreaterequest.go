package pub

// Labels, annotations and the finalizer of ContainerRecreateRequests.
const (
	// ContainerRecreateRequestPodUIDKey labels a request with the UID of its Pod.
	ContainerRecreateRequestPodUIDKey = "crr.apps.kruise.io/pod-uid"
	// ContainerRecreateRequestNodeNameKey labels a request with the node of its Pod: agents
	// select theirs by it.
	ContainerRecreateRequestNodeNameKey = "crr.apps.kruise.io/node-name"
	// ContainerRecreateRequestActiveKey, with value "true", labels a request that has not ended.
	ContainerRecreateRequestActiveKey = "crr.apps.kruise.io/active"
	// ContainerRecreateRequestSyncContainerStatusesKey is, in v1alpha1, the annotation for what
	// is status.containerStatusSnapshot in v1beta1, as a JSON list.
	ContainerRecreateRequestSyncContainerStatusesKey = "crr.apps.kruise.io/sync-container-statuses"
	// ContainerRecreateRequestUnreadyAcquiredKey is, in v1alpha1, the annotation for the time of
	// v1beta1's condition PreRecreateGrace, as RFC 3339. It is also the finalizer of a request
	// that holds its Pod out of service.
	ContainerRecreateRequestUnreadyAcquiredKey = "crr.apps.kruise.io/unready-acquired"
	// NodeTypeKey labels nodes and the requests on them with their type.
	NodeTypeKey = "type"
	// NodeTypeVirtualKubelet, as value of NodeTypeKey, says that no agent runs on the node.
	NodeTypeVirtualKubelet = "virtual-kubelet"
)
