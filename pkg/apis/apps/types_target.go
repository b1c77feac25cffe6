package apps

// TargetReference names a workload in the namespace of the object that has it.
type TargetReference struct {
	APIVersion string
	Kind       string
	Name       string
}
