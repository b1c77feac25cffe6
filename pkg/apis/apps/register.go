package apps

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the name of the API group.
const GroupName = "apps.kruise.io"

// SchemeGroupVersion is the group with its internal version.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: runtime.APIVersionInternal}

var (
	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds the hub types to a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

// Kind qualifies a kind with the group.
func Kind(kind string) schema.GroupKind {
	return SchemeGroupVersion.WithKind(kind).GroupKind()
}

// Resource qualifies a resource with the group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&AdvancedCronJob{},
		&AdvancedCronJobList{},
		&BroadcastJob{},
		&BroadcastJobList{},
		&CloneSet{},
		&CloneSetList{},
		&ContainerRecreateRequest{},
		&ContainerRecreateRequestList{},
		&DaemonSet{},
		&DaemonSetList{},
		&EphemeralJob{},
		&EphemeralJobList{},
		&ImageListPullJob{},
		&ImageListPullJobList{},
		&ImagePullJob{},
		&ImagePullJobList{},
		&NodeImage{},
		&NodeImageList{},
		&NodePodProbe{},
		&NodePodProbeList{},
		&PersistentPodState{},
		&PersistentPodStateList{},
		&PodProbeMarker{},
		&PodProbeMarkerList{},
		&ResourceDistribution{},
		&ResourceDistributionList{},
		&SidecarSet{},
		&SidecarSetList{},
		&StatefulSet{},
		&StatefulSetList{},
		&UnitedDeployment{},
		&UnitedDeploymentList{},
		&WorkloadSpread{},
		&WorkloadSpreadList{},
	)
	return nil
}
