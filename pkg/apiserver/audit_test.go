package apiserver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// TestPullSecretsAreInNoAuditBody checks policies that request the most detailed level, and less detailed ones.
func TestPullSecretsAreInNoAuditBody(t *testing.T) {
	tests := map[string]struct {
		sub          string
		policy, want auditinternal.Level
	}{
		"secrets, all":      {"pullsecrets", auditinternal.LevelRequestResponse, auditinternal.LevelMetadata},
		"secrets, requests": {"pullsecrets", auditinternal.LevelRequest, auditinternal.LevelMetadata},
		"secrets, metadata": {"pullsecrets", auditinternal.LevelMetadata, auditinternal.LevelMetadata},
		"secrets, nothing":  {"pullsecrets", auditinternal.LevelNone, auditinternal.LevelNone},
		"statuses, all":     {"status", auditinternal.LevelRequestResponse, auditinternal.LevelRequestResponse},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			evaluator := withoutSecrets{policy.NewFakePolicyRuleEvaluator(test.policy, nil)}
			got := evaluator.EvaluatePolicyRule(authorizer.AttributesRecord{
				Verb: "get", APIGroup: "apps.kruise.io", Resource: "nodeimages", Subresource: test.sub, Name: "n1", ResourceRequest: true,
			})
			assert.Equal(t, test.want, got.Level)
		})
	}
}
