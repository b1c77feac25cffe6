package authorization

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const agent = "system:serviceaccount:kruise-system:kruise-daemon"

// Cases node-agent 9, 19, 20.
func TestNodeAgentsAreBoundToTheirNode(t *testing.T) {
	type request struct {
		verb, resource, sub, name, fields, labels string
	}
	const (
		crrs  = "containerrecreaterequests"
		label = "crr.apps.kruise.io/node-name"
	)
	tests := map[string]struct {
		request request
		want    string
	}{
		"get its NodeImage":     {request{verb: "get", resource: "nodeimages", name: "n1"}, ""},
		"get another NodeImage": {request{verb: "get", resource: "nodeimages", name: "n2"}, "can get only nodeimages with that name"},
		"list its NodeImage":    {request{verb: "list", resource: "nodeimages", name: "n1", fields: "metadata.name=n1"}, ""},
		"watch its NodeImage":   {request{verb: "watch", resource: "nodeimages", name: "n1", fields: "metadata.name=n1"}, ""},
		"list another":          {request{verb: "list", resource: "nodeimages", name: "n2", fields: "metadata.name=n2"}, "the field selector metadata.name=n1"},
		"list all":              {request{verb: "list", resource: "nodeimages"}, "the field selector metadata.name=n1"},
		"list all others":       {request{verb: "list", resource: "nodeimages", fields: "metadata.name!=n1"}, "the field selector metadata.name=n1"},
		"list by another field": {request{verb: "list", resource: "nodeimages", fields: "status.phase=n1"}, "the field selector metadata.name=n1"},
		"watch by label":        {request{verb: "watch", resource: "nodeimages", labels: "metadata.name=n1"}, "the field selector metadata.name=n1"},
		"report its NodeImage":  {request{verb: "update", resource: "nodeimages", sub: "status", name: "n1"}, ""},
		"patch its NodeImage":   {request{verb: "patch", resource: "nodeimages", sub: "status", name: "n1"}, ""},
		"report another": {request{verb: "patch", resource: "nodeimages", sub: "status", name: "n2"},
			"can patch only nodeimages/status with that name"},
		"its pull secrets": {request{verb: "get", resource: "nodeimages", sub: "pullsecrets", name: "n1"}, ""},
		"another's pull secrets": {request{verb: "get", resource: "nodeimages", sub: "pullsecrets", name: "n2"},
			"can get only nodeimages/pullsecrets with that name"},
		"change pull secrets":     {request{verb: "update", resource: "nodeimages", sub: "pullsecrets", name: "n1"}, "cannot update nodeimages/pullsecrets"},
		"write a spec":            {request{verb: "update", resource: "nodeimages", name: "n1"}, "cannot update nodeimages"},
		"delete its NodeImage":    {request{verb: "delete", resource: "nodeimages", name: "n1"}, "cannot delete nodeimages"},
		"create one":              {request{verb: "create", resource: "nodeimages"}, "cannot create nodeimages"},
		"delete all":              {request{verb: "deletecollection", resource: "nodeimages", fields: "metadata.name=n1"}, "cannot deletecollection"},
		"its NodePodProbe":        {request{verb: "watch", resource: "nodepodprobes", name: "n1", fields: "metadata.name=n1"}, ""},
		"another NodePodProbe":    {request{verb: "get", resource: "nodepodprobes", name: "n2"}, "can get only nodepodprobes"},
		"choose its own probes":   {request{verb: "patch", resource: "nodepodprobes", name: "n1"}, "cannot patch nodepodprobes"},
		"replace its probes":      {request{verb: "update", resource: "nodepodprobes", name: "n1"}, "cannot update nodepodprobes"},
		"report another's probes": {request{verb: "patch", resource: "nodepodprobes", sub: "status", name: "n2"}, "can patch only nodepodprobes/status"},
		"report its NodePodProbe": {request{verb: "update", resource: "nodepodprobes", sub: "status", name: "n1"}, ""},

		"its requests":                 {request{verb: "list", resource: crrs, labels: label + "=n1"}, ""},
		"its active requests":          {request{verb: "watch", resource: crrs, labels: label + "=n1,crr.apps.kruise.io/active=true"}, ""},
		"its requests, said otherwise": {request{verb: "list", resource: crrs, labels: label + " in (n1)"}, ""},
		"requests of two nodes":        {request{verb: "list", resource: crrs, labels: label + " in (n1,n2)"}, "use the selector " + label + "=n1"},
		"requests of another":          {request{verb: "watch", resource: crrs, labels: label + "=n2"}, "use the selector " + label + "=n1"},
		"requests by another label":    {request{verb: "list", resource: crrs, labels: "other=n1"}, "use the selector " + label + "=n1"},
		"all requests":                 {request{verb: "list", resource: crrs}, "use the selector " + label + "=n1"},
		"requests of all others":       {request{verb: "list", resource: crrs, labels: label + "!=n1"}, "use the selector " + label + "=n1"},
		"report a request":             {request{verb: "patch", resource: crrs, sub: "status", name: "x"}, ""},
		"change a request":             {request{verb: "patch", resource: crrs, name: "x"}, "cannot patch containerrecreaterequests"},
		"delete a request":             {request{verb: "delete", resource: crrs, name: "x"}, "cannot delete containerrecreaterequests"},

		"other kind": {request{verb: "get", resource: "clonesets", name: "n1"}, "cannot get clonesets"},
		"everything": {request{verb: "*", resource: "*"}, "cannot"},
	}
	nodes := NewNodes(sets.New("apps.kruise.io"), agent)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := test.request
			field, err := fields.ParseSelector(r.fields)
			require.NoError(t, err)
			byLabel, err := labels.Parse(r.labels)
			require.NoError(t, err)
			requirements, _ := byLabel.Requirements()
			attributes := authorizer.AttributesRecord{
				Verb: r.verb, APIGroup: "apps.kruise.io", Resource: r.resource, Subresource: r.sub, Name: r.name, ResourceRequest: true,
				FieldSelectorRequirements: field.Requirements(), LabelSelectorRequirements: requirements,
			}
			decide := func(caller user.Info) (authorizer.Decision, string) {
				attributes.User = caller
				decision, reason, err := nodes.Authorize(t.Context(), attributes)
				require.NoError(t, err)
				return decision, reason
			}
			bound := &user.DefaultInfo{Name: agent, Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"n1"}}}
			for _, caller := range []user.Info{bound, &proxiedUser{Info: bound}} {
				decision, reason := decide(caller)
				if test.want == "" {
					assert.Equal(t, authorizer.DecisionNoOpinion, decision, reason)
					continue
				}
				assert.Equal(t, authorizer.DecisionDeny, decision)
				assert.Contains(t, reason, test.want)
			}
			decision, reason := decide(&user.DefaultInfo{Name: agent})
			assert.Equal(t, authorizer.DecisionDeny, decision)
			assert.Contains(t, reason, "does not name a node")

			decision, _ = decide(&user.DefaultInfo{Name: "jane", Extra: bound.Extra})
			if r.sub == "pullsecrets" {
				assert.Equal(t, authorizer.DecisionDeny, decision, "another account")
			} else {
				assert.Equal(t, authorizer.DecisionNoOpinion, decision, "another account")
			}
		})
	}
}

