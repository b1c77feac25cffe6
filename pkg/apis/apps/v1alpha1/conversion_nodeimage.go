package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1alpha1_NodeImage_To_apps_NodeImage puts back the modes of the pull secrets, which
// only v1beta1 has.
func Convert_v1alpha1_NodeImage_To_apps_NodeImage(in *NodeImage, out *apps.NodeImage, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_NodeImage_To_apps_NodeImage(in, out, s); err != nil {
		return err
	}
	restoreNodeImage(out)
	return nil
}

// Convert_apps_NodeImage_To_v1alpha1_NodeImage is the inverse.
func Convert_apps_NodeImage_To_v1alpha1_NodeImage(in *apps.NodeImage, out *NodeImage, s conversion.Scope) error {
	if err := autoConvert_apps_NodeImage_To_v1alpha1_NodeImage(in, out, s); err != nil {
		return err
	}
	return keepNodeImage(in, out)
}

// Convert_apps_ReferenceObject_To_v1alpha1_ReferenceObject leaves the mode to keepNodeImage.
func Convert_apps_ReferenceObject_To_v1alpha1_ReferenceObject(in *apps.ReferenceObject, out *ReferenceObject, s conversion.Scope) error {
	return autoConvert_apps_ReferenceObject_To_v1alpha1_ReferenceObject(in, out, s)
}

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptNodeImage is the pull secrets of the images that have one with a mode, with all of
// their modes, by the image's name.
type keptNodeImage struct {
	PullSecrets map[string][]keptPullSecret `json:"pullSecrets"`
}

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptPullSecret is a pull secret and its mode.
type keptPullSecret struct {
	Namespace string             `json:"namespace"`
	Name      string             `json:"name"`
	Mode      apps.ReferenceMode `json:"mode,omitempty"`
}

// keepNodeImage writes the annotation when a pull secret has a mode.
func keepNodeImage(in *apps.NodeImage, out *NodeImage) error {
	kept := keptNodeImage{PullSecrets: map[string][]keptPullSecret{}}
	for name, image := range in.Spec.Images {
		var secrets []keptPullSecret
		hasMode := false
		for _, secret := range image.PullSecrets {
			secrets = append(secrets, keptPullSecret(secret))
			hasMode = hasMode || secret.Mode != ""
		}
		if hasMode {
			kept.PullSecrets[name] = secrets
		}
	}
	if len(kept.PullSecrets) == 0 {
		return nil
	}
	var err error
	out.Annotations, err = withKept(out.Annotations, kept)
	return err
}

// restoreNodeImage gives each pull secret the mode that it had. Secrets may have been added, removed or
// moved since then, so they are matched by namespace and name. Duplicates get the modes in order.
func restoreNodeImage(out *apps.NodeImage) {
	kept, found := keptNodeImage{}, false
	if out.Annotations, found = takeKept(out.Annotations, &kept); !found {
		return
	}
	images := make(map[string]apps.ImageSpec, len(out.Spec.Images))
	for name, image := range out.Spec.Images {
		image.PullSecrets = withModes(image.PullSecrets, kept.PullSecrets[name])
		images[name] = image
	}
	out.Spec.Images = images
}

func withModes(secrets []apps.ReferenceObject, kept []keptPullSecret) []apps.ReferenceObject {
	modes := map[apps.ReferenceObject][]apps.ReferenceMode{}
	for _, secret := range kept {
		key := apps.ReferenceObject{Namespace: secret.Namespace, Name: secret.Name}
		modes[key] = append(modes[key], secret.Mode)
	}
	result := make([]apps.ReferenceObject, 0, len(secrets))
	for _, secret := range secrets {
		key := secret
		if left := modes[key]; len(left) > 0 {
			secret.Mode, modes[key] = left[0], left[1:]
		}
		result = append(result, secret)
	}
	return result
}
