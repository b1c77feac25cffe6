package apiserver

import (
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/component-base/featuregate"
)

// quotaInitializer configures what the admission plugin ResourceQuota counts. It must run after the generic
// initializer, which sets the plugin's stop channel.
type quotaInitializer struct {
	configuration quota.Configuration
}

// NewQuotaInitializer counts the objects of every namespaced kind as count/<plural>.<group>. kube-controller-manager
// recounts the usage after deletions. The evaluators have no lister, because only the recount would need one.
func NewQuotaInitializer(gate featuregate.FeatureGate) admission.PluginInitializer {
	var evaluators []quota.Evaluator
	for _, kind := range Kinds(gate) {
		if !kind.Describe().ClusterScoped {
			evaluators = append(evaluators, generic.NewObjectCountEvaluator(kind.Resource(), nil, ""))
		}
	}
	return &quotaInitializer{configuration: generic.NewConfiguration(evaluators, nil)}
}

// Initialize implements admission.PluginInitializer.
func (i *quotaInitializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(i.configuration)
	}
}
