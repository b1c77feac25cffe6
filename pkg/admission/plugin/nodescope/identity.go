package nodescope

import (
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// NodeLabel is the label of a ContainerRecreateRequest that holds the name of its Pod's node.
const NodeLabel = "crr.apps.kruise.io/node-name"

// NoNode says what is wrong with a token that no node is known for.
const NoNode = "the node agent's token names no node; use the token that is mounted in the agent's Pod, " +
	"which Kubernetes 1.30 and later bind to the Pod's node"

// NodeOf is the node that a service account's token is bound to, or empty.
func NodeOf(caller user.Info) string {
	if names := caller.GetExtra()[serviceaccount.NodeNameKey]; len(names) == 1 {
		return names[0]
	}
	return ""
}
