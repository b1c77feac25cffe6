package authorization

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const manager = "system:serviceaccount:kruise-system:kruise-manager"

// attributesOf returns the context and the attributes of a request, as the server's filters compute them.
func attributesOf(t *testing.T, by user.Info, method, path string) (context.Context, *authorizer.AttributesRecord) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	require.NoError(t, err)
	factory := &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis"), GrouplessAPIPrefixes: sets.NewString()}
	info, err := factory.NewRequestInfo(req)
	require.NoError(t, err)
	ctx := request.WithUser(request.WithRequestInfo(t.Context(), info), by)
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	require.NoError(t, err)
	record, ok := attributes.(*authorizer.AttributesRecord)
	require.True(t, ok)
	return ctx, record
}

// Only the request itself is allowed without a review: each change of an attribute is a check of something else.
func TestProxiedRequestsNeedNoReview(t *testing.T) {
	jane := &proxiedUser{Info: &user.DefaultInfo{Name: "jane"}}
	const one, all = "/apis/apps.kruise.io/v1beta1/namespaces/ns/clonesets/a", "/apis/apps.kruise.io/v1beta1/clonesets"
	type record = authorizer.AttributesRecord
	for name, test := range map[string]struct {
		by           user.Info
		method, path string
		change       func(*record)
		allowed      bool
	}{
		"get":                       {method: "GET", path: one, allowed: true},
		"patch of a subresource":    {method: "PATCH", path: one + "/scale", allowed: true},
		"watch of a selection":      {method: "GET", path: all + "?watch=true&labelSelector=a%3Db&fieldSelector=metadata.name%3Da", allowed: true},
		"deletion of a collection":  {method: "DELETE", path: "/apis/apps.kruise.io/v1beta1/namespaces/ns/clonesets", allowed: true},
		"direct or impersonated":    {by: &user.DefaultInfo{Name: "jane"}, method: "GET", path: one},
		"another group":             {method: "GET", path: "/apis/apps/v1/namespaces/ns/deployments/a"},
		"no resource":               {method: "GET", path: "/apis/apps.kruise.io"},
		"the creation by a patch":   {method: "PATCH", path: one, change: func(r *record) { r.Verb = "create" }},
		"another name":              {method: "GET", path: one, change: func(r *record) { r.Name = "b" }},
		"another namespace":         {method: "GET", path: one, change: func(r *record) { r.Namespace = "kube-system" }},
		"another subresource":       {method: "PUT", path: one, change: func(r *record) { r.Subresource = "status" }},
		"another resource":          {method: "GET", path: one, change: func(r *record) { r.Resource = "sidecarsets" }},
		"all, and not a selection":  {method: "GET", path: all + "?labelSelector=a%3Db", change: func(r *record) { r.LabelSelectorRequirements = nil }},
		"all, and not one by field": {method: "GET", path: all + "?fieldSelector=metadata.name%3Da", change: func(r *record) { r.FieldSelectorRequirements = nil }},
		"another proxied user": {method: "GET", path: one, change: func(r *record) {
			r.User = &proxiedUser{Info: &user.DefaultInfo{Name: "john"}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			by := test.by
			if by == nil {
				by = jane
			}
			ctx, attributes := attributesOf(t, by, test.method, test.path)
			if test.change != nil {
				test.change(attributes)
			}
			decision, _, err := NewProxied(sets.New("apps.kruise.io")).Authorize(ctx, attributes)
			require.NoError(t, err)
			want := authorizer.DecisionNoOpinion
			if test.allowed {
				want = authorizer.DecisionAllow
			}
			assert.Equal(t, want, decision)
			decision, _, err = NewProxied(sets.New("apps.kruise.io")).Authorize(t.Context(), attributes)
			require.NoError(t, err)
			assert.Equal(t, authorizer.DecisionNoOpinion, decision, "outside a request")
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
