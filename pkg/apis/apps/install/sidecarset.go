package install

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/podtemplate"
)

// DefaultSidecarSet fills the containers and volumes of a SidecarSet written by a user, synchronizes the custom
// version with its label, and writes the hashes that Pods are compared by. old is the stored object, nil on
// create. Unchanged parts of an update keep their stored values.
func DefaultSidecarSet(set, old *apps.SidecarSet) {
	parts := sidecarParts(&set.Spec)
	if old == nil {
		podtemplate.DefaultParts(parts, nil, defaultProcMount)
		old = &apps.SidecarSet{}
	} else {
		podtemplate.DefaultParts(parts, sidecarParts(&old.Spec), defaultProcMount)
	}
	annotation.Sync(apps.SidecarSetSettings(), set, old)
	for i := range parts.InitContainers {
		set.Spec.InitContainers[i].Container = parts.InitContainers[i]
	}
	for i := range parts.Containers {
		set.Spec.Containers[i].Container = parts.Containers[i]
	}
	hashSidecarSet(set)
}

// KeepSidecarSet keeps the stored form of a selector for the name of a namespace. v1beta1 shows a namespace of v1alpha1 and such a
// selector alike, so an update in v1beta1 without the annotation of the kept fields would change the spec.
func KeepSidecarSet(version string, set, old *apps.SidecarSet) {
	name := apps.SelectedNamespace(old.Spec.NamespaceSelector)
	if version != "v1beta1" || name == "" || old.Spec.Namespace != "" {
		return
	}
	if set.Spec.Namespace == name && set.Spec.NamespaceSelector == nil {
		set.Spec.Namespace, set.Spec.NamespaceSelector = "", old.Spec.NamespaceSelector.DeepCopy()
	}
}

// defaultProcMount sets a default that core once had. The hashes of OpenKruise contain it, so without it, a SidecarSet that is
// written again would get another hash, and its Pods would look outdated.
func defaultProcMount(parts *podtemplate.Parts) {
	for _, containers := range [][]corev1.Container{parts.InitContainers, parts.Containers} {
		for i := range containers {
			if security := containers[i].SecurityContext; security != nil && security.ProcMount == nil {
				security.ProcMount = new(corev1.DefaultProcMount)
			}
		}
	}
}

func sidecarParts(spec *apps.SidecarSetSpec) *podtemplate.Parts {
	return &podtemplate.Parts{
		InitContainers: apps.CoreContainers(spec.InitContainers), Containers: apps.CoreContainers(spec.Containers), Volumes: spec.Volumes,
	}
}

// hashSidecarSet does not change the annotations if the containers cannot be hashed: validation reports
// the problem.
func hashSidecarSet(set *apps.SidecarSet) {
	versioned := &v1beta1.SidecarSetSpec{}
	if err := v1beta1.Convert_apps_SidecarSetSpec_To_v1beta1_SidecarSetSpec(&set.Spec, versioned, nil); err != nil {
		return
	}
	full, withoutImage, err := versioned.Hashes()
	if err != nil {
		return
	}
	annotations := maps.Clone(set.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[pub.SidecarSetHashKey], annotations[pub.SidecarSetHashWithoutImageKey] = full, withoutImage
	set.Annotations = annotations
}
