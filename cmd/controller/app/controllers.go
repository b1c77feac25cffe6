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
	"kruise.io/kruise/pkg/controller/sidecarset"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/reconcile"
)

// descriptor describes a controller. The flag for its workers is --<name>-workers.
type descriptor struct {
	name string
	// kind is the kind that the controller acts on. It is empty for a controller that serves the Pods of several kinds.
	kind string
	// enabled returns true if the feature gates enable the controller. nil means always. A disabled controller is not created.
	enabled func(featuregate.FeatureGate) bool
	// new creates the controller without starting it. The controller starts when the API servers serve all kinds that
	// its constructor requested from controller.Deps.
	new func(controller.Deps, *Options) (*reconcile.Controller, error)
}

// controllers lists all controllers.
var controllers = []descriptor{
	{"cloneset", "CloneSet", nil, func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return cloneset.New(deps, cloneset.Options{ScalingExcludePreparingDelete: o.ScalingExcludePreparingDelete})
	}},
	{"crr", "ContainerRecreateRequest", allOf(features.KruiseDaemon), alone(containerrecreaterequest.New)},
	{"podreadiness", "", nil, alone(podreadiness.New)},
	{"podunavailablebudget", "PodUnavailableBudget",
		anyOf(features.PodUnavailableBudgetDeleteGate, features.PodUnavailableBudgetUpdateGate), alone(podunavailablebudget.New)},
	{"nodeimage", "NodeImage", allOf(features.KruiseDaemon), func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return nodeimage.New(deps, nodeimage.Options{CreationDelay: o.NodeImageCreationDelay})
	}},
	{"imagepulljob", "ImagePullJob", allOf(features.KruiseDaemon, features.ImagePullJobGate),
		func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
			return imagepulljob.New(deps, imagepulljob.Options{
				PullSecretsNamespace: o.PullSecretsNamespace, TagTTL: time.Duration(o.NodeImageTagTTLSeconds) * time.Second,
			})
		}},
	{"imagelistpulljob", "ImageListPullJob", allOf(features.KruiseDaemon, features.ImagePullJobGate), alone(imagelistpulljob.New)},
	{"sidecarset", "SidecarSet", nil, func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return sidecarset.New(deps, sidecarset.Options{Namespace: o.SystemNamespace, Metrics: o.sidecars})
	}},
}

// starts reports whether the feature gates and CUSTOM_RESOURCE_ENABLE let the controller start.
func (d *descriptor) starts(o *Options, gate featuregate.FeatureGate) bool {
	if d.enabled != nil && !d.enabled(gate) {
		return false
	}
	return d.kind == "" || len(o.Kinds) == 0 || o.Kinds.Has(d.kind)
}

// alone adapts a constructor that needs no options.
func alone(construct func(controller.Deps) (*reconcile.Controller, error)) func(controller.Deps, *Options) (*reconcile.Controller, error) {
	return func(deps controller.Deps, _ *Options) (*reconcile.Controller, error) { return construct(deps) }
}

// allOf enables a controller if all of the gates are on.
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

// anyOf enables a controller if at least one of the gates is on.
func anyOf(gates ...featuregate.Feature) func(featuregate.FeatureGate) bool {
	return func(gate featuregate.FeatureGate) bool {
		return slices.ContainsFunc(gates, gate.Enabled)
	}
}
