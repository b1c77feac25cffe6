package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1alpha1_NodeTopologyTerm_To_apps_NodeTopologyTerm renames the field.
func Convert_v1alpha1_NodeTopologyTerm_To_apps_NodeTopologyTerm(
	in *NodeTopologyTerm, out *apps.NodeTopologyTerm, _ conversion.Scope,
) error {
	out.Keys = in.NodeTopologyKeys
	return nil
}

// Convert_apps_NodeTopologyTerm_To_v1alpha1_NodeTopologyTerm is the inverse.
func Convert_apps_NodeTopologyTerm_To_v1alpha1_NodeTopologyTerm(
	in *apps.NodeTopologyTerm, out *NodeTopologyTerm, _ conversion.Scope,
) error {
	out.NodeTopologyKeys = in.Keys
	return nil
}
