package apiserver

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/admission/review"
	"kruise.io/kruise/pkg/apis/apps"
	appsinstall "kruise.io/kruise/pkg/apis/apps/install"
	appsv1beta1 "kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/policy"
	policyinstall "kruise.io/kruise/pkg/apis/policy/install"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	appsregistry "kruise.io/kruise/pkg/registry/apps"
	policyregistry "kruise.io/kruise/pkg/registry/policy"
	"kruise.io/kruise/pkg/registry/rest"
)

// group is one API group.
type group struct {
	// name is the name of the group. install adds its types to a scheme.
	name    string
	install func(*runtime.Scheme) error
	// kinds returns the kinds of the group. Some depend on feature gates and on backends.
	kinds func(featuregate.FeatureGate, Backends) []rest.AnyKind
}

// groups lists the API groups that the server serves.
var groups = []group{
	{
		name: apps.GroupName, install: appsinstall.Install,
		kinds: func(gate featuregate.FeatureGate, b Backends) []rest.AnyKind {
			return appsregistry.Kinds(gate, cmp.Or[clock.PassiveClock](b.Clock, clock.RealClock{}), b.PullSecrets, b.Spreads)
		},
	},
	{
		name: policy.GroupName, install: policyinstall.Install,
		kinds: func(gate featuregate.FeatureGate, b Backends) []rest.AnyKind {
			return policyregistry.Kinds(gate, b.Budgets)
		},
	},
}

// Backends are what some kinds need besides the store. A nil field leaves out what it is for.
type Backends struct {
	// Clock tells the time of kube-apiserver. Without it, kinds use the time of the machine.
	Clock clock.PassiveClock
	// PullSecrets serves nodeimages/pullsecrets.
	PullSecrets *appsregistry.PullSecrets
	// Spreads lets admission update the status of WorkloadSpreads.
	Spreads *rest.Statuses[apps.WorkloadSpread, appsv1beta1.WorkloadSpread]
	// Budgets lets admission update the status of PodUnavailableBudgets.
	Budgets *rest.Statuses[policy.PodUnavailableBudget, policyv1beta1.PodUnavailableBudget]
}

// Kinds returns the kinds of all groups, without their backends. Use it to learn about the kinds; the storages of
// these values would lack what the backends serve.
func Kinds(gate featuregate.FeatureGate) []rest.AnyKind {
	var kinds []rest.AnyKind
	for _, group := range groups {
		kinds = append(kinds, group.kinds(gate, Backends{})...)
	}
	return kinds
}

// GroupNames returns the names of the groups. The group of reviews is not among them, because it has no objects.
func GroupNames() sets.Set[string] {
	names := sets.New[string]()
	for _, group := range groups {
		names.Insert(group.name)
	}
	return names
}

// APIServices returns the names of the APIServices of the served groups, including the review group, in the form
// version.group. They are sorted.
func APIServices(gate featuregate.FeatureGate) []string {
	names := sets.New(review.GroupVersion.Version + "." + review.GroupName)
	for _, version := range servedVersions(gate) {
		names.Insert(version.Version + "." + version.Group)
	}
	return sets.List(names)
}

// servedVersions returns each served version of the kinds once, in the order of the tables.
func servedVersions(gate featuregate.FeatureGate) []schema.GroupVersion {
	var versions []schema.GroupVersion
	for _, kind := range Kinds(gate) {
		for _, version := range kind.ServedVersions() {
			if !slices.Contains(versions, version) {
				versions = append(versions, version)
			}
		}
	}
	return versions
}
