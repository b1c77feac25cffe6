package statefulset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/predownload"
)

// fewReplicas is the number of replicas up to which an update finishes before an earlier pull would.
const fewReplicas = 3

// download returns what the pass knows about the download of the new images. The settings of a StatefulSet are annotations.
func (p *planner) download(revision *appsv1.ControllerRevision, status *v1beta1.StatefulSetStatus) *controller.Download {
	settings := predownload.FromAnnotations(p.set.Annotations)
	return &controller.Download{
		Revision: revision, Done: status.CurrentRevision == status.UpdateRevision,
		Due:  settings.Due(int(status.UpdatedReadyReplicas), p.Replicas),
		Jobs: func() ([]*v1beta1.ImagePullJob, bool, error) { return p.downloads(settings) },
	}
}

// downloads returns the jobs of the update revision, and whether they are worthwhile. They are worthwhile only for updates in place:
// a Pod that is recreated may start on another node.
func (p *planner) downloads(settings predownload.Settings) (jobs []*v1beta1.ImagePullJob, worthwhile bool, err error) {
	from, err := p.Template(p.Current)
	if err != nil {
		return nil, false, err
	}
	to, err := p.Template(p.Update)
	if err != nil {
		return nil, false, err
	}
	unavailable, err := p.maxUnavailable()
	if err != nil {
		return nil, false, err
	}
	_, inPlace := inplace.Plan(from, to, p.InPlace)
	rollout := predownload.Rollout{
		Few: fewReplicas, Replicas: p.Replicas, Partition: int(ptr.Deref(p.rolling.Partition, 0)), MaxUnavailable: unavailable,
		InPlace: inPlace && !onDelete(p.set) && p.rolling.PodUpdatePolicy != pub.ReCreatePodUpdatePolicy,
	}
	if !rollout.Worthwhile() {
		return nil, false, nil
	}
	return predownload.Jobs(&predownload.Workload{
		Owner: p.OwnerRef(), Namespace: p.set.Namespace, Selector: p.set.Spec.Selector, From: []*corev1.PodTemplateSpec{from}, To: to,
		Update: p.Update, Settings: settings,
	}), true, nil
}
