package v1alpha1

// SetDefaults_ContainerRecreateRequestSpec fills the strategy. It covers the whole spec: ports and hooks
// are copies from the Pod and are not defaulted.
// +k8s:defaulter-gen=covers
func SetDefaults_ContainerRecreateRequestSpec(in *ContainerRecreateRequestSpec) {
	if in.Strategy == nil {
		in.Strategy = &ContainerRecreateRequestStrategy{}
	}
	if in.Strategy.FailurePolicy == "" {
		in.Strategy.FailurePolicy = FailContainerRecreateRequestFailurePolicy
	}
}
