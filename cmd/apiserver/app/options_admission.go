package app

import (
	"slices"

	genericadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/admission/plugin/budgetconflicts"
	"kruise.io/kruise/pkg/admission/plugin/claimexpansion"
	"kruise.io/kruise/pkg/admission/plugin/containerrecreaterequest"
	"kruise.io/kruise/pkg/admission/plugin/deletionprotection"
	"kruise.io/kruise/pkg/admission/plugin/ephemeralcontainers"
	"kruise.io/kruise/pkg/admission/plugin/garbagecollection"
	"kruise.io/kruise/pkg/admission/plugin/nodescope"
	"kruise.io/kruise/pkg/admission/plugin/ownerreferences"
	"kruise.io/kruise/pkg/admission/plugin/podcreationlabel"
	"kruise.io/kruise/pkg/admission/plugin/podstodelete"
	"kruise.io/kruise/pkg/admission/plugin/podunavailablebudget"
	"kruise.io/kruise/pkg/admission/plugin/resourcedistribution"
	"kruise.io/kruise/pkg/admission/plugin/scheduledpulls"
	"kruise.io/kruise/pkg/admission/plugin/sidecarset"
	"kruise.io/kruise/pkg/admission/plugin/userwritelimit"
	"kruise.io/kruise/pkg/admission/plugin/workloadspread"
	"kruise.io/kruise/pkg/admission/plugin/workloadtarget"
	"kruise.io/kruise/pkg/admission/pod"
	"kruise.io/kruise/pkg/admission/review"
)

// newAdmissionOptions returns the order of the generic plugins and the Kruise plugins. A plugin that completes
// objects runs before policies and webhooks of users, so that these see complete objects. Plugins that validate run
// after them. Quota runs last, because an object that another plugin refuses must not be counted.
func newAdmissionOptions(
	accounts *AccountOptions, protection *ProtectionOptions, limit func() userwritelimit.Settings, reviewers review.Plugins,
	clock clock.PassiveClock,
) *genericoptions.AdmissionOptions {
	admission := genericoptions.NewAdmissionOptions()
	// The order of these calls has no meaning. The order of the plugins is set below.
	budgetconflicts.Register(admission.Plugins)
	claimexpansion.Register(admission.Plugins)
	containerrecreaterequest.Register(admission.Plugins)
	deletionprotection.Register(admission.Plugins, func() bool { return protection.InTerminatingNamespaces })
	ephemeralcontainers.Register(admission.Plugins)
	garbagecollection.Register(admission.Plugins)
	nodescope.Register(admission.Plugins, accounts.DaemonUser)
	ownerreferences.Register(admission.Plugins)
	pod.Register(admission.Plugins, clock)
	podcreationlabel.Register(admission.Plugins)
	podstodelete.Register(admission.Plugins)
	podunavailablebudget.Register(admission.Plugins, clock)
	resourcedistribution.Register(admission.Plugins)
	resourcequota.Register(admission.Plugins)
	scheduledpulls.Register(admission.Plugins)
	sidecarset.Register(admission.Plugins)
	userwritelimit.Register(admission.Plugins, limit, clock)
	workloadspread.Register(admission.Plugins, clock)
	workloadtarget.Register(admission.Plugins)

	// The plugins that complete objects come right after the one that refuses creations in terminating namespaces.
	first := slices.Index(admission.RecommendedPluginOrder, lifecycle.PluginName) + 1
	admission.RecommendedPluginOrder = slices.Insert(admission.RecommendedPluginOrder, first,
		containerrecreaterequest.PluginName, pod.PluginName, podcreationlabel.PluginName)
	// The plugins that validate, the cheapest first. Those of a Pod are called in the order of their review route, see reviews.go.
	admission.RecommendedPluginOrder = append(admission.RecommendedPluginOrder,
		userwritelimit.PluginName,
		garbagecollection.PluginName, deletionprotection.PluginName, podunavailablebudget.PluginName, podstodelete.PluginName,
		workloadspread.PluginName,
		nodescope.PluginName,
		ownerreferences.PluginName, scheduledpulls.PluginName, ephemeralcontainers.PluginName,
		budgetconflicts.PluginName, resourcedistribution.PluginName, sidecarset.PluginName,
		workloadtarget.PluginName, claimexpansion.PluginName, resourcequota.PluginName)
	// A flag can enable it, as in kube-apiserver.
	admission.DefaultOffPlugins.Insert(ownerreferences.PluginName)
	// Reviews need the plugins themselves, without the wrappers of other decorators.
	admission.Decorators = slices.Insert(admission.Decorators, 0, genericadmission.Decorator(reviewers))
	return admission
}
