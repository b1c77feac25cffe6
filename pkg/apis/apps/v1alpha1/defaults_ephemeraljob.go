package v1alpha1

// SetDefaults_EphemeralJobSpec has nothing to fill. It covers the whole spec so that nothing touches
// the embedded containers, which core has defaults for.
// +k8s:defaulter-gen=covers
func SetDefaults_EphemeralJobSpec(*EphemeralJobSpec) {}
