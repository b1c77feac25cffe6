package authorization

import (
	"context"
	"net/http"
	"reflect"

	"k8s.io/apimachinery/pkg/util/sets"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/utils/clock"
)

// proxiedUser marks a user that the front proxy authenticated. Only this package creates the type. Code that replaces
// the user of a request, such as impersonation, removes the mark.
type proxiedUser struct {
	user.Info
}

// MarkProxied authenticates requests of the front proxy and marks their users. It passes all other requests to next,
// also those whose front proxy certificate is not valid: next decides what an invalid certificate means. Proxied
// users are in the group system:authenticated, as in the generic server.
func MarkProxied(config *authenticatorfactory.RequestHeaderConfig, next authenticator.Request) authenticator.Request {
	proxied := group.NewAuthenticatedGroupAdder(newFrontProxy(config, clock.RealClock{}))
	return mark(proxied, next)
}

// mark is MarkProxied with any authenticator for the front proxy, for tests.
func mark(proxied, next authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		response, ok, err := proxied.AuthenticateRequest(req)
		if err != nil || !ok {
			return next.AuthenticateRequest(req)
		}
		response.User = &proxiedUser{Info: response.User}
		return response, true, nil
	})
}

// NewProxied returns an authorizer that allows the requests for the given API groups that kube-apiserver proxied, because it has
// authorized them a moment ago. It has no opinion about other requests, and none about checks that are made while a request is
// served, for example whether the user may create the object that a patch would create.
func NewProxied(groups sets.Set[string]) authorizer.Authorizer { return &proxied{groups: groups} }

type proxied struct {
	groups sets.Set[string]
}

// Authorize implements authorizer.Authorizer. It allows a request only if the attributes are exactly those of the
// request that is being served.
func (p *proxied) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	_, marked := attributes.GetUser().(*proxiedUser)
	if !marked || !attributes.IsResourceRequest() || !p.groups.Has(attributes.GetAPIGroup()) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	// Both servers read these attributes from the same method, path and query.
	request, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil || !reflect.DeepEqual(request, attributes) {
		return authorizer.DecisionNoOpinion, "", nil //nolint:nilerr // The next authorizer decides.
	}
	return authorizer.DecisionAllow, "kube-apiserver has authorized the request", nil
}
