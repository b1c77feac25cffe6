package authorization

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const manager = "system:serviceaccount:kruise-system:kruise-manager"

func TestAuthorize(t *testing.T) {
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{"apps.kruise.io"}, Resources: []string{"clonesets"}, Verbs: []string{"get", "update"}},
		{APIGroups: []string{"apps.kruise.io"}, Resources: []string{"clonesets/status"}, Verbs: []string{"update"}},
		{APIGroups: []string{"apps.kruise.io"}, Resources: []string{"nodeimages"}, Verbs: []string{"get"}, ResourceNames: []string{"n1"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
	}
	a := New(sets.New("apps.kruise.io"), Account{User: manager, Rules: rules})
	proxied := func(name string) user.Info { return &proxiedUser{Info: &user.DefaultInfo{Name: name}} }
	request := func(verb, group, resource, subresource, name string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{
			Verb: verb, APIGroup: group, Resource: resource, Subresource: subresource, Name: name, ResourceRequest: true,
		}
	}

	tests := map[string]struct {
		user    user.Info
		request authorizer.AttributesRecord
		allowed bool
	}{
		"granted":                        {proxied(manager), request("update", "apps.kruise.io", "clonesets", "", "a"), true},
		"granted subresource":            {proxied(manager), request("update", "apps.kruise.io", "clonesets", "status", "a"), true},
		"granted name":                   {proxied(manager), request("get", "apps.kruise.io", "nodeimages", "", "n1"), true},
		"other name":                     {proxied(manager), request("get", "apps.kruise.io", "nodeimages", "", "n2"), false},
		"other verb":                     {proxied(manager), request("delete", "apps.kruise.io", "clonesets", "", "a"), false},
		"other subresource":              {proxied(manager), request("update", "apps.kruise.io", "clonesets", "scale", "a"), false},
		"group that is not ours":         {proxied(manager), request("get", "", "pods", "", "a"), false},
		"other user":                     {proxied("jane"), request("get", "apps.kruise.io", "clonesets", "", "a"), false},
		"direct caller or impersonation": {&user.DefaultInfo{Name: manager}, request("get", "apps.kruise.io", "clonesets", "", "a"), false},
		"no resource": {
			proxied(manager), authorizer.AttributesRecord{Verb: "get", Path: "/apis/apps.kruise.io"}, false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.request.User = test.user
			decision, _, err := a.Authorize(t.Context(), test.request)
			require.NoError(t, err)
			want := authorizer.DecisionNoOpinion
			if test.allowed {
				want = authorizer.DecisionAllow
			}
			assert.Equal(t, want, decision)
		})
	}
}

func TestOnlyTheProxysUsersAreMarked(t *testing.T) {
	proxied := authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		name := req.Header.Get("X-Remote-User")
		return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, name != "", nil
	})
	direct := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "direct"}}, true, nil
	})

	for name, marked := range map[string]bool{"jane": true, "": false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		require.NoError(t, err)
		req.Header.Set("X-Remote-User", name)
		response, ok, err := mark(proxied, direct).AuthenticateRequest(req)
		require.NoError(t, err)
		require.True(t, ok)
		_, got := response.User.(*proxiedUser)
		assert.Equal(t, marked, got)
	}
}