// An administrator who grants all resources of the group grants no Secrets by that. The agent itself is judged by the rules too.
func TestOnlyAgentsReadPullSecrets(t *testing.T) {
	agentOfNode := &user.DefaultInfo{Name: agent, Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"n1"}}}
	tests := map[string]struct {
		account, group string
		caller         user.Info
		want           authorizer.Decision
	}{
		"its agent":               {agent, "apps.kruise.io", agentOfNode, authorizer.DecisionNoOpinion},
		"its agent, proxied":      {agent, "apps.kruise.io", &proxiedUser{Info: agentOfNode}, authorizer.DecisionNoOpinion},
		"a user":                  {agent, "apps.kruise.io", &user.DefaultInfo{Name: "jane"}, authorizer.DecisionDeny},
		"a proxied user":          {agent, "apps.kruise.io", &proxiedUser{Info: &user.DefaultInfo{Name: "jane"}}, authorizer.DecisionDeny},
		"a user with all rights":  {agent, "apps.kruise.io", &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}, authorizer.DecisionDeny},
		"our manager":             {agent, "apps.kruise.io", &user.DefaultInfo{Name: manager}, authorizer.DecisionDeny},
		"where there is no agent": {"", "apps.kruise.io", &user.DefaultInfo{}, authorizer.DecisionDeny},
		"of another group":        {agent, "example.com", &user.DefaultInfo{Name: "jane"}, authorizer.DecisionNoOpinion},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"get", "list", "*"} {
				if verb != "get" && test.want == authorizer.DecisionNoOpinion && test.group == "apps.kruise.io" {
					continue // it may only get
				}
				decision, reason, err := NewNodes(sets.New("apps.kruise.io"), test.account).Authorize(t.Context(), authorizer.AttributesRecord{
					User: test.caller, Verb: verb, APIGroup: test.group, Resource: "nodeimages", Subresource: "pullsecrets", Name: "n1",
					ResourceRequest: true,
				})
				require.NoError(t, err)
				assert.Equal(t, test.want, decision, reason)
			}
		})
	}
}

