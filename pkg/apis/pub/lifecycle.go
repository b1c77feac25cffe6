package pub

// LifecycleStateType is the state of a Pod in the lifecycle of the workload that
// owns it. It is the value of the Pod label LifecycleStateKey.
type LifecycleStateType string

// The states of a Pod. A Pod without a state counts as one in state Normal.
const (
	// LifecycleStatePreparingNormal is a new Pod that waits for the preNormal hook.
	LifecycleStatePreparingNormal LifecycleStateType = "PreparingNormal"
	// LifecycleStateNormal is a Pod that counts as available once it is ready.
	LifecycleStateNormal LifecycleStateType = "Normal"
	// LifecycleStatePreparingUpdate is a Pod chosen for an in-place update that a hook still holds.
	LifecycleStatePreparingUpdate LifecycleStateType = "PreparingUpdate"
	// LifecycleStateUpdating is a Pod whose containers are being updated in place.
	LifecycleStateUpdating LifecycleStateType = "Updating"
	// LifecycleStateUpdated is a Pod updated in place that waits for its hook to be complete.
	LifecycleStateUpdated LifecycleStateType = "Updated"
	// LifecycleStatePreparingDelete is a Pod chosen for deletion that a hook still holds.
	LifecycleStatePreparingDelete LifecycleStateType = "PreparingDelete"
)

// Lifecycle contains hooks. At a hook, a workload waits for the user before it deletes a Pod, updates it in place, or
// counts it as available.
type Lifecycle struct {
	// preDelete holds a Pod before the workload deletes it. The Pod stays in state
	// PreparingDelete while it has any label or finalizer of the hook. If you delete the Pod
	// yourself, the hook does not apply.
	// +optional
	PreDelete *LifecycleHook `json:"preDelete,omitempty" protobuf:"bytes,1,opt,name=preDelete"`

	// inPlaceUpdate holds a Pod before and after an in-place update. Before the update, the
	// Pod stays in state PreparingUpdate while it has any label or finalizer of the hook.
	// After the update, it stays in state Updated until it has all of them again.
	// +optional
	InPlaceUpdate *LifecycleHook `json:"inPlaceUpdate,omitempty" protobuf:"bytes,2,opt,name=inPlaceUpdate"`

	// preNormal holds a new Pod before it counts as available. The Pod stays in state
	// PreparingNormal until it has all labels and finalizers of the hook.
	// +optional
	PreNormal *LifecycleHook `json:"preNormal,omitempty" protobuf:"bytes,3,opt,name=preNormal"`
}

// LifecycleHook lists the labels and finalizers with which the user holds or releases a Pod. A hook without labels and
// finalizers holds no Pods.
type LifecycleHook struct {
	// labelsHandler are labels of the Pod. A label matches if its key and value are equal.
	// +optional
	LabelsHandler map[string]string `json:"labelsHandler,omitempty" protobuf:"bytes,1,rep,name=labelsHandler"`

	// finalizersHandler are finalizers of the Pod.
	// +optional
	// +listType=atomic
	FinalizersHandler []string `json:"finalizersHandler,omitempty" protobuf:"bytes,2,rep,name=finalizersHandler"`

	// markPodNotReady makes the Pod not ready while the hook holds it, so that it receives
	// no traffic. It requires the readiness gate KruisePodReady on the Pod. It applies to
	// preDelete and inPlaceUpdate.
	// Defaults to false.
	// +optional
	MarkPodNotReady bool `json:"markPodNotReady,omitempty" protobuf:"varint,3,opt,name=markPodNotReady"`
}
