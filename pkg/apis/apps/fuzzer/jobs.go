package fuzzer

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps"
)

var jobs = []any{fuzzBroadcastJobSpec, fuzzFailurePolicy, fuzzAdvancedCronJobSpec}

func fuzzBroadcastJobSpec(spec *apps.BroadcastJobSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	spec.Parallelism = new(ptr.Deref(spec.Parallelism, intstr.FromInt32(1)))
}

func fuzzFailurePolicy(policy *apps.FailurePolicy, c randfill.Continue) {
	c.FillNoCustom(policy)
	types := []apps.FailurePolicyType{apps.FailurePolicyTypeFailFast, apps.FailurePolicyTypeContinue, apps.FailurePolicyTypePause}
	policy.Type = types[c.Intn(len(types))]
}

func fuzzAdvancedCronJobSpec(spec *apps.AdvancedCronJobSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	policies := []apps.ConcurrencyPolicy{apps.AllowConcurrent, apps.ForbidConcurrent, apps.ReplaceConcurrent}
	spec.ConcurrencyPolicy = policies[c.Intn(len(policies))]
	spec.Paused = new(ptr.Deref(spec.Paused, false))
	spec.SuccessfulJobsHistoryLimit = new(ptr.Deref(spec.SuccessfulJobsHistoryLimit, 3))
	spec.FailedJobsHistoryLimit = new(ptr.Deref(spec.FailedJobsHistoryLimit, 1))
}
