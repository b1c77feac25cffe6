package create

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// The texts are those that users and scripts know.
var (
	errSource   = errors.New("either --image or --from must be specified")
	errCommand  = errors.New("cannot specify --from and command")
	errSchedule = errors.New("from must be an existing advancedCronJob")
	errPod      = errors.New("must specify --pod")
	errImage    = errors.New("must specify --image")
)

// typeMeta returns the type of a Kruise object in the version in which it is stored.
func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: kind}
}

// restart are the flags of a request to restart containers. unready and minStarted are in seconds.
type restart struct {
	pod        string
	containers []string
	unready    int64
	minStarted int32
}

// request returns the request. Its fields that the server copies from the Pod are not set. It reads the Pod for the
// names of its containers, and refuses one that the Pod does not have.
func (r *restart) request(ctx context.Context, o *options) (runtime.Object, error) {
	if r.pod == "" {
		return nil, errPod
	}
	pod, err := o.cluster.Core.CoreV1().Pods(o.cluster.Namespace).Get(ctx, r.pod, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("pod %s in namespace %s not exist", r.pod, o.cluster.Namespace)
	case err != nil:
		return nil, err
	}
	// Without names, all containers of the Pod are restarted.
	names := r.containers
	for i := range pod.Spec.Containers {
		if len(r.containers) == 0 {
			names = append(names, pod.Spec.Containers[i].Name)
		}
	}
	request := &v1beta1.ContainerRecreateRequest{
		TypeMeta: typeMeta("ContainerRecreateRequest"), ObjectMeta: metav1.ObjectMeta{Name: o.name, Namespace: o.cluster.Namespace},
		Spec: v1beta1.ContainerRecreateRequestSpec{
			// A request that nobody carries out ends after five minutes, and is deleted half an hour after its end.
			PodName: r.pod, ActiveDeadlineSeconds: new(int64(300)), TTLSecondsAfterFinished: new(int32(1800)),
			Strategy: &v1beta1.ContainerRecreateRequestStrategy{
				FailurePolicy:             v1beta1.FailContainerRecreateRequestFailurePolicy,
				UnreadyGracePeriodSeconds: &r.unready, MinStartedSeconds: r.minStarted,
			},
		},
	}
	for _, name := range names {
		if !slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) {
			return nil, fmt.Errorf("has container not exist: %s", name)
		}
		request.Spec.Containers = append(request.Spec.Containers, v1beta1.ContainerRecreateRequestContainer{Name: name})
	}
	return request, nil
}

// pull are the flags of a job that pulls an image. An empty parallelism means the default of the server.
type pull struct {
	image       string
	parallelism string
	nodes       []string
	secrets     []string
}

// job returns the ImagePullJob. Without names of nodes, it has no selector and means all nodes.
func (p *pull) job(_ context.Context, o *options) (runtime.Object, error) {
	if p.image == "" {
		return nil, errImage
	}
	job := &v1beta1.ImagePullJob{
		TypeMeta: typeMeta("ImagePullJob"), ObjectMeta: metav1.ObjectMeta{Name: o.name, Namespace: o.cluster.Namespace},
		Spec: v1beta1.ImagePullJobSpec{Image: p.image},
	}
	job.Spec.PullSecrets = p.secrets
	if p.parallelism != "" {
		job.Spec.Parallelism = new(intstr.Parse(p.parallelism))
	}
	if len(p.nodes) > 0 {
		job.Spec.Selector = &v1beta1.ImagePullJobNodeSelector{Names: p.nodes}
	}
	return job, nil
}

// source are the flags of a job: an image and a command, or an AdvancedCronJob.
type source struct{ image, from string }

// validate requires an image or a schedule, and not both. A schedule brings its own command.
func (s *source) validate(o *options) error {
	switch {
	case (s.image == "") == (s.from == ""):
		return errSource
	case s.from != "" && len(o.command) > 0:
		return errCommand
	default:
		return nil
	}
}

// schedule reads the AdvancedCronJob that --from names. Another type is an error.
func (s *source) schedule(ctx context.Context, o *options) (*v1beta1.AdvancedCronJob, error) {
	info, err := o.cluster.One([]string{s.from})
	if err != nil {
		return nil, err
	}
	if info.Mapping.Resource.Resource != "advancedcronjobs" {
		return nil, errSchedule
	}
	return o.cluster.Kruise.AppsV1beta1().AdvancedCronJobs(info.Namespace).Get(ctx, info.Name, metav1.GetOptions{})
}

// manual returns the metadata of an object that a user creates from a schedule. The schedule controls the object, so
// it is deleted with it. The annotation is the one of kubectl's create job.
func manual(o *options, schedule *v1beta1.AdvancedCronJob, template metav1.ObjectMeta) metav1.ObjectMeta {
	annotations := map[string]string{"cronjob.kubernetes.io/instantiate": "manual"}
	maps.Copy(annotations, template.Annotations)
	return metav1.ObjectMeta{
		Name: o.name, Namespace: o.cluster.Namespace, Labels: template.Labels, Annotations: annotations,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "AdvancedCronJob", Name: schedule.Name, UID: schedule.UID,
			Controller: new(true),
		}},
	}
}

// templateOf returns the name of the template that a schedule has, for a message.
func templateOf(schedule *v1beta1.AdvancedCronJob) string {
	switch {
	case schedule.Spec.Template.JobTemplate != nil:
		return "jobTemplate"
	case schedule.Spec.Template.BroadcastJobTemplate != nil:
		return "broadcastJobTemplate"
	default:
		return "imageListPullJobTemplate"
	}
}

// broadcastJob returns the BroadcastJob. From an image, its Pod runs once on each node and is not restarted.
func (s *source) broadcastJob(ctx context.Context, o *options) (runtime.Object, error) {
	if err := s.validate(o); err != nil {
		return nil, err
	}
	job := &v1beta1.BroadcastJob{
		TypeMeta: typeMeta("BroadcastJob"), ObjectMeta: metav1.ObjectMeta{Name: o.name, Namespace: o.cluster.Namespace},
	}
	// The command replaces the entrypoint of the image, as in kubectl create job.
	if s.image != "" {
		job.Spec.Template.Spec = corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: o.name, Image: s.image, Command: o.command}},
		}
		return job, nil
	}
	schedule, err := s.schedule(ctx, o)
	if err != nil {
		return nil, err
	}
	// A schedule has exactly one template, so another one means another kind of job.
	template := schedule.Spec.Template.BroadcastJobTemplate
	if template == nil {
		return nil, fmt.Errorf("from must be a broadcastJob template, but got %s", templateOf(schedule))
	}
	job.ObjectMeta, job.Spec = manual(o, schedule, template.ObjectMeta), template.Spec
	return job, nil
}

// jobFromSchedule returns the Job of an AdvancedCronJob.
func (s *source) jobFromSchedule(ctx context.Context, o *options) (runtime.Object, error) {
	if err := s.validate(o); err != nil {
		return nil, err
	}
	schedule, err := s.schedule(ctx, o)
	if err != nil {
		return nil, err
	}
	template := schedule.Spec.Template.JobTemplate
	if template == nil {
		return nil, fmt.Errorf("from must be a job template, but got %s", templateOf(schedule))
	}
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: manual(o, schedule, template.ObjectMeta), Spec: template.Spec,
	}, nil
}
