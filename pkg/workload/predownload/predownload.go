package predownload

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
)

// Settings of the jobs that the user does not set: seconds for one pull, retries, and seconds for which an ended job is kept.
const (
	defaultTimeout = 300
	retries        = 1
	keepSeconds    = 600
)

// Settings are the user's settings for image pulls before an update.
type Settings struct {
	// Parallelism is the number of nodes that pull an image at once. Nil means one.
	Parallelism *intstr.IntOrString
	// TimeoutSeconds is the time limit of one pull.
	TimeoutSeconds *int32
	// MinUpdatedReadyPods is the number of Pods that must be updated and ready before images are pulled.
	MinUpdatedReadyPods *intstr.IntOrString
}

// FromAnnotations reads the settings of workloads that store them in annotations. Values that cannot be parsed are ignored.
func FromAnnotations(annotations map[string]string) Settings {
	var s Settings
	if number, err := strconv.ParseInt(annotations[pub.ImagePreDownloadParallelismKey], 10, 32); err == nil && number >= 0 {
		s.Parallelism = new(intstr.FromInt32(int32(number)))
	}
	if number, err := strconv.ParseInt(annotations[pub.ImagePreDownloadTimeoutSecondsKey], 10, 32); err == nil && number > 0 {
		s.TimeoutSeconds = new(int32(number))
	}
	if text := annotations[pub.ImagePreDownloadMinUpdatedReadyPodsKey]; text != "" {
		amount := intstr.Parse(text)
		if _, err := intstr.GetScaledValueFromIntOrPercent(&amount, 100, true); err == nil {
			s.MinUpdatedReadyPods = &amount
		}
	}
	return s
}

// Due reports whether enough Pods are updated and ready. A setting that cannot be resolved holds nothing up.
func (s Settings) Due(updatedReady, replicas int) bool {
	least, err := intstr.GetScaledValueFromIntOrPercent(new(ptr.Deref(s.MinUpdatedReadyPods, intstr.FromInt32(0))), replicas, true)
	return err != nil || updatedReady >= least
}

// Decided reports whether it was already decided for the revision whether to create jobs.
func Decided(revision *appsv1.ControllerRevision) bool {
	return revision.Labels[pub.ImagePreDownloadCreatedKey] == "true" || revision.Labels[pub.ImagePreDownloadIgnoredKey] == "true"
}

// Rollout is what decides whether pulling images before the update is worthwhile.
type Rollout struct {
	Replicas, Partition, MaxUnavailable int
	// Few is the number of replicas up to which an update finishes before an earlier pull would. Each kind sets its own.
	Few int
	// InPlace is true if Pods are updated in place.
	InPlace bool
}

// Worthwhile reports whether images pulled now would be on the right nodes before the update needs them. An update by
// recreation can move Pods to other nodes. An update in one batch needs all images at once.
func (r Rollout) Worthwhile() bool {
	oneBatch := r.Partition == 0 && r.MaxUnavailable >= r.Replicas
	return r.InPlace && r.Replicas > r.Few && !oneBatch
}

// Workload is the workload that the jobs are for.
type Workload struct {
	// Owner refers to the workload as the controller of its jobs.
	Owner     metav1.OwnerReference
	Namespace string
	Selector  *metav1.LabelSelector
	// From are the templates of the Pods that are to be updated. To is the template of the revision Update.
	From     []*corev1.PodTemplateSpec
	To       *corev1.PodTemplateSpec
	Update   *appsv1.ControllerRevision
	Settings Settings
}

// Jobs returns one job for each container whose image some Pods do not have yet. Their names depend only on the revision and
// the container, so a second attempt creates none.
func Jobs(w *Workload) (jobs []*v1beta1.ImagePullJob) {
	for i := range w.To.Spec.Containers {
		container := &w.To.Spec.Containers[i]
		if slices.ContainsFunc(w.From, func(from *corev1.PodTemplateSpec) bool { return !runs(from, container) }) {
			jobs = append(jobs, w.job(container))
		}
	}
	return jobs
}

// runs reports whether the template has the container with the same image.
func runs(template *corev1.PodTemplateSpec, container *corev1.Container) bool {
	return slices.ContainsFunc(template.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == container.Name && c.Image == container.Image
	})
}

// job returns the job of one container. It selects the nodes of the Pods that are not updated, and uses the pull secrets of the
// template.
func (w *Workload) job(container *corev1.Container) *v1beta1.ImagePullJob {
	labels := maps.Clone(w.To.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	hash := history.ShortHash(w.Update.Name)
	labels[pub.ControllerRevisionDataHashKey], labels[pub.ControllerRevisionHashKey] = hash, hash
	job := &v1beta1.ImagePullJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: w.Update.Name + "-" + container.Name, Namespace: w.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{w.Owner},
		},
		Spec: v1beta1.ImagePullJobSpec{Image: container.Image, ImagePullJobTemplate: v1beta1.ImagePullJobTemplate{
			PodSelector: &v1beta1.ImagePullJobPodSelector{LabelSelector: *w.outdated()},
			Parallelism: new(ptr.Deref(w.Settings.Parallelism, intstr.FromInt32(1))),
			PullPolicy: &v1beta1.PullPolicy{
				TimeoutSeconds: new(ptr.Deref(w.Settings.TimeoutSeconds, defaultTimeout)), BackoffLimit: ptr.To[int32](retries),
			},
			CompletionPolicy: v1beta1.CompletionPolicy{Type: v1beta1.CompletionPolicyAlways, TTLSecondsAfterFinished: ptr.To[int32](keepSeconds)},
			SandboxConfig:    sandbox(labels, w.To.Annotations),
		}},
	}
	for _, secret := range w.To.Spec.ImagePullSecrets {
		if secret.Name != "" && !slices.Contains(job.Spec.PullSecrets, secret.Name) && len(job.Spec.PullSecrets) < pub.MaxPullSecrets {
			job.Spec.PullSecrets = append(job.Spec.PullSecrets, secret.Name)
		}
	}
	return job
}

// sandbox returns the metadata of the Pods for the container runtime, as far as a job may have it. What a runtime reads is short, so the
// largest values are left out.
func sandbox(labels, annotations map[string]string) *v1beta1.SandboxConfig {
	room := pub.MaxSandboxConfigSize
	config := &v1beta1.SandboxConfig{Labels: smallest(labels, &room)}
	config.Annotations = smallest(annotations, &room)
	return config
}

// smallest returns the smallest entries that fit into the room, and takes it from the room.
func smallest(m map[string]string, room *int) map[string]string {
	if m == nil {
		return nil
	}
	kept := make(map[string]string, len(m))
	bySize := func(a, b string) int {
		return cmp.Or(cmp.Compare(pub.SizeOf(a, m[a]), pub.SizeOf(b, m[b])), cmp.Compare(a, b))
	}
	for _, key := range slices.SortedFunc(maps.Keys(m), bySize) {
		if *room -= pub.SizeOf(key, m[key]); *room < 0 {
			break
		}
		kept[key] = m[key]
	}
	return kept
}

// outdated selects the Pods of the workload that are not at the revision. It matches both forms of the revision label. A name that is
// too long for a label is on no Pod, and the server would refuse it in a selector.
func (w *Workload) outdated() *metav1.LabelSelector {
	selector := w.Selector.DeepCopy()
	forms := []string{w.Update.Name, history.ShortHash(w.Update.Name)}
	selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: pub.ControllerRevisionHashKey, Operator: metav1.LabelSelectorOpNotIn,
		Values: slices.DeleteFunc(forms, func(form string) bool { return len(validation.IsValidLabelValue(form)) > 0 }),
	})
	return selector
}
