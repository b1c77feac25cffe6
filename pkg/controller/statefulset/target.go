package statefulset

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/ordinals"
)

// defaultHistoryLimit is the number of revisions to keep if the spec does not set revisionHistoryLimit. It is the default of the
// workloads of Kubernetes.
const defaultHistoryLimit = 10

// settings are the values of the program's feature gates, for all StatefulSets.
type settings struct {
	// startOrdinal respects spec.ordinals.start. indexLabel writes the label with the ordinal. retention carries out the retention
	// policy of claims. resize enlarges claims.
	startOrdinal, indexLabel, retention, resize bool
	preparingUpdateAsUpdate                     bool
	inPlace                                     inplace.Options
	// classes returns a StorageClass. It is nil if claims are not resized.
	classes func(name string) (*storagev1.StorageClass, error)
}

// settingsFrom reads the gates once. Gates do not change while the program runs.
func settingsFrom(deps controller.Deps) settings {
	s := settings{
		startOrdinal:            deps.Features.Enabled(features.StatefulSetStartOrdinal),
		indexLabel:              deps.Features.Enabled(features.PodIndexLabel),
		retention:               deps.Features.Enabled(features.StatefulSetAutoDeletePVC),
		resize:                  deps.Features.Enabled(features.StatefulSetAutoResizePVCGate),
		preparingUpdateAsUpdate: deps.Features.Enabled(features.PreparingUpdateAsUpdate),
		inPlace: inplace.Options{
			EnvFromMetadata: deps.Features.Enabled(features.InPlaceUpdateEnvFromMetadata),
			Resources:       deps.Features.Enabled(features.InPlaceWorkloadVerticalScaling),
		},
	}
	if s.resize {
		// The informer is asked for only with the gate on, so StorageClasses are not cached otherwise.
		s.classes = deps.KubeInformers.Storage().V1().StorageClasses().Lister().Get
	}
	return s
}

// target returns the StatefulSet in the form that the engine needs. wanted are the ordinals in range, or nil if they are not known.
// It fails only if the template cannot be encoded.
func (r *Reconciler) target(set *v1beta1.StatefulSet, selector labels.Selector, wanted []int) (*engine.Target, error) {
	data, err := history.Data(&set.Spec.Template)
	if err != nil {
		return nil, err
	}
	rolling := rollingOf(set)
	collisions := set.Status.CollisionCount
	if collisions == nil {
		// The count is part of the name of the first revision too, as in StatefulSets of Kubernetes.
		collisions = ptr.To[int32](0)
	}
	// Exact: the labels of Pods hold the complete name of the revision, as in Kubernetes, so Pods can move between both kinds.
	return &engine.Target{
		Object: set, Kind: kind, Selector: selector, Replicas: replicasOf(set), MinReadySeconds: ptr.Deref(rolling.MinReadySeconds, 0),
		Lifecycle: set.Spec.Lifecycle, Policy: rolling.PodUpdatePolicy, GraceSeconds: graceSeconds(rolling), InPlace: r.settings.inPlace,
		Stopped: rolling.Paused || onDelete(set), Describe: describer(set.Name), TellDeletionTwice: true,
		Stamp: stamp, ReplaceAtOnce: true, StateOptional: true,
		// A Pod whose name is not one of the set's is never adopted: it could not fill a slot.
		Adopts: func(pod *corev1.Pod) bool {
			_, ours := ordinals.Of(set.Name, pod)
			return ours
		},
		Strange: "their names are not names of this StatefulSet",
		Fresh: func(ctx context.Context) (metav1.Object, error) {
			return r.sets.StatefulSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
		},
		Identity: engine.OrdinalIdentity(set.Name, func(pods []*corev1.Pod) []string { return claimNames(set, wanted, pods) }),
		Revisions: engine.Revisions{
			Format:  history.PodTemplates,
			Content: history.Content{Data: data, Labels: set.Spec.Template.Labels, Annotations: set.Annotations},
			Current: set.Status.CurrentRevision, CollisionCount: collisions,
			Limit: int(ptr.Deref(set.Spec.RevisionHistoryLimit, defaultHistoryLimit)),
			Exact: true, KeepCurrent: true, Adopts: true,
		},
		CreateFailed: failed(set, v1beta1.StatefulSetConditionFailedCreatePod),
		UpdateFailed: failed(set, v1beta1.StatefulSetConditionFailedUpdatePod),
	}, nil
}

// stamp writes the complete name of the revision into the labels of the given object, which the caller owns.
func stamp(pod *corev1.Pod, revision string) {
	metav1.SetMetaDataLabel(&pod.ObjectMeta, pub.ControllerRevisionHashKey, revision)
}

// replicasOf returns the wanted number of Pods. The default of the API is 1.
func replicasOf(set *v1beta1.StatefulSet) int { return int(ptr.Deref(set.Spec.Replicas, 1)) }

// rollingOf returns the settings of a rolling update. It never returns nil.
func rollingOf(set *v1beta1.StatefulSet) *v1beta1.RollingUpdateStatefulSetStrategy {
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		return rolling
	}
	return &v1beta1.RollingUpdateStatefulSetStrategy{PodUpdatePolicy: pub.ReCreatePodUpdatePolicy}
}

// graceSeconds returns how many seconds a Pod is out of service before an in-place update changes it.
func graceSeconds(rolling *v1beta1.RollingUpdateStatefulSetStrategy) int32 {
	if rolling.InPlaceUpdateStrategy == nil {
		return 0
	}
	return rolling.InPlaceUpdateStrategy.GracePeriodSeconds
}

// onDelete reports whether Pods are updated only when a user deletes them.
func onDelete(set *v1beta1.StatefulSet) bool {
	return set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
}

// ordered reports whether the Pods are created and deleted one after the other. Every policy other than Parallel means OrderedReady,
// which is the default.
func ordered(set *v1beta1.StatefulSet) bool {
	return set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
}

// failed reports whether the last pass could not create, or update, all Pods. After such a pass, the engine sends a dry run first, so
// a server that still refuses leaves nothing half done.
func failed(set *v1beta1.StatefulSet, what appsv1.StatefulSetConditionType) bool {
	return slices.ContainsFunc(set.Status.Conditions, func(c appsv1.StatefulSetCondition) bool {
		return c.Type == what && c.Status == corev1.ConditionTrue
	})
}
