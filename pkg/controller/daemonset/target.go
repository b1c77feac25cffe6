package daemonset

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
)

// defaultHistoryLimit is the number of revisions to keep if the spec does not set revisionHistoryLimit. It is the default of the
// workloads of Kubernetes.
const defaultHistoryLimit = 10

// settings are the values of the program's flags, for all DaemonSets.
type settings struct {
	// bindPods binds new Pods to their nodes without the scheduler. inPlace says what may change in running Pods.
	bindPods bool
	inPlace  inplace.Options
	// prune leaves nodes on which a DaemonSet does not run out of its rolling update.
	prune bool
}

// settingsFrom reads the gates once. Gates do not change while the program runs.
func settingsFrom(deps controller.Deps, options Options) settings {
	return settings{
		bindPods: options.BindPods,
		inPlace: inplace.Options{
			EnvFromMetadata: deps.Features.Enabled(features.InPlaceUpdateEnvFromMetadata),
			Resources:       deps.Features.Enabled(features.InPlaceWorkloadVerticalScaling),
		},
		prune: deps.Features.Enabled(features.DaemonSetPruneIneligibleNodes),
	}
}

// revisions is how a DaemonSet stores its revisions. The revision label of Pods and of revisions is the same.
var revisions = history.Format{HashLabel: pub.ControllerRevisionHashKey, Hash: templateHash, Same: history.SamePodTemplate}

// templateHash returns the hash of the Pod template in a revision's data, as the workloads of Kubernetes name their revisions. A
// revision is found by its data, so only its name depends on the hash. A template that cannot be decoded is hashed as an empty one.
// The collision count is part of the hash, so another count gives another name.
func templateHash(data []byte, collisionCount *int32) string {
	h := fnv.New32a()
	if template, err := history.Template(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}}); err == nil {
		_, _ = fmt.Fprintf(h, "%v", dump.ForHash(*template))
	}
	if collisionCount != nil {
		// Kubernetes also hashes eight bytes for this 32-bit number, so an equal template gets the same hash there.
		count := make([]byte, 8)
		binary.LittleEndian.PutUint32(count, uint32(*collisionCount))
		_, _ = h.Write(count)
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// target returns the DaemonSet in the form that the engine needs. It fails only if the template cannot be encoded.
func (r *Reconciler) target(set *v1beta1.DaemonSet, selector labels.Selector) (*engine.Target, error) {
	data, err := history.Data(&set.Spec.Template)
	if err != nil {
		return nil, err
	}
	// ReplaceAtOnce: the replacement needs the node of the Pod, so a mark for a later deletion would gain nothing.
	target := &engine.Target{
		Object: set, Kind: kind, Selector: selector, MinReadySeconds: set.Spec.MinReadySeconds,
		Policy: pub.ReCreatePodUpdatePolicy, InPlace: r.settings.inPlace, ReplaceAtOnce: true, Identity: engine.PlaceIdentity(set.Name),
		Stopped: onDelete(set) || ptr.Deref(rollingOf(set).Paused, false),
		Stamp:   stamp, Adopts: func(*corev1.Pod) bool { return true },
		Fresh:    func(ctx context.Context) (metav1.Object, error) { return r.fresh(ctx, set) },
		Describe: describe,
		Revisions: engine.Revisions{
			Format:         revisions,
			Content:        history.Content{Data: data, Labels: set.Spec.Template.Labels, Annotations: set.Annotations},
			CollisionCount: set.Status.CollisionCount, Limit: defaultHistoryLimit, LimitUsed: true, Adopts: true,
			Recorded: history.ShortHash, // As in the label of the Pods.
		},
	}
	// Validation refuses a hook for updates in place, so only preDelete is passed on.
	if hooks := set.Spec.Lifecycle; hooks != nil {
		target.Lifecycle = &pub.Lifecycle{PreDelete: hooks.PreDelete}
	}
	if inPlace(set) {
		target.Policy = pub.InPlaceIfPossiblePodUpdatePolicy
	}
	if limit := set.Spec.RevisionHistoryLimit; limit != nil {
		target.Revisions.Limit = int(*limit)
	}
	return target, nil
}

// stamp writes the hash of a revision into the given Pod, which the caller owns. The label of a DaemonSet's Pod is the hash without
// the name, as in Kubernetes.
func stamp(pod *corev1.Pod, revision string) {
	metav1.SetMetaDataLabel(&pod.ObjectMeta, pub.ControllerRevisionHashKey, history.ShortHash(revision))
}

// rollingOf returns the settings of a rolling update. It never returns nil. The zero value has neither a partition nor a selector.
func rollingOf(set *v1beta1.DaemonSet) *v1beta1.RollingUpdateDaemonSet {
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		return rolling
	}
	return &v1beta1.RollingUpdateDaemonSet{}
}

// onDelete reports whether Pods are updated only when a user deletes them.
func onDelete(set *v1beta1.DaemonSet) bool {
	return set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteDaemonSetStrategyType
}

// inPlace reports whether running Pods may be updated. Under OnDelete, only the user replaces Pods.
func inPlace(set *v1beta1.DaemonSet) bool {
	return !onDelete(set) && rollingOf(set).RollingUpdateType == v1beta1.InplaceRollingUpdateType
}

// describe returns the events about Pods. Their words are those of the DaemonSets of Kubernetes.
func describe(result *engine.Result) (reason, message string) {
	switch {
	case result.Act == engine.UpdateInPlace && result.Err == nil:
		return "SuccessfulUpdatePodInPlace", fmt.Sprintf("successfully update pod %s in-place", result.Pod)
	case result.Act == engine.UpdateInPlace || result.Act == engine.MarkForDeletion:
		return result.DescribeUpdate()
	default:
		return controller.DescribePod(result)
	}
}
