package chart

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// conditionsOf evaluates the match conditions of a webhook as kube-apiserver does.
func conditionsOf(name string, all []admissionv1.MatchCondition, policy *admissionv1.FailurePolicyType) matchconditions.Matcher {
	conditions := make([]cel.ExpressionAccessor, 0, len(all))
	for i := range all {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&all[i]))
	}
	compiler := cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	return matchconditions.NewMatcher(compiler.CompileCondition(conditions, cel.OptionalVariableDeclarations{HasAuthorizer: true},
		environment.NewExpressions), policy, "webhook", "any", name)
}
