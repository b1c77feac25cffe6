package kinds

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// The kinds.
var (
	ReplicationController = corev1.SchemeGroupVersion.WithKind("ReplicationController").GroupKind()
	ReplicaSet            = appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind()
	Deployment            = appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind()
	StatefulSet           = appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind()
	DaemonSet             = appsv1.SchemeGroupVersion.WithKind("DaemonSet").GroupKind()
	Job                   = batchv1.SchemeGroupVersion.WithKind("Job").GroupKind()

	CloneSet            = apps.Kind("CloneSet")
	AdvancedStatefulSet = apps.Kind("StatefulSet")
	AdvancedDaemonSet   = apps.Kind("DaemonSet")
	BroadcastJob        = apps.Kind("BroadcastJob")
	UnitedDeployment    = apps.Kind("UnitedDeployment")
)

// table holds every workload kind. Messages to users list kinds in this order.
var table = []*Kind{
	{
		// Its Pods belong to ReplicaSets, so it does not own them.
		GroupKind: Deployment, Resource: appsv1.SchemeGroupVersion.WithResource("deployments"), New: empty[appsv1.Deployment],
		Spread: true, Through: &ReplicaSet, Watched: true,
		Replicas: replicas(func(d *appsv1.Deployment) *int32 { return d.Spec.Replicas }),
		Template: template(func(d *appsv1.Deployment) *corev1.PodTemplateSpec { return &d.Spec.Template }),
		Selector: selector(func(d *appsv1.Deployment) *metav1.LabelSelector { return d.Spec.Selector }),
	},
	{
		GroupKind: ReplicaSet, Resource: appsv1.SchemeGroupVersion.WithResource("replicasets"), New: empty[appsv1.ReplicaSet],
		Spread: true, OwnsPods: true, AbsencePermits: true, Watched: true, PodsUnread: true,
		Replicas: replicas(func(r *appsv1.ReplicaSet) *int32 { return r.Spec.Replicas }),
		Template: template(func(r *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &r.Spec.Template }),
		Selector: selector(func(r *appsv1.ReplicaSet) *metav1.LabelSelector { return r.Spec.Selector }),
	},
	{
		GroupKind: StatefulSet, Resource: appsv1.SchemeGroupVersion.WithResource("statefulsets"), New: empty[appsv1.StatefulSet],
		Spread: true, OwnsPods: true, AbsencePermits: true, StableNames: true, Watched: true,
		Replicas: replicas(func(s *appsv1.StatefulSet) *int32 { return s.Spec.Replicas }),
		Template: template(func(s *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &s.Spec.Template }),
		Selector: selector(func(s *appsv1.StatefulSet) *metav1.LabelSelector { return s.Spec.Selector }),
		Claims:   claims(func(s *appsv1.StatefulSet) []corev1.PersistentVolumeClaim { return s.Spec.VolumeClaimTemplates }),
	},
	{
		GroupKind: DaemonSet, Resource: appsv1.SchemeGroupVersion.WithResource("daemonsets"), New: empty[appsv1.DaemonSet],
		OwnsPods: true, AbsencePermits: true,
		// The nodes decide how many Pods a DaemonSet wants, so the number is in its status.
		Replicas: replicas(func(d *appsv1.DaemonSet) *int32 { return &d.Status.DesiredNumberScheduled }),
		Template: template(func(d *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &d.Spec.Template }),
	},
	{
		GroupKind: ReplicationController, Resource: corev1.SchemeGroupVersion.WithResource("replicationcontrollers"),
		New: empty[corev1.ReplicationController], OwnsPods: true, AbsencePermits: true,
		Replicas: replicas(func(r *corev1.ReplicationController) *int32 { return r.Spec.Replicas }),
		Template: template(func(r *corev1.ReplicationController) *corev1.PodTemplateSpec { return r.Spec.Template }),
	},
	{
		// A Job has no Replicas, so every existing Pod counts as wanted.
		GroupKind: Job, Resource: batchv1.SchemeGroupVersion.WithResource("jobs"), New: empty[batchv1.Job],
		Spread: true, OwnsPods: true, AbsencePermits: true, PodsUnread: true,
		Template: template(func(j *batchv1.Job) *corev1.PodTemplateSpec { return &j.Spec.Template }),
		Selector: selector(func(j *batchv1.Job) *metav1.LabelSelector { return j.Spec.Selector }),
	},
	{
		GroupKind: CloneSet, Resource: v1beta1.SchemeGroupVersion.WithResource("clonesets"), New: empty[v1beta1.CloneSet],
		Spread: true, OwnsPods: true, AbsencePermits: true, Protected: true, Watched: true,
		SetsReadiness: true, LateWrites: "cloneset_scale_expectation_leakage", UpdateOrder: asCloneSet, Progress: progress(progressOfCloneSet),
		Replicas: either(
			replicas(func(s *v1beta1.CloneSet) *int32 { return s.Spec.Replicas }),
			replicas(func(s *apps.CloneSet) *int32 { return s.Spec.Replicas })),
		Template: template(func(s *v1beta1.CloneSet) *corev1.PodTemplateSpec { return &s.Spec.Template }),
		Selector: selector(func(s *v1beta1.CloneSet) *metav1.LabelSelector { return s.Spec.Selector }),
		Claims:   claims(func(s *v1beta1.CloneSet) []corev1.PersistentVolumeClaim { return s.Spec.VolumeClaimTemplates }),
	},
	{
		GroupKind: AdvancedStatefulSet, Resource: v1beta1.SchemeGroupVersion.WithResource("statefulsets"), New: empty[v1beta1.StatefulSet],
		Spread: true, OwnsPods: true, AbsencePermits: true, Protected: true, StableNames: true, Watched: true,
		SetsReadiness: true, UpdateOrder: lastOrdinalFirst, Progress: progress(progressOfStatefulSet),
		Replicas: either(
			replicas(func(s *v1beta1.StatefulSet) *int32 { return s.Spec.Replicas }),
			replicas(func(s *apps.StatefulSet) *int32 { return s.Spec.Replicas })),
		Template: template(func(s *v1beta1.StatefulSet) *corev1.PodTemplateSpec { return &s.Spec.Template }),
		Selector: selector(func(s *v1beta1.StatefulSet) *metav1.LabelSelector { return s.Spec.Selector }),
		Claims:   claims(func(s *v1beta1.StatefulSet) []corev1.PersistentVolumeClaim { return s.Spec.VolumeClaimTemplates }),
	},
	{
		GroupKind: AdvancedDaemonSet, Resource: v1beta1.SchemeGroupVersion.WithResource("daemonsets"), New: empty[v1beta1.DaemonSet],
		OwnsPods: true, AbsencePermits: true, Watched: true, SetsReadiness: true,
		UpdateOrder: lastNodeFirst, Progress: progress(progressOfDaemonSet),
		Replicas: replicas(func(d *v1beta1.DaemonSet) *int32 { return &d.Status.DesiredNumberScheduled }),
		Template: template(func(d *v1beta1.DaemonSet) *corev1.PodTemplateSpec { return &d.Spec.Template }),
	},
	{
		// The same is true for a BroadcastJob.
		GroupKind: BroadcastJob, Resource: v1beta1.SchemeGroupVersion.WithResource("broadcastjobs"), New: empty[v1beta1.BroadcastJob],
		OwnsPods: true, AbsencePermits: true, Watched: true, SetsReadiness: true,
		Template: template(func(j *v1beta1.BroadcastJob) *corev1.PodTemplateSpec { return &j.Spec.Template }),
	},
	{
		// It owns workloads, not Pods. Its replicas protect it from deletion.
		GroupKind: UnitedDeployment, Resource: v1beta1.SchemeGroupVersion.WithResource("uniteddeployments"),
		New: empty[v1beta1.UnitedDeployment], Protected: true,
		Replicas: either(replicas(replicasOfSubsets), replicas(replicasOfInternalSubsets)),
	},
}

var (
	byKind = index(func(kind *Kind) schema.GroupKind { return kind.GroupKind })
	byType = index(func(kind *Kind) reflect.Type { return reflect.TypeOf(kind.New()) })
)

// index makes a map of the table. The keys of the rows must differ.
func index[K comparable](key func(*Kind) K) map[K]*Kind {
	byKey := make(map[K]*Kind, len(table))
	for _, kind := range table {
		byKey[key(kind)] = kind
	}
	return byKey
}
