package authorization

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
)

// proxiedUser marks a user that the front proxy authenticated. Only this package creates the type. Code that replaces
// the user of a request, such as impersonation, removes the mark.
type proxiedUser struct {
	user.Info
}

// MarkProxied authenticates requests of the front proxy and marks their users. It passes all other requests to next.
func MarkProxied(config *authenticatorfactory.RequestHeaderConfig, next authenticator.Request) authenticator.Request {
	proxied := group.NewAuthenticatedGroupAdder(headerrequest.NewDynamicVerifyOptionsSecure(
		config.CAContentProvider.VerifyOptions,
		config.AllowedClientNames,
		config.UsernameHeaders,
		config.UIDHeaders,
		config.GroupHeaders,
		config.ExtraHeaderPrefixes,
	))
	return mark(proxied, next)
}

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
