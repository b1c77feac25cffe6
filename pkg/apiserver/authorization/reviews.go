package authorization

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// NewReviews returns an authorizer that keeps an API group to kube-apiserver itself, whose reviews
// come through the aggregation layer. Everybody else is refused, administrators too: a rule for all
// resources is no leave to answer for kube-apiserver, and some reviews have effects.
func NewReviews(group string) authorizer.Authorizer { return &reviews{group: group} }

type reviews struct {
	group string
}

// Authorize implements authorizer.Authorizer.
func (r *reviews) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if !attributes.IsResourceRequest() || attributes.GetAPIGroup() != r.group {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if attributes.GetVerb() == "create" && isKubeAPIServer(attributes.GetUser()) {
		return authorizer.DecisionAllow, "kube-apiserver asks for a review", nil
	}
	return authorizer.DecisionDeny, "only kube-apiserver asks for reviews", nil
}

// isKubeAPIServer says whether a caller is kube-apiserver calling itself, passed on by its proxy.
func isKubeAPIServer(caller user.Info) bool {
	proxied, ok := caller.(*proxiedUser)
	return ok && proxied.GetName() == user.APIServerUser && slices.Contains(proxied.GetGroups(), user.SystemPrivilegedGroup)
}
