package authorization

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Account is a Kruise service account and the rules that the chart grants to it.
type Account struct {
	// User is the user name of the account: system:serviceaccount:<namespace>:<name>.
	User  string
	Rules []rbacv1.PolicyRule
}

// New returns an authorizer that allows the accounts what their rules grant in the given API groups, if
// kube-apiserver proxied the request. It has no opinion about other requests.
func New(groups sets.Set[string], accounts ...Account) authorizer.Authorizer {
	a := &ownAccounts{grants: map[string]map[action][]sets.Set[string]{}}
	for _, account := range accounts {
		a.grants[account.User] = grantsOf(groups, account.Rules)
	}
	return a
}

// action is a verb and a resource. A subresource is written as in "clonesets/status".
type action struct {
	verb, group, resource string
}

type ownAccounts struct {
	// grants holds, by user and action, the object names that each rule allows. An empty set allows every name.
	grants map[string]map[action][]sets.Set[string]
}

// Authorize implements authorizer.Authorizer.
func (a *ownAccounts) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	proxied, ok := attributes.GetUser().(*proxiedUser)
	if !ok || !attributes.IsResourceRequest() {
		return authorizer.DecisionNoOpinion, "", nil
	}
	wanted := action{verb: attributes.GetVerb(), group: attributes.GetAPIGroup(), resource: path(attributes)}
	for _, names := range a.grants[proxied.GetName()][wanted] {
		if names.Len() == 0 || names.Has(attributes.GetName()) {
			return authorizer.DecisionAllow, "rule of our own service account", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// grantsOf indexes the rules by action. It ignores rules of other API groups. Wildcards have no special meaning, so a
// rule with a wildcard allows nothing here.
func grantsOf(groups sets.Set[string], rules []rbacv1.PolicyRule) map[action][]sets.Set[string] {
	grants := map[action][]sets.Set[string]{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			if !groups.Has(group) {
				continue
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					key := action{verb: verb, group: group, resource: resource}
					grants[key] = append(grants[key], sets.New(rule.ResourceNames...))
				}
			}
		}
	}
	return grants
}