// An unreadable selector could select anything, so it does not limit the request to the node.
func TestUnreadableSelectorsDoNotRestrict(t *testing.T) {
	byName, err := fields.ParseSelector("metadata.name=n1")
	require.NoError(t, err)
	byLabel, err := labels.Parse("crr.apps.kruise.io/node-name=n1")
	require.NoError(t, err)
	requirements, _ := byLabel.Requirements()
	caller := &user.DefaultInfo{Name: agent, Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"n1"}}}
	for name, attributes := range map[string]authorizer.AttributesRecord{
		"nodeimages":                {FieldSelectorRequirements: byName.Requirements(), FieldSelectorParsingErr: errors.New("more of it")},
		"containerrecreaterequests": {LabelSelectorRequirements: requirements, LabelSelectorParsingErr: errors.New("more of it")},
	} {
		attributes.User, attributes.Verb, attributes.APIGroup, attributes.Resource = caller, "list", "apps.kruise.io", name
		attributes.ResourceRequest = true
		decision, _, err := NewNodes(sets.New("apps.kruise.io"), agent).Authorize(t.Context(), attributes)
		require.NoError(t, err)
		assert.Equal(t, authorizer.DecisionDeny, decision, name)
	}
}

func TestNodeScopeLeavesOtherRequestsAlone(t *testing.T) {
	nodes := NewNodes(sets.New("apps.kruise.io"), agent)
	caller := &user.DefaultInfo{Name: agent}
	for name, attributes := range map[string]authorizer.AttributesRecord{
		"no resource": {User: caller, Verb: "get", Path: "/readyz"},
		"other group": {User: caller, Verb: "get", APIGroup: "apps", Resource: "deployments", ResourceRequest: true},
	} {
		decision, _, err := nodes.Authorize(t.Context(), attributes)
		require.NoError(t, err)
		assert.Equal(t, authorizer.DecisionNoOpinion, decision, name)
	}
	decision, _, err := NewNodes(sets.New("apps.kruise.io"), "").Authorize(t.Context(), authorizer.AttributesRecord{
		User: &user.DefaultInfo{}, Verb: "delete", APIGroup: "apps.kruise.io", Resource: "nodeimages", ResourceRequest: true,
	})
	require.NoError(t, err)
	assert.Equal(t, authorizer.DecisionNoOpinion, decision, "no account is bound")
}
