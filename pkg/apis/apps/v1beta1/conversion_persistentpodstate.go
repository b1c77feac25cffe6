package v1beta1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1beta1_NodeTopologyTerm_To_apps_NodeTopologyTerm takes the field of v1alpha1 too.
func Convert_v1beta1_NodeTopologyTerm_To_apps_NodeTopologyTerm(
	in *NodeTopologyTerm, out *apps.NodeTopologyTerm, s conversion.Scope,
) error {
	err := autoConvert_v1beta1_NodeTopologyTerm_To_apps_NodeTopologyTerm(in, out, s)
	if len(in.NodeTopologyKeys) > 0 {
		out.Keys = in.NodeTopologyKeys
	}
	return err
}
