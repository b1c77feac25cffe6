package pub

// Labels, annotations and the finalizer of ContainerRecreateRequests.
const (
	// ContainerRecreateRequestPodUIDKey labels a request with the UID of its Pod.
	ContainerRecreateRequestPodUIDKey = "crr.apps.kruise.io/pod-uid"
	// ContainerRecreateRequestNodeNameKey labels a request with the node of its Pod. Agents
	// select their requests by it.
	ContainerRecreateRequestNodeNameKey = "crr.apps.kruise.io/node-name"
	// ContainerRecreateRequestActiveKey, with value "true", labels a request that has not ended.
	ContainerRecreateRequestActiveKey = "crr.apps.kruise.io/active"
	// ContainerRecreateRequestSyncContainerStatusesKey is the v1alpha1 annotation for
	// status.containerStatusSnapshot of v1beta1, as a JSON list.
	ContainerRecreateRequestSyncContainerStatusesKey = "crr.apps.kruise.io/sync-container-statuses"
	// ContainerRecreateRequestUnreadyAcquiredKey is the v1alpha1 annotation for the time of
	// the v1beta1 condition PreRecreateGrace, as RFC 3339. It is also the finalizer of a
	// request that holds its Pod out of service.
	ContainerRecreateRequestUnreadyAcquiredKey = "crr.apps.kruise.io/unready-acquired"
	// NodeTypeKey labels nodes and the requests on them with their type.
	NodeTypeKey = "type"
	// NodeTypeVirtualKubelet is a value of NodeTypeKey. It means that no agent runs on the
	// node.
	NodeTypeVirtualKubelet = "virtual-kubelet"
)
