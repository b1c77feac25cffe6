package authorization

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kruise.io/kruise/pkg/admission/plugin/nodescope"
)

// scope says how requests of a node agent for a resource are limited to its node.
type scope int

const (
	// byName allows only the object with the name of the node.
	byName scope = iota
	// byLabel allows only objects with the node name as label. The authorizer does not know the labels of an object
	// that is written, so the admission plugin nodescope checks writes.
	byLabel
)

// nodeActions lists everything that node agents may do: the scope of each verb on each resource. What is not in the
// table is denied. The agents' role in the chart must grant these actions too, because this authorizer never allows
// anything.
var nodeActions = map[string]map[string]scope{
	"nodeimages":                       {"get": byName, "list": byName, "watch": byName},
	"nodeimages/status":                {"update": byName, "patch": byName},
	pullSecrets:                        {"get": byName},
	"nodepodprobes":                    {"get": byName, "list": byName, "watch": byName},
	"nodepodprobes/status":             {"update": byName, "patch": byName},
	"containerrecreaterequests":        {"list": byLabel, "watch": byLabel},
	"containerrecreaterequests/status": {"update": byLabel, "patch": byLabel},
}

// pullSecrets is the path that returns Secrets. No rule of an administrator opens it to others than node agents: a role
// that names all resources of the group was not meant to read Secrets.
const pullSecrets = "nodeimages/pullsecrets"

// NewNodes returns an authorizer that denies the node agents' account everything that is not in nodeActions, within
// the given API groups. It denies pullSecrets to everybody else. It never allows a request; another authorizer must do that.
func NewNodes(groups sets.Set[string], account string) authorizer.Authorizer {
	return &nodes{groups: groups, account: account}
}

// nodes has the API groups to which its rules apply, and the user name of the node agents' service account.
type nodes struct {
	groups  sets.Set[string]
	account string
}

// Authorize implements authorizer.Authorizer. Requests for other groups and for URLs that are no resources, such as
// discovery, are not limited.
func (n *nodes) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if !attributes.IsResourceRequest() || !n.groups.Has(attributes.GetAPIGroup()) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	caller := attributes.GetUser()
	if n.account == "" || caller.GetName() != n.account {
		if path(attributes) == pullSecrets {
			return authorizer.DecisionDeny, "only the agent of a node reads " + pullSecrets + "; read the Secrets themselves", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	}
	if reason := refusal(attributes, nodescope.NodeOf(caller)); reason != "" {
		return authorizer.DecisionDeny, reason, nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// refusal returns why a node agent may not do something, or an empty string if it may. It depends on the attributes
// only, so it costs no request. The messages name the selector that the agent must send.
func refusal(attributes authorizer.Attributes, node string) string {
	if node == "" {
		return nodescope.NoNode
	}
	resource := path(attributes)
	bound, known := nodeActions[resource][attributes.GetVerb()]
	switch {
	case !known:
		return fmt.Sprintf("a node agent cannot %s %s", attributes.GetVerb(), resource)
	case bound == byName && !hasName(attributes, node):
		return fmt.Sprintf("the agent of node %s can %s only %s with that name; use the name, or the field selector metadata.name=%s",
			node, attributes.GetVerb(), resource, node)
	// A write of a single ContainerRecreateRequest passes here, see byLabel.
	case bound == byLabel && isCollection(attributes) && !hasLabel(attributes, node):
		return fmt.Sprintf("the agent of node %s can %s only %s of that node; use the selector %s=%s",
			node, attributes.GetVerb(), resource, nodescope.NodeLabel, node)
	}
	return ""
}

// path returns the resource and subresource of a request.
func path(attributes authorizer.Attributes) string {
	if attributes.GetSubresource() == "" {
		return attributes.GetResource()
	}
	return attributes.GetResource() + "/" + attributes.GetSubresource()
}

// isCollection returns true for the verbs that can return several objects.
func isCollection(attributes authorizer.Attributes) bool {
	return slices.Contains([]string{"list", "watch"}, attributes.GetVerb())
}

// hasName returns true if a request is limited to the object with the name of the node. For a list or watch, the name
// is in the field selector.
func hasName(attributes authorizer.Attributes, node string) bool {
	if !isCollection(attributes) {
		return attributes.GetName() == node
	}
	requirements, err := attributes.GetFieldSelector()
	return err == nil && slices.ContainsFunc(requirements, func(r fields.Requirement) bool {
		return r.Field == "metadata.name" && (r.Operator == selection.Equals || r.Operator == selection.DoubleEquals) && r.Value == node
	})
}

// hasLabel returns true if the label selector limits a request to the objects of the node. A selector that allows
// more values is refused, even if the node is one of them.
func hasLabel(attributes authorizer.Attributes, node string) bool {
	requirements, err := attributes.GetLabelSelector()
	return err == nil && slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		one := r.Operator() == selection.In || r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals
		return one && r.Key() == nodescope.NodeLabel && r.Values().Len() == 1 && r.Values().Has(node)
	})
}
