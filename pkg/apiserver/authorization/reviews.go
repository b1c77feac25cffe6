package authorization

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// NewReviews returns an authorizer that reserves an API group for kube-apiserver, which sends reviews through the
// aggregation layer. It denies all other users, even administrators: a rule for all resources does not permit a user
// to act as kube-apiserver, and some reviews have side effects.
func NewReviews(group string) authorizer.Authorizer { return &reviews{group: group} }

type reviews struct {
	group string
}

// Authorize implements authorizer.Authorizer. It decides finally for its group, so it must run before authorizers
// that allow by roles.
func (r *reviews) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if !attributes.IsResourceRequest() || attributes.GetAPIGroup() != r.group {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if attributes.GetVerb() == "create" && isKubeAPIServer(attributes.GetUser()) {
		return authorizer.DecisionAllow, "kube-apiserver asks for a review", nil
	}
	return authorizer.DecisionDeny, "only kube-apiserver can ask for reviews", nil
}

// isKubeAPIServer returns true if the caller is kube-apiserver itself, through its own proxy. The name alone is not
// enough: a user who may impersonate users could take it. The mark is lost by impersonation, and the group needs a
// second permission.
func isKubeAPIServer(caller user.Info) bool {
	proxied, ok := caller.(*proxiedUser)
	return ok && proxied.GetName() == user.APIServerUser && slices.Contains(proxied.GetGroups(), user.SystemPrivilegedGroup)
}
