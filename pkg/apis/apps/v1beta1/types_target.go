package v1beta1

// TargetReference names a workload in the namespace of the object that has it.
type TargetReference struct {
	// apiVersion is the group and version of the workload, such as apps/v1.
	APIVersion string `json:"apiVersion" protobuf:"bytes,1,opt,name=apiVersion"`

	// kind is the kind of the workload, such as Deployment.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind"`

	// name is the name of the workload.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name"`
}
