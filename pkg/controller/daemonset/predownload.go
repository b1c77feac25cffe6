package daemonset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/predownload"
)

// download returns what the pass knows about the download of the new images. Its settings are annotations. A revision of the past can
// have Pods on nodes that do not count, so the end is also checked by the revisions of Pods.
func (p *planner) download(revision *appsv1.ControllerRevision, status *v1beta1.DaemonSetStatus) *controller.Download {
	settings := predownload.FromAnnotations(p.set.Annotations)
	updatedReady := 0
	for _, pod := range p.Pods {
		updatedReady += one(p.Updated(pod) && p.Ready(pod))
	}
	return &controller.Download{
		Revision: revision, Due: settings.Due(updatedReady, p.desired),
		Done: status.UpdatedNumberScheduled == status.DesiredNumberScheduled && len(p.outdatedRevisions()) == 0,
		Jobs: func() ([]*v1beta1.ImagePullJob, bool, error) { return p.downloads(settings) },
	}
}

// outdatedRevisions returns the revisions of the Pods that are to be updated. Pods can be at several old revisions if the template
// changed again during a rollout.
func (p *planner) outdatedRevisions() (old []*appsv1.ControllerRevision) {
	for _, revision := range p.History {
		if revision != p.Update && slices.ContainsFunc(p.Pods, func(pod *corev1.Pod) bool { return p.At(pod, revision) }) {
			old = append(old, revision)
		}
	}
	return old
}

// downloads returns the jobs of the update revision, and whether they are worthwhile. Pods that are recreated use the image of their
// node too. InPlace is therefore always true, and there is no minimum number of Pods.
func (p *planner) downloads(settings predownload.Settings) (jobs []*v1beta1.ImagePullJob, worthwhile bool, err error) {
	amounts, err := p.amounts()
	if err != nil {
		return nil, false, err
	}
	rollout := predownload.Rollout{
		Replicas: p.desired, Partition: amounts.partition, MaxUnavailable: amounts.maxUnavailable, InPlace: true,
	}
	if !rollout.Worthwhile() {
		return nil, false, nil
	}
	to, err := p.Template(p.Update)
	if err != nil {
		return nil, false, err
	}
	// A container whose image all old revisions already have needs no job.
	var from []*corev1.PodTemplateSpec
	for _, revision := range p.outdatedRevisions() {
		template, err := p.Template(revision)
		if err != nil {
			return nil, false, err
		}
		from = append(from, template)
	}
	return predownload.Jobs(&predownload.Workload{
		Owner: p.OwnerRef(), Namespace: p.set.Namespace, Selector: p.set.Spec.Selector, From: from, To: to, Update: p.Update,
		Settings: settings,
	}), true, nil
}
