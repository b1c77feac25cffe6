//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
)

const auditPolicy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],
"rules":[{"level":"Metadata","resources":[{"group":"apps.kruise.io"}]},{"level":"None"}]}`

func TestAudit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	require.NoError(t, os.WriteFile(policy, []byte(auditPolicy), 0o600))
	s := alone(t, "audit", "--audit-policy-file="+policy, "--audit-log-path="+log)
	namespace := newNamespace(t)
	created, err := s.client(t, namespace).Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	require.NoError(t, err)
	myself, err := env.kube.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	require.NoError(t, err)

	data, err := os.ReadFile(log)
	require.NoError(t, err)
	var events []auditv1.Event
	for line := range bytes.Lines(data) {
		var event auditv1.Event
		require.NoError(t, json.Unmarshal(line, &event))
		if event.Verb == "create" {
			events = append(events, event)
		}
	}
	require.Len(t, events, 1)
	assert.Equal(t, auditv1.StageResponseComplete, events[0].Stage)
	assert.Equal(t, myself.Status.UserInfo.Username, events[0].User.Username)
	assert.Equal(t, &auditv1.ObjectReference{
		APIGroup: "apps.kruise.io", APIVersion: "v1beta1", Resource: "clonesets", Namespace: namespace, Name: created.Name,
	}, events[0].ObjectRef)
	assert.Equal(t, int32(http.StatusCreated), events[0].ResponseStatus.Code)
}

// The flow schemas of the cluster also classify requests to this server.
func TestPriorityAndFairness(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	schema, err := env.kube.FlowcontrolV1().FlowSchemas().Get(t.Context(), "service-accounts", metav1.GetOptions{})
	require.NoError(t, err)
	var header http.Header
	config := as(t, "kruise-manager")
	config.Host, config.CAFile, config.CAData, config.Insecure = env.server.url(), "", nil, true
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(req)
			if err == nil {
				header = response.Header
			}
			return response, err
		})
	})
	_, err = clientFor(t, rest.CopyConfig(config), namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, string(schema.UID), header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID))
	level, err := env.kube.FlowcontrolV1().PriorityLevelConfigurations().Get(t.Context(), schema.Spec.PriorityLevelConfiguration.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, string(level.UID), header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID))
}
