package cloneset

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// defaultHistoryLimit is how many revisions are kept where the spec does not say.
const defaultHistoryLimit = 10

// settings are what the program's flags say for all CloneSets.
type settings struct {
	shortHash               bool
	rollback                bool
	preparingUpdateAsUpdate bool
	inPlace                 inplace.Options
	excludePreparingDelete  bool
	// recreateForClaims recreates Pods where claim templates changed together with the template.
	recreateForClaims bool
	// fewerEvents leaves out changes of Pods that decide nothing.
	fewerEvents bool
}

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

// filters leave out changes of Pods that decide nothing, where the gate asks for it.
func (s *settings) filters() []reconcile.Filter {
	if s.fewerEvents {
		return []reconcile.Filter{engine.WorthAPass}
	}
	return nil
}

// target returns the CloneSet as the engine needs it.
func (s *settings) target(set *v1beta1.CloneSet, selector labels.Selector) (*engine.Target, error) {
	data, err := history.Data(&set.Spec.Template)
	if err != nil {
		return nil, err
	}
	claims, err := s.claimHash(set)
	if err != nil {
		return nil, err
	}
	target := &engine.Target{
		Object: set, Kind: kind, Selector: selector, Replicas: replicasOf(set), MinReadySeconds: set.Spec.MinReadySeconds,
		Lifecycle: set.Spec.Lifecycle, Policy: rollingOf(set).PodUpdatePolicy, GraceSeconds: graceSeconds(set), InPlace: s.inPlace,
		Compatible: s.compatible(set), Stamp: podcontrol.StampFullName,
		Picked:        func(pod *corev1.Pod) bool { return slices.Contains(set.Spec.ScaleStrategy.PodsToDelete, pod.Name) },
		InstanceLabel: pub.CloneSetInstanceIDKey, ReuseClaims: set.Spec.ScaleStrategy.EnablePVCReuse,
		Revisions: engine.Revisions{
			Format:  history.PodTemplates,
			Content: history.Content{Data: data, Labels: set.Spec.Template.Labels, Annotations: set.Annotations},
			Current: set.Status.CurrentRevision, CollisionCount: set.Status.CollisionCount, Limit: defaultHistoryLimit,
			Annotate: annotateClaims(claims),
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

func replicasOf(set *v1beta1.CloneSet) int {
	if set.Spec.Replicas == nil {
		return 1
	}
	return int(*set.Spec.Replicas)
}

// rollingOf returns the settings of a rolling update, never nil.
func rollingOf(set *v1beta1.CloneSet) *v1beta1.RollingUpdateCloneSetStrategy {
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		return rolling
	}
	return &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: pub.ReCreatePodUpdatePolicy}
}

func graceSeconds(set *v1beta1.CloneSet) int32 {
	if strategy := rollingOf(set).InPlaceUpdateStrategy; strategy != nil {
		return strategy.GracePeriodSeconds
	}
	return 0
}

// failed tells whether the last pass that decided on updates, or on the number of Pods, could not do all of it.
func failed(set *v1beta1.CloneSet, what v1beta1.CloneSetConditionType) bool {
	return slices.ContainsFunc(set.Status.Conditions, func(c v1beta1.CloneSetCondition) bool {
		return c.Type == what && c.Status == corev1.ConditionTrue
	})
}

// compatible refuses an update in place between revisions with different claim templates, where the gate asks for it.
func (s *settings) compatible(set *v1beta1.CloneSet) func(from, to *appsv1.ControllerRevision) bool {
	if !s.recreateForClaims || rollingOf(set).PodUpdatePolicy != pub.InPlaceIfPossiblePodUpdatePolicy {
		return nil
	}
	return func(from, to *appsv1.ControllerRevision) bool { return !claimsDiffer(from, to) }
}

// claimHash returns the hash of the set's claim templates, or nothing where it decides nothing.
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
