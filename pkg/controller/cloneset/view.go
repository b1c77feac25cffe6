package cloneset

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/rollout"
)

// settings are what the program's flags say for all CloneSets.
type settings struct {
	shortHash               bool
	rollback                bool
	preparingUpdateAsUpdate bool
	inPlace                 inplace.Options
	excludePreparingDelete  bool
	// recreateForClaims recreates Pods where claim templates changed together with the template.
	recreateForClaims bool
	// giveUpWaiting goes on without a cache that does not show a write in time.
	giveUpWaiting bool
	// fewerEvents leaves changes of Pods out that decide nothing.
	fewerEvents bool
}

func settingsFrom(deps controller.Deps) settings {
	return settings{
		shortHash:               deps.Features.Enabled(features.CloneSetShortHash),
		rollback:                deps.Features.Enabled(features.CloneSetPartitionRollback),
		preparingUpdateAsUpdate: deps.Features.Enabled(features.PreparingUpdateAsUpdate),
		inPlace: inplace.Options{
			EnvFromMetadata: deps.Features.Enabled(features.InPlaceUpdateEnvFromMetadata),
			Resources:       deps.Features.Enabled(features.InPlaceWorkloadVerticalScaling),
		},
		excludePreparingDelete: deps.ScalingExcludePreparingDelete,
		recreateForClaims:      deps.Features.Enabled(features.RecreatePodWhenChangeVCTInCloneSetGate),
		giveUpWaiting:          deps.Features.Enabled(features.ForceDeleteTimeoutExpectationGate),
		fewerEvents:            deps.Features.Enabled(features.CloneSetEventHandlerOptimization),
	}
}

// view is all that decides what a reconcile does. Its objects belong to the caches: nothing here changes them.
type view struct {
	settings
	set *v1beta1.CloneSet
	// pods are the active ones, by name; inactive ones are terminating or finished.
	pods, inactive []*corev1.Pod
	// claims are those that are not terminating.
	claims []*corev1.PersistentVolumeClaim
	// revisions are sorted, the oldest first, and hold current and update.
	revisions       []*appsv1.ControllerRevision
	current, update *appsv1.ControllerRevision
	now             time.Time
	// sightings are of Pods whose update only time will show to be complete. They are of this process and its clock.
	sightings  map[types.UID]sighting
	nodeLabels func(node string) map[string]string
	// refused are the changes of this pass's refresh that no server took.
	refused []change
	// templates are the decoded templates of revisions, by name.
	templates map[string]*corev1.PodTemplateSpec
}

// sortPods fills the view's Pods from all that the CloneSet controls.
func (v *view) sortPods(all []*corev1.Pod) {
	slices.SortFunc(all, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range all {
		if podstate.Active(pod) {
			v.pods = append(v.pods, pod)
		} else {
			v.inactive = append(v.inactive, pod)
		}
	}
}

func (v *view) replicas() int {
	if v.set.Spec.Replicas == nil {
		return 1
	}
	return int(*v.set.Spec.Replicas)
}

// rolling returns the settings of a rolling update, never nil.
func (v *view) rolling() *v1beta1.RollingUpdateCloneSetStrategy {
	if r := v.set.Spec.UpdateStrategy.RollingUpdate; r != nil {
		return r
	}
	return &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: pub.ReCreatePodUpdatePolicy}
}

// failed tells whether the last pass that decided on updates, or on the number of Pods, could not do all of it.
func (v *view) failed(what v1beta1.CloneSetConditionType) bool {
	return slices.ContainsFunc(v.set.Status.Conditions, func(c v1beta1.CloneSetCondition) bool {
		return c.Type == what && c.Status == corev1.ConditionTrue
	})
}

func (v *view) onDelete() bool {
	return v.set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteCloneSetStrategyType
}

// updated tells whether a Pod is at the update revision.
func (v *view) updated(pod *corev1.Pod) bool {
	return history.Matches(pod.Labels[pub.ControllerRevisionHashKey], v.update.Name)
}

// rolledOut tells whether the update revision has reached all. Pods that are missing are no proof of it. It is asked before
// anything is decided: with a partition, Pods that are where the template came back to would be taken to another revision.
func (v *view) rolledOut() bool {
	return len(v.pods) == v.replicas() && !slices.ContainsFunc(v.pods, func(pod *corev1.Pod) bool { return !v.updated(pod) })
}

func (v *view) available(pod *corev1.Pod) bool {
	return podstate.Available(pod, v.set.Spec.MinReadySeconds, v.now)
}

// specified tells whether somebody, or a recreating update, picked the Pod for deletion.
func (v *view) specified(pod *corev1.Pod) bool {
	return lifecycle.SpecifiedDelete(pod) || slices.Contains(v.set.Spec.ScaleStrategy.PodsToDelete, pod.Name)
}

func preparingDelete(pod *corev1.Pod) bool {
	return lifecycle.Of(pod) == pub.LifecycleStatePreparingDelete
}

// revisionOf returns the revision that a Pod's label names, or nil when it was trimmed.
func (v *view) revisionOf(pod *corev1.Pod) *appsv1.ControllerRevision {
	label := pod.Labels[pub.ControllerRevisionHashKey]
	for _, revision := range v.revisions {
		if history.Matches(label, revision.Name) {
			return revision
		}
	}
	return nil
}

func (v *view) template(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	if template, found := v.templates[revision.Name]; found {
		return template, nil
	}
	template, err := history.Template(revision)
	if err != nil {
		return nil, err
	}
	if v.templates == nil {
		v.templates = map[string]*corev1.PodTemplateSpec{}
	}
	v.templates[revision.Name] = template
	return template, nil
}

// diff is the arithmetic over the view's Pods.
func (v *view) diff() (rollout.Diff, error) {
	rolling := v.rolling()
	inputs := make([]rollout.Pod, 0, len(v.pods))
	for _, pod := range v.pods {
		inputs = append(inputs, rollout.Pod{
			New: v.updated(pod), Available: v.available(pod), SpecifiedDelete: v.specified(pod),
			PreparingUpdate: lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate, PreparingDelete: preparingDelete(pod),
		})
	}
	diff, err := rollout.Calculate(rollout.Spec{
		Replicas: v.replicas(), Partition: rolling.Partition, MaxUnavailable: rolling.MaxUnavailable, MaxSurge: rolling.MaxSurge,
		ScaleMaxUnavailable: v.set.Spec.ScaleStrategy.MaxUnavailable, Paused: rolling.Paused,
		SameRevision: v.current.Name == v.update.Name, Rollback: v.rollback,
		ExcludePreparingDelete:  v.excludePreparingDelete || v.set.Spec.ScaleStrategy.ExcludePreparingDelete,
		PreparingUpdateAsUpdate: v.preparingUpdateAsUpdate,
	}, inputs)
	if err != nil {
		return diff, fmt.Errorf("calculate what to do: %w", err)
	}
	return diff, nil
}

// released splits off the Pods whose labels the selector no longer matches.
func (v *view) released(selector labels.Selector) (leave []*corev1.Pod) {
	stay := v.pods[:0:0]
	for _, pod := range v.pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			stay = append(stay, pod)
		} else {
			leave = append(leave, pod)
		}
	}
	v.pods = stay
	return leave
}

func ownerRef(set *v1beta1.CloneSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(set, kind)
}
