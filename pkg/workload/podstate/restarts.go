package podstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Restarts reports whether the kubelet starts a container again that has ended. A container can have a policy of its own, and rules for
// some exit codes, which come first. As for the kubelet, the rules of a container without a policy of its own have no effect.
func Restarts(pod *corev1.Pod, container *corev1.Container, code int32) bool {
	policy := pod.Spec.RestartPolicy
	if container.RestartPolicy != nil {
		// Each action of a rule starts the container again.
		if slices.ContainsFunc(container.RestartPolicyRules, func(rule corev1.ContainerRestartRule) bool { return matches(&rule, code) }) {
			return true
		}
		policy = corev1.RestartPolicy(*container.RestartPolicy)
	}
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

// matches reports whether a rule is for the exit code.
func matches(rule *corev1.ContainerRestartRule, code int32) bool {
	if rule.ExitCodes == nil {
		return false
	}
	switch contained := slices.Contains(rule.ExitCodes.Values, code); rule.ExitCodes.Operator {
	case corev1.ContainerRestartRuleOnExitCodesOpIn:
		return contained
	case corev1.ContainerRestartRuleOnExitCodesOpNotIn:
		return !contained
	}
	return false
}
