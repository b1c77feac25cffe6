package nodescope

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission"
)

// PluginName is the plugin's name in flags.
const PluginName = "NodeScope"

// Register adds the plugin. account is called after the flags are parsed and returns the user name of the node agents.
func Register(plugins *admission.Plugins, account func() string) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(account()), nil })
}

// Plugin checks the writes of node agents.
type Plugin struct {
	*admission.Handler
	// account is the user name of the node agents' service account. If it is empty, the plugin checks nothing.
	account string
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin. account is the user name of the node agents' service account, or empty if it does not exist.
func New(account string) *Plugin {
	all := admission.NewHandler(admission.Create, admission.Update, admission.Delete, admission.Connect)
	return &Plugin{Handler: all, account: account}
}

// Validate refuses a write of a node agent that does not concern its own node. All agents share one service account,
// so their tokens differ only in the node to which Kubernetes binds them. Other users pass.
func (p *Plugin) Validate(_ context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	caller := attributes.GetUserInfo()
	if p.account == "" || caller.GetName() != p.account {
		return nil
	}
	node := NodeOf(caller)
	// A token without a node could write for any node, so it is refused.
	if node == "" {
		return admission.NewForbidden(attributes, errors.New(NoNode))
	}
	// The authorizer refuses the other writes already. This check keeps the limit if a role of the cluster grants
	// more.
	if attributes.GetOperation() != admission.Update || attributes.GetSubresource() != "status" {
		return admission.NewForbidden(attributes, errors.New("a node agent can update only the status subresource"))
	}
	// The node comes from the stored object and not from the new one: an agent could set the label in its own
	// request.
	owner, err := nodeOfObject(attributes)
	if err != nil {
		return admission.NewForbidden(attributes, err)
	}
	if owner != node {
		return admission.NewForbidden(attributes, fmt.Errorf("the object belongs to node %q, but the agent's token belongs to node "+
			"%q", owner, node))
	}
	return nil
}

// nodeOfObject returns the node whose agent writes the status of the stored object. NodeImages and NodePodProbes have
// the name of their node.
func nodeOfObject(attributes admission.Attributes) (string, error) {
	switch attributes.GetResource().Resource {
	case "nodeimages", "nodepodprobes":
		return attributes.GetName(), nil
	case "containerrecreaterequests":
		stored, err := meta.Accessor(attributes.GetOldObject())
		if err != nil {
			return "", fmt.Errorf("read labels: %w", err)
		}
		return stored.GetLabels()[NodeLabel], nil
	default:
		return "", errors.New("a node agent cannot update the status of this kind")
	}
}
