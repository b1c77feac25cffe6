package cloneset

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// defaultHistoryLimit is the number of revisions to keep if the spec does not set revisionHistoryLimit. It is the default of the
// workloads of Kubernetes.
const defaultHistoryLimit = 10

// settings are the values of the program's flags, for all CloneSets.
type settings struct {
	// shortHash puts only the hash of a revision into labels, for names that are too long for a label value.
	shortHash bool
	// rollback brings updated Pods back to the current revision when the partition is raised.
	rollback bool
	// preparingUpdateAsUpdate counts Pods that wait for the hook of their update as updated.
	preparingUpdateAsUpdate bool
	inPlace                 inplace.Options
	// excludePreparingDelete does not count Pods that a preDelete hook holds as replicas. A CloneSet can also set it for itself.
	excludePreparingDelete bool
	// recreateForClaims recreates Pods if claim templates changed together with the template.
	recreateForClaims bool
	// fewerEvents ignores changes of Pods that cannot affect a pass.
	fewerEvents bool
}

// settingsFrom reads the gates once. Gates do not change while the program runs.
func settingsFrom(deps controller.Deps, options Options) settings {
	return settings{
		shortHash:               deps.Features.Enabled(features.CloneSetShortHash),
		rollback:                deps.Features.Enabled(features.CloneSetPartitionRollback),
		preparingUpdateAsUpdate: deps.Features.Enabled(features.PreparingUpdateAsUpdate),
		inPlace: inplace.Options{
			EnvFromMetadata: deps.Features.Enabled(features.InPlaceUpdateEnvFromMetadata),
			Resources:       deps.Features.Enabled(features.InPlaceWorkloadVerticalScaling),
		},
		excludePreparingDelete: options.ScalingExcludePreparingDelete,
		recreateForClaims:      deps.Features.Enabled(features.RecreatePodWhenChangeVCTInCloneSetGate),
		fewerEvents:            deps.Features.Enabled(features.CloneSetEventHandlerOptimization),
	}
}

// filters returns the filter for changes of Pods that cannot affect a pass, if the feature gate is on.
func (s *settings) filters() []reconcile.Filter {
	if s.fewerEvents {
		return []reconcile.Filter{engine.NeedsReconcile}
	}
	return nil
}

// target returns the CloneSet in the form that the engine needs. It fails only if the template or the claim templates cannot be
// encoded.
func (s *settings) target(set *v1beta1.CloneSet, selector labels.Selector) (*engine.Target, error) {
	data, err := history.Data(&set.Spec.Template)
	if err != nil {
		return nil, err
	}
	claims, err := s.claimHash(set)
	if err != nil {
		return nil, err
	}
	// A list of 1,000 names is asked for each Pod.
	picked := sets.New(set.Spec.ScaleStrategy.PodsToDelete...)
	target := &engine.Target{
		Object: set, Kind: kind, Selector: selector, Replicas: replicasOf(set), MinReadySeconds: set.Spec.MinReadySeconds,
		Lifecycle: set.Spec.Lifecycle, Policy: kinds.RollingUpdateOf(set).PodUpdatePolicy, GraceSeconds: graceSeconds(set), InPlace: s.inPlace,
		Stopped:    kinds.RollingUpdateOf(set).Paused || onDelete(set),
		Compatible: s.compatible(set), Stamp: podcontrol.StampFullName,
		// Only CloneSets give their Pods this label.
		Adopts:    func(pod *corev1.Pod) bool { return pod.Labels[pub.CloneSetInstanceIDKey] != "" },
		Strange:   "they do not have the label " + pub.CloneSetInstanceIDKey,
		Picked:    func(pod *corev1.Pod) bool { return picked.Has(pod.Name) },
		Identity:  engine.RandomIdentity(set.Name, pub.CloneSetInstanceIDKey, set.Spec.ScaleStrategy.EnablePVCReuse),
		HashLabel: pub.PodTemplateHashKey,
		Revisions: engine.Revisions{
			Format:  history.PodTemplates,
			Content: history.Content{Data: data, Labels: set.Spec.Template.Labels, Annotations: set.Annotations},
			Current: set.Status.CurrentRevision, CollisionCount: set.Status.CollisionCount, Limit: defaultHistoryLimit,
			Adopts: true, Annotate: annotateClaims(claims, set.Spec.VolumeClaimTemplates),
		},
		CreateFailed: failed(set, v1beta1.CloneSetConditionFailedScale), UpdateFailed: failed(set, v1beta1.CloneSetConditionFailedUpdate),
	}
	if s.shortHash {
		target.Stamp = podcontrol.StampShortHash
	}
	if limit := set.Spec.RevisionHistoryLimit; limit != nil {
		target.Revisions.Limit = int(*limit)
	}
	return target, nil
}

// replicasOf returns the wanted number of Pods. The default of the API is 1.
func replicasOf(set *v1beta1.CloneSet) int {
	if set.Spec.Replicas == nil {
		return 1
	}
	return int(*set.Spec.Replicas)
}

// graceSeconds returns how many seconds a Pod is out of service before an in-place update changes it.
func graceSeconds(set *v1beta1.CloneSet) int32 {
	if strategy := kinds.RollingUpdateOf(set).InPlaceUpdateStrategy; strategy != nil {
		return strategy.GracePeriodSeconds
	}
	return 0
}

// failed reports whether the last pass that scaled, or updated, could not do so for all Pods. After such a pass, the engine sends a
// dry run first, so a server that still refuses leaves nothing half done.
func failed(set *v1beta1.CloneSet, what v1beta1.CloneSetConditionType) bool {
	return slices.ContainsFunc(set.Status.Conditions, func(c v1beta1.CloneSetCondition) bool {
		return c.Type == what && c.Status == corev1.ConditionTrue
	})
}

// compatible returns a rule that forbids in-place updates between revisions with different claim templates. It returns nil if the
// feature gate is off. Under InPlaceOnly there is no such rule, because recreation is not allowed there.
func (s *settings) compatible(set *v1beta1.CloneSet) func(from, to *appsv1.ControllerRevision) bool {
	if !s.recreateForClaims || kinds.RollingUpdateOf(set).PodUpdatePolicy != pub.InPlaceIfPossiblePodUpdatePolicy {
		return nil
	}
	return func(from, to *appsv1.ControllerRevision) bool { return !claimsDiffer(from, to) }
}

// claimHash returns the hash of the CloneSet's claim templates, or "" if the feature gate is off.
func (s *settings) claimHash(set *v1beta1.CloneSet) (string, error) {
	if !s.recreateForClaims {
		return "", nil
	}
	sum, err := claimHash(set.Spec.VolumeClaimTemplates)
	if err != nil {
		return "", fmt.Errorf("hash claim templates: %w", err)
	}
	return sum, nil
}
