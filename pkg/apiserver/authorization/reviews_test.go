package authorization

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func TestOnlyKubeAPIServerReviews(t *testing.T) {
	server := &user.DefaultInfo{Name: "system:apiserver", Groups: []string{"system:authenticated", "system:masters"}}
	const group = "admission.kruise.io"
	tests := map[string]struct {
		caller      user.Info
		group, verb string
		want        authorizer.Decision
	}{
		"kube-apiserver":            {&proxiedUser{Info: server}, group, "create", authorizer.DecisionAllow},
		"for something else":        {&proxiedUser{Info: server}, group, "get", authorizer.DecisionDeny},
		"past the proxy":            {server, group, "create", authorizer.DecisionDeny},
		"the name alone":            {&proxiedUser{Info: &user.DefaultInfo{Name: "system:apiserver"}}, group, "create", authorizer.DecisionDeny},
		"an administrator":          {&proxiedUser{Info: &user.DefaultInfo{Name: "admin", Groups: server.Groups}}, group, "create", authorizer.DecisionDeny},
		"another group":             {&proxiedUser{Info: server}, "apps.kruise.io", "create", authorizer.DecisionNoOpinion},
		"discovery of the same one": {&proxiedUser{Info: &user.DefaultInfo{Name: "jane"}}, "", "get", authorizer.DecisionNoOpinion},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			decision, _, err := NewReviews(group).Authorize(t.Context(), authorizer.AttributesRecord{
				User: test.caller, Verb: test.verb, APIGroup: test.group, Resource: "podreviews", ResourceRequest: test.group != "",
			})
			require.NoError(t, err)
			assert.Equal(t, test.want, decision)
		})
	}
}
