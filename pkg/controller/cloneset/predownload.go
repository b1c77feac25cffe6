package cloneset

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/predownload"
	"kruise.io/kruise/pkg/workload/rollout"
)

// fewReplicas is the number of replicas up to which an update finishes before an earlier pull would.
const fewReplicas = 3

// download returns what the pass knows about the download of the new images. revision is nil if the pass could not store it. Until
// all Pods are updated, the current revision differs from the update revision.
func (p *planner) download(revision *appsv1.ControllerRevision, updatedReady int32) *controller.Download {
	return &controller.Download{
		Revision: revision, Done: p.Current.Name == p.Update.Name,
		Due: p.downloadSettings().Due(int(updatedReady), p.Replicas), Jobs: p.downloads,
	}
}

// downloadSettings returns what the user sets for downloads. The zero value has the defaults of package predownload. An annotation has
// an effect if its field is not set: a percentage of updated Pods has no field, and without inPlaceUpdateStrategy no setting has one.
func (p *planner) downloadSettings() predownload.Settings {
	annotated := predownload.FromAnnotations(p.set.Annotations)
	fields := ptr.Deref(p.rolling.InPlaceUpdateStrategy, v1beta1.InPlaceUpdateStrategy{})
	return predownload.Settings{
		Parallelism:         cmp.Or(fields.ImagePreDownloadParallelism, annotated.Parallelism),
		TimeoutSeconds:      cmp.Or(fields.ImagePreDownloadTimeoutSeconds, annotated.TimeoutSeconds),
		MinUpdatedReadyPods: cmp.Or(fields.ImagePreDownloadMinUpdatedReadyPods, annotated.MinUpdatedReadyPods),
	}
}

// downloads returns the jobs of the update revision, and whether they are worthwhile. The numbers are resolved again here, because
// the planner's diff can be missing after an error. They are worthwhile only for updates in place: a Pod that is recreated may start
// on another node.
func (p *planner) downloads() (jobs []*v1beta1.ImagePullJob, worthwhile bool, err error) {
	from, err := p.Template(p.Current)
	if err != nil {
		return nil, false, err
	}
	to, err := p.Template(p.Update)
	if err != nil {
		return nil, false, err
	}
	rolling := p.rolling
	partition, err := rollout.Partition(rolling.Partition, p.Replicas)
	if err != nil {
		return nil, false, fmt.Errorf("resolve partition: %w", err)
	}
	unavailable, err := rollout.MaxUnavailable(rolling.MaxUnavailable, p.Replicas)
	if err != nil {
		return nil, false, err
	}
	// The comparison of the two templates answers for all Pods at the current revision. Pods at older revisions pull when they are
	// updated.
	_, inPlace := inplace.Plan(from, to, p.InPlace)
	inPlace = inPlace && (p.Compatible == nil || p.Compatible(p.Current, p.Update))
	r := predownload.Rollout{
		Few: fewReplicas, Replicas: p.Replicas, Partition: partition, MaxUnavailable: unavailable,
		InPlace: inPlace && !onDelete(p.set) && rolling.PodUpdatePolicy != pub.ReCreatePodUpdatePolicy,
	}
	if !r.Worthwhile() {
		return nil, false, nil
	}
	return predownload.Jobs(&predownload.Workload{
		Owner: p.OwnerRef(), Namespace: p.set.Namespace, Selector: p.set.Spec.Selector,
		From: []*corev1.PodTemplateSpec{from}, To: to, Update: p.Update, Settings: p.downloadSettings(),
	}), true, nil
}
