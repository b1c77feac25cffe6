package app

import (
	"slices"
	"time"

	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/cloneset"
	"kruise.io/kruise/pkg/controller/containerrecreaterequest"
	"kruise.io/kruise/pkg/controller/imagelistpulljob"
	"kruise.io/kruise/pkg/controller/imagepulljob"
	"kruise.io/kruise/pkg/controller/nodeimage"
	"kruise.io/kruise/pkg/controller/podreadiness"
	"kruise.io/kruise/pkg/controller/podunavailablebudget"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/reconcile"
)

// row is one controller. The flag of its workers is --<name>-workers.
type row struct {
	name string
	// enabled says whether the feature gates ask for it; nil is always. A controller that they do not ask for is not made.
	enabled func(featuregate.FeatureGate) bool
	// new makes the controller, which runs nothing yet. It starts when the servers have all that its constructor asked
	// controller.Deps for.
	new func(controller.Deps, *Options) (*reconcile.Controller, error)
}

// controllers is every controller.
var controllers = []row{
	{"cloneset", nil, func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return cloneset.New(deps, cloneset.Options{ScalingExcludePreparingDelete: o.ScalingExcludePreparingDelete})
	}},
	{"crr", allOf(features.KruiseDaemon), alone(containerrecreaterequest.New)},
	{"podreadiness", nil, alone(podreadiness.New)},
	{"podunavailablebudget", anyOf(features.PodUnavailableBudgetDeleteGate, features.PodUnavailableBudgetUpdateGate),
		alone(podunavailablebudget.New)},
	{"nodeimage", allOf(features.KruiseDaemon), func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return nodeimage.New(deps, nodeimage.Options{CreationDelay: o.NodeImageCreationDelay})
	}},
	{"imagepulljob", allOf(features.KruiseDaemon, features.ImagePullJobGate),
		func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
			return imagepulljob.New(deps, imagepulljob.Options{
				PullSecretsNamespace: o.PullSecretsNamespace, TagTTL: time.Duration(o.NodeImageTagTTLSeconds) * time.Second,
			})
		}},
	{"imagelistpulljob", allOf(features.KruiseDaemon, features.ImagePullJobGate), alone(imagelistpulljob.New)},
}

// alone is the constructor of a controller without options of its own.
func alone(construct func(controller.Deps) (*reconcile.Controller, error)) func(controller.Deps, *Options) (*reconcile.Controller, error) {
	return func(deps controller.Deps, _ *Options) (*reconcile.Controller, error) { return construct(deps) }
}

// allOf asks for a controller while all of the gates are on.
func allOf(gates ...featuregate.Feature) func(featuregate.FeatureGate) bool {
	return func(gate featuregate.FeatureGate) bool {
		for _, name := range gates {
			if !gate.Enabled(name) {
				return false
			}
		}
		return true
	}
}

// anyOf asks for a controller while one of the gates is on.
func anyOf(gates ...featuregate.Feature) func(featuregate.FeatureGate) bool {
	return func(gate featuregate.FeatureGate) bool {
		return slices.ContainsFunc(gates, gate.Enabled)
	}
}
