package nodescope

import (
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"kruise.io/kruise/pkg/apis/pub"
)

// NodeLabel is the label of a ContainerRecreateRequest that holds the node name of its Pod. The plugin
// ContainerRecreateRequest sets it at creation from the Pod, and it is immutable.
const NodeLabel = pub.ContainerRecreateRequestNodeNameKey

// NoNode is the message for a token that is not bound to a node.
const NoNode = "the node agent's token does not name a node; use the token mounted in the agent's Pod, which Kubernetes 1.30 and later " +
	"bind to its node"

// NodeOf returns the node that a service account token is bound to, or an empty string. kube-apiserver passes the
// node as an extra value of the user. Several values would be ambiguous, so they count as none.
func NodeOf(caller user.Info) string {
	if names := caller.GetExtra()[serviceaccount.NodeNameKey]; len(names) == 1 {
		return names[0]
	}
	return ""
}
