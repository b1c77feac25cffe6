package apiserver

import (
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	appsregistry "kruise.io/kruise/pkg/registry/apps"
)

// withoutSecrets keeps the content of Secrets out of the audit log, whatever the audit policy says. The log still
// records who requested them.
type withoutSecrets struct {
	audit.PolicyRuleEvaluator
}

// EvaluatePolicyRule implements audit.PolicyRuleEvaluator. It lowers the level of requests for pull secrets to
// Metadata, which has no bodies. A lower level of the policy stays.
func (e withoutSecrets) EvaluatePolicyRule(attributes authorizer.Attributes) audit.RequestAuditConfig {
	config := e.PolicyRuleEvaluator.EvaluatePolicyRule(attributes)
	path := attributes.GetResource() + "/" + attributes.GetSubresource()
	if path == appsregistry.PullSecretsPath && !config.Level.Less(auditinternal.LevelRequest) {
		config.Level = auditinternal.LevelMetadata
	}
	return config
}
