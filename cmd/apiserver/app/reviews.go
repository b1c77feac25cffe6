package app

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/admission/plugin/deletionprotection"
	"kruise.io/kruise/pkg/admission/plugin/garbagecollection"
	"kruise.io/kruise/pkg/admission/plugin/podcreationlabel"
	"kruise.io/kruise/pkg/admission/plugin/podunavailablebudget"
	"kruise.io/kruise/pkg/admission/plugin/workloadspread"
	"kruise.io/kruise/pkg/admission/pod"
	"kruise.io/kruise/pkg/admission/review"
)

// reviews lists the reviews that kube-apiserver requests from this server. The webhooks of the chart
// (templates/apiserver/webhooks.yaml) name them. A review that is not in this list is refused as a mistake of the
// webhook.
var reviews = []review.Route{
	{
		Name:       "namespacereviews",
		Resources:  []schema.GroupResource{{Resource: "namespaces"}},
		Operations: []admission.Operation{admission.Delete},
		Plugins:    []string{deletionprotection.PluginName},
	},
	{
		Name:       "customresourcedefinitionreviews",
		Resources:  []schema.GroupResource{{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}},
		Operations: []admission.Operation{admission.Delete},
		Plugins:    []string{deletionprotection.PluginName},
	},
	{
		Name:       "podreviews",
		Resources:  []schema.GroupResource{{Resource: "pods"}, {Resource: "pods/eviction"}, {Resource: "pods/resize"}},
		Operations: []admission.Operation{admission.Create, admission.Update, admission.Delete},
		// A disruption that a budget refuses returns no slot.
		Plugins: []string{podunavailablebudget.PluginName, workloadspread.PluginName},
	},
	{
		Name: "garbagecollectionreviews",
		// A Kruise object can own objects of every kind. The garbage collector deletes Kruise objects through this server, where the plugin
		// sees them too.
		AnyResource: true,
		Operations:  []admission.Operation{admission.Delete},
		Plugins:     []string{garbagecollection.PluginName},
	},
	{
		Name:       "namespacelabelreviews",
		Resources:  []schema.GroupResource{{Resource: "namespaces"}},
		Operations: []admission.Operation{admission.Create, admission.Update},
		Plugins:    []string{podcreationlabel.PluginName},
		Mutates:    true,
	},
	{
		Name:       "podcreationreviews",
		Resources:  []schema.GroupResource{{Resource: "pods"}},
		Operations: []admission.Operation{admission.Create},
		Plugins:    []string{pod.PluginName},
		Mutates:    true,
	},
}
