package app

import (
	"slices"
	"time"

	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/advancedcronjob"
	"kruise.io/kruise/pkg/controller/broadcastjob"
	"kruise.io/kruise/pkg/controller/cloneset"
	"kruise.io/kruise/pkg/controller/containerrecreaterequest"
	"kruise.io/kruise/pkg/controller/daemonset"
	"kruise.io/kruise/pkg/controller/ephemeraljob"
	"kruise.io/kruise/pkg/controller/imagelistpulljob"
	"kruise.io/kruise/pkg/controller/imagepulljob"
	"kruise.io/kruise/pkg/controller/jobsidecarterminator"
	"kruise.io/kruise/pkg/controller/launchorder"
	"kruise.io/kruise/pkg/controller/nodeimage"
	"kruise.io/kruise/pkg/controller/nodepodprobe"
	"kruise.io/kruise/pkg/controller/persistentpodstate"
	"kruise.io/kruise/pkg/controller/podcreation"
	"kruise.io/kruise/pkg/controller/podprobemarker"
	"kruise.io/kruise/pkg/controller/podreadiness"
	"kruise.io/kruise/pkg/controller/podunavailablebudget"
	"kruise.io/kruise/pkg/controller/resourcedistribution"
	"kruise.io/kruise/pkg/controller/reviewendpoints"
	"kruise.io/kruise/pkg/controller/sidecarset"
	"kruise.io/kruise/pkg/controller/statefulset"
	"kruise.io/kruise/pkg/controller/uniteddeployment"
	"kruise.io/kruise/pkg/controller/workloadspread"
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

// controllers lists all controllers. The order has no meaning: they run concurrently.
var controllers = []descriptor{
	{"cloneset", "CloneSet", nil, func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return cloneset.New(deps, cloneset.Options{ScalingExcludePreparingDelete: o.ScalingExcludePreparingDelete})
	}},
	{"statefulset", "StatefulSet", nil, alone(statefulset.New)},
	{"crr", "ContainerRecreateRequest", allOf(features.KruiseDaemon),
		func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
			return containerrecreaterequest.New(deps, containerrecreaterequest.Options{Namespace: o.SystemNamespace})
		}},
	{"podreadiness", "", nil, alone(podreadiness.New)},
	{"podcreation", "", allOf(features.PodWebhook), func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return podcreation.New(deps, podcreation.Options{Namespace: o.SystemNamespace})
	}},
	{"reviewendpoints", "", nil, func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return reviewendpoints.New(deps, reviewendpoints.Options{Namespace: o.SystemNamespace})
	}},
	{"container-launch-priority", "", nil, alone(launchorder.New)},
	{"podunavailablebudget", "PodUnavailableBudget",
		anyOf(features.PodUnavailableBudgetDeleteGate, features.PodUnavailableBudgetUpdateGate),
		func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
			return podunavailablebudget.New(deps, podunavailablebudget.Options{Namespace: o.SystemNamespace})
		}},
	{"nodeimage", "NodeImage", allOf(features.KruiseDaemon), func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return nodeimage.New(deps, nodeimage.Options{CreationDelay: o.NodeImageCreationDelay})
	}},
	{"imagepulljob", "ImagePullJob", allOf(features.KruiseDaemon, features.ImagePullJobGate),
		func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
			return imagepulljob.New(deps, imagepulljob.Options{
				PullSecretsNamespace: o.PullSecretsNamespace, Namespace: o.SystemNamespace,
				TagTTL: time.Duration(o.NodeImageTagTTLSeconds) * time.Second,
			})
		}},
	{"imagelistpulljob", "ImageListPullJob", allOf(features.KruiseDaemon, features.ImagePullJobGate), alone(imagelistpulljob.New)},
	{"ephemeraljob", "EphemeralJob", nil, alone(ephemeraljob.New)},
	{"sidecarset", "SidecarSet", nil, func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return sidecarset.New(deps, sidecarset.Options{Namespace: o.SystemNamespace, Metrics: o.sidecars})
	}},
	{"daemonset", "DaemonSet", nil, func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return daemonset.New(deps, daemonset.Options{BindPods: !o.AssignPodsByScheduler})
	}},
	{"broadcastjob", "BroadcastJob", nil, func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return broadcastjob.New(deps, broadcastjob.Options{BindPods: !o.AssignJobPodsByScheduler})
	}},
	{"advancedcronjob", "AdvancedCronJob", nil, alone(advancedcronjob.New)},
	{"uniteddeployment", "UnitedDeployment", nil, alone(uniteddeployment.New)},
	{"sidecarterminator", "", allOf(features.KruiseDaemon, features.SidecarTerminator), alone(jobsidecarterminator.New)},
	{"workloadspread", "WorkloadSpread", allOf(features.WorkloadSpread),
		func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
			return workloadspread.New(deps, workloadspread.Options{Namespace: o.SystemNamespace})
		}},
	{"persistentpodstate", "PersistentPodState", nil, func(deps controller.Deps, o *Options) (*reconcile.Controller, error) {
		return persistentpodstate.New(deps, persistentpodstate.Options{Namespace: o.SystemNamespace})
	}},
	{"podprobemarker", "PodProbeMarker", allOf(features.KruiseDaemon, features.PodProbeMarkerGate), alone(podprobemarker.New)},
	{"nodepodprobe", "NodePodProbe", allOf(features.KruiseDaemon, features.PodProbeMarkerGate), alone(nodepodprobe.New)},
	{"resourcedistribution", "ResourceDistribution", allOf(features.ResourceDistributionGate), alone(resourcedistribution.New)},
}

// moreWorkers has the number of workers of the controllers that have more than the others by default, by their names. These controllers
// wait for kube-apiserver in most of their passes.
var moreWorkers = map[string]int{"container-launch-priority": 4, "ephemeraljob": 10}

// starts reports whether the feature gates and CUSTOM_RESOURCE_ENABLE let the controller start. A controller without
// a kind is not limited by the environment variable.
func (d *descriptor) starts(o *Options, gate featuregate.FeatureGate) bool {
	if d.enabled != nil && !d.enabled(gate) {
		return false
	}
	// An empty list means all kinds.
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
