package validation_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

func validStatefulSet() *apps.StatefulSet {
	labels := map[string]string{"app": "demo"}
	return &apps.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1"},
		Spec: apps.StatefulSetSpec{
			Replicas:            ptr.To[int32](3),
			Selector:            &metav1.LabelSelector{MatchLabels: labels},
			PodManagementPolicy: appsv1.ParallelPodManagement,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "demo:v1"}}},
			},
			RevisionHistoryLimit: ptr.To[int32](10),
			UpdateStrategy: apps.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &apps.RollingUpdateStatefulSetStrategy{
					PodUpdatePolicy: pub.ReCreatePodUpdatePolicy, Partition: ptr.To[int32](0),
					MaxUnavailable: number(1), MinReadySeconds: ptr.To[int32](0),
				},
			},
		},
	}
}

type (
	stsSpec    = apps.StatefulSetSpec
	stsRolling = apps.RollingUpdateStatefulSetStrategy
)

// statefulSetCases are the rules about a spec alone: a change to a valid StatefulSet, which is
// Parallel, and the errors that it must bring, none when it is allowed.
var statefulSetCases = map[string]struct {
	change func(s *stsSpec, r *stsRolling)
	want   []string
}{
	"valid":         {func(*stsSpec, *stsRolling) {}, nil},
	"replicas zero": {func(s *stsSpec, _ *stsRolling) { s.Replicas = ptr.To[int32](0) }, nil},
	"replicas negative": {
		func(s *stsSpec, _ *stsRolling) { s.Replicas = ptr.To[int32](-1) }, []string{"spec.replicas: -1"},
	},
	"selector missing": {func(s *stsSpec, _ *stsRolling) { s.Selector = nil }, []string{"spec.selector: Required"}},
	"selector empty": {
		func(s *stsSpec, _ *stsRolling) { s.Selector = &metav1.LabelSelector{} },
		[]string{"spec.selector: empty selector is invalid for statefulset"},
	},
	"selector of other labels": {
		func(s *stsSpec, _ *stsRolling) { s.Template.Labels = map[string]string{"app": "other"} },
		[]string{"spec.template.metadata.labels: `selector` does not match template `labels`"},
	},
	"container name": {
		func(s *stsSpec, _ *stsRolling) { s.Template.Spec.Containers[0].Name = "Not_DNS" },
		[]string{templatePath + `containers[0].name: "Not_DNS"`},
	},
	"restartPolicy Never": {
		func(s *stsSpec, _ *stsRolling) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyNever },
		[]string{templatePath + `restartPolicy: "Never": supported values: "Always"`},
	},
	"activeDeadlineSeconds": {
		func(s *stsSpec, _ *stsRolling) { s.Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](5) },
		[]string{templatePath + "activeDeadlineSeconds: Forbidden"},
	},
	"hostname and subdomain are not judged": {
		func(s *stsSpec, _ *stsRolling) {
			s.Template.Spec.Hostname, s.Template.Spec.Subdomain = "Not_DNS", "Not_DNS"
		}, nil,
	},
	"mount of a claim": {
		func(s *stsSpec, _ *stsRolling) {
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("data", corev1.ReadWriteOnce)}
			s.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		}, nil,
	},
	"mount of nothing": {
		func(s *stsSpec, _ *stsRolling) {
			s.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		}, []string{templatePath + `containers[0].volumeMounts[0].name: "data"`},
	},
	"claim without access modes": {
		func(s *stsSpec, _ *stsRolling) {
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("a")}
		}, []string{"spec.volumeClaimTemplates[0].spec.accessModes: Required"},
	},
	"serviceName": {func(s *stsSpec, _ *stsRolling) { s.ServiceName = "web" }, nil},
	"serviceName no DNS label": {
		func(s *stsSpec, _ *stsRolling) { s.ServiceName = "Not_DNS" }, []string{`spec.serviceName: "Not_DNS"`},
	},
	"podManagementPolicy": {
		func(s *stsSpec, _ *stsRolling) { s.PodManagementPolicy = "Sometimes" },
		[]string{`spec.podManagementPolicy: "Sometimes": supported values: "OrderedReady", "Parallel"`},
	},
	"revisionHistoryLimit negative": {
		func(s *stsSpec, _ *stsRolling) { s.RevisionHistoryLimit = ptr.To[int32](-1) }, []string{"spec.revisionHistoryLimit: -1"},
	},

	"type": {
		func(s *stsSpec, _ *stsRolling) { s.UpdateStrategy.Type = "Sometimes" },
		[]string{`spec.updateStrategy.type: "Sometimes": supported values: "RollingUpdate", "OnDelete"`},
	},
	"OnDelete": {
		func(s *stsSpec, _ *stsRolling) { s.UpdateStrategy = apps.StatefulSetUpdateStrategy{Type: "OnDelete"} }, nil,
	},
	"OnDelete with a block": {
		func(s *stsSpec, _ *stsRolling) { s.UpdateStrategy.Type = "OnDelete" },
		[]string{"spec.updateStrategy.rollingUpdate: only allowed with type RollingUpdate"},
	},
	"podUpdatePolicy": {
		func(_ *stsSpec, r *stsRolling) { r.PodUpdatePolicy = "Maybe" },
		[]string{rollingPath + `podUpdatePolicy: "Maybe": supported values: "ReCreate", "InPlaceIfPossible", "InPlaceOnly"`},
	},
	"InPlaceIfPossible without the gate": {
		func(_ *stsSpec, r *stsRolling) { r.PodUpdatePolicy = "InPlaceIfPossible" },
		[]string{rollingPath + "podUpdatePolicy: needs conditionType InPlaceUpdateReady in template.spec.readinessGates"},
	},
	"InPlaceOnly with another gate": {
		func(s *stsSpec, r *stsRolling) {
			r.PodUpdatePolicy = "InPlaceOnly"
			s.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "Other"}}
		}, []string{rollingPath + "podUpdatePolicy: readinessGates"},
	},
	"InPlaceIfPossible with the gate": {
		func(s *stsSpec, r *stsRolling) {
			r.PodUpdatePolicy = "InPlaceIfPossible"
			s.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "Other"}, {ConditionType: "InPlaceUpdateReady"}}
		}, nil,
	},
	"partition beyond replicas": {func(_ *stsSpec, r *stsRolling) { r.Partition = ptr.To[int32](5) }, nil},
	"partition negative": {
		func(_ *stsSpec, r *stsRolling) { r.Partition = ptr.To[int32](-1) }, []string{rollingPath + "partition: -1"},
	},
	"maxUnavailable 3":  {func(_ *stsSpec, r *stsRolling) { r.MaxUnavailable = number(3) }, nil},
	"maxUnavailable 1%": {func(_ *stsSpec, r *stsRolling) { r.MaxUnavailable = text("1%") }, nil},
	"maxUnavailable 0": {
		func(_ *stsSpec, r *stsRolling) { r.MaxUnavailable = number(0) }, []string{rollingPath + `maxUnavailable: "0": must be at least 1`},
	},
	"maxUnavailable 0%": {
		func(_ *stsSpec, r *stsRolling) { r.MaxUnavailable = text("0%") }, []string{rollingPath + `maxUnavailable: "0%": must be at least 1`},
	},
	"maxUnavailable negative": {
		func(_ *stsSpec, r *stsRolling) { r.MaxUnavailable = number(-1) }, []string{rollingPath + `maxUnavailable: "-1"`},
	},
	"maxUnavailable with decimals": {
		func(_ *stsSpec, r *stsRolling) { r.MaxUnavailable = text("2.5%") }, []string{rollingPath + `maxUnavailable: "2.5%": must be a non-negative`},
	},
	"maxUnavailable without %": {
		func(_ *stsSpec, r *stsRolling) { r.MaxUnavailable = text("2") }, []string{rollingPath + `maxUnavailable: "2": must be a non-negative`},
	},
	"maxUnavailable 2 with OrderedReady": {
		func(s *stsSpec, r *stsRolling) { s.PodManagementPolicy, r.MaxUnavailable = "OrderedReady", number(2) },
		[]string{rollingPath + `maxUnavailable: "2": can only work with Parallel`},
	},
	"maxUnavailable 1% with OrderedReady": {
		func(s *stsSpec, r *stsRolling) { s.PodManagementPolicy, r.MaxUnavailable = "OrderedReady", text("1%") },
		[]string{rollingPath + `maxUnavailable: "1%": can only work with Parallel`},
	},
	"maxUnavailable 1 with OrderedReady": {
		func(s *stsSpec, _ *stsRolling) { s.PodManagementPolicy = "OrderedReady" }, nil,
	},
	"unorderedUpdate": {
		func(_ *stsSpec, r *stsRolling) {
			r.UnorderedUpdate = &apps.UnorderedUpdateStrategy{PriorityStrategy: weights(5)}
		}, nil,
	},
	"unorderedUpdate with OrderedReady": {
		func(s *stsSpec, r *stsRolling) {
			s.PodManagementPolicy, r.UnorderedUpdate = "OrderedReady", &apps.UnorderedUpdateStrategy{}
		}, []string{rollingPath + "unorderedUpdate: can only work with Parallel"},
	},
	"weight too large": {
		func(_ *stsSpec, r *stsRolling) {
			r.UnorderedUpdate = &apps.UnorderedUpdateStrategy{PriorityStrategy: weights(101)}
		}, []string{rollingPath + "unorderedUpdate.priorityStrategy.weightPriority[0].weight: 101"},
	},
	"gracePeriodSeconds negative": {
		func(_ *stsSpec, r *stsRolling) {
			r.InPlaceUpdateStrategy = &pub.InPlaceUpdateStrategy{GracePeriodSeconds: -1}
		}, []string{rollingPath + "inPlaceUpdateStrategy.gracePeriodSeconds: -1"},
	},
	"minReadySeconds 300": {func(_ *stsSpec, r *stsRolling) { r.MinReadySeconds = ptr.To[int32](300) }, nil},
	"minReadySeconds 301": {
		func(_ *stsSpec, r *stsRolling) { r.MinReadySeconds = ptr.To[int32](301) },
		[]string{rollingPath + "minReadySeconds: 301: must be no more than 300 seconds"},
	},
	"minReadySeconds negative": {
		func(_ *stsSpec, r *stsRolling) { r.MinReadySeconds = ptr.To[int32](-1) }, []string{rollingPath + "minReadySeconds: -1"},
	},

	"reserveOrdinals": {reserve(intstr.FromInt32(0), intstr.FromString("0-2"), intstr.FromString("5-5")), nil},
	"reserveOrdinals negative": {
		reserve(intstr.FromInt32(1), intstr.FromInt32(-1)), []string{`spec.reserveOrdinals[1]: "-1": must be a non-negative number such as 3, or a range`},
	},
	"reserveOrdinals backwards": {reserve(intstr.FromString("3-2")), []string{`spec.reserveOrdinals[0]: "3-2"`}},
	"reserveOrdinals as text":   {reserve(intstr.FromString("3")), []string{`spec.reserveOrdinals[0]: "3"`}},
	"reserveOrdinals to nowhere": {
		reserve(intstr.FromString("3-"), intstr.FromString("-3"), intstr.FromString("a-b"), intstr.FromString("1-2-3"), intstr.FromString("1-9999999999")),
		[]string{
			`spec.reserveOrdinals[0]: "3-"`, `spec.reserveOrdinals[1]: "-3"`, `spec.reserveOrdinals[2]: "a-b"`, `spec.reserveOrdinals[3]: "1-2-3"`,
			`spec.reserveOrdinals[4]: "1-9999999999"`,
		},
	},
	"scale maxUnavailable 10%":           {scale(text("10%")), nil},
	"scale without a limit":              {scale(nil), nil},
	"scale maxUnavailable 0":             {scale(number(0)), []string{`spec.scaleStrategy.maxUnavailable: "0": must be at least 1`}},
	"scale maxUnavailable abc":           {scale(text("abc")), []string{`spec.scaleStrategy.maxUnavailable: "abc"`}},
	"scale maxUnavailable with decimals": {scale(text("2.5%")), []string{`spec.scaleStrategy.maxUnavailable: "2.5%"`}},
	"scale maxUnavailable with OrderedReady": {
		func(s *stsSpec, r *stsRolling) {
			scale(number(2))(s, r)
			s.PodManagementPolicy = "OrderedReady"
		}, []string{`spec.scaleStrategy.maxUnavailable: "2": can only work with Parallel`},
	},
	"ordinals": {func(s *stsSpec, _ *stsRolling) { s.Ordinals = &apps.StatefulSetOrdinals{Start: 5} }, nil},
	"ordinals negative": {
		func(s *stsSpec, _ *stsRolling) { s.Ordinals = &apps.StatefulSetOrdinals{Start: -1} }, []string{"spec.ordinals.start: -1"},
	},
	"retention":                          {retention("Retain", "Delete"), nil},
	"retention without a word is Retain": {retention("", ""), nil},
	"retention of another kind": {
		retention("Maybe", "Never"),
		[]string{
			`spec.persistentVolumeClaimRetentionPolicy.whenDeleted: "Maybe": supported values: "Retain", "Delete"`,
			`spec.persistentVolumeClaimRetentionPolicy.whenScaled: "Never": supported values: "Retain", "Delete"`,
		},
	},
	"volumeClaimUpdateStrategy": {
		func(s *stsSpec, _ *stsRolling) { s.VolumeClaimUpdateStrategy.Type = "OnPodRollingUpdate" }, nil,
	},
	"volumeClaimUpdateStrategy of another kind": {
		func(s *stsSpec, _ *stsRolling) { s.VolumeClaimUpdateStrategy.Type = "Maybe" },
		[]string{`spec.volumeClaimUpdateStrategy.type: "Maybe": supported values: "OnPodRollingUpdate", "OnDelete"`},
	},
	"lifecycle is not judged": {
		func(s *stsSpec, _ *stsRolling) {
			s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{LabelsHandler: map[string]string{"": ""}}}
		}, nil,
	},
}

func reserve(values ...intstr.IntOrString) func(*stsSpec, *stsRolling) {
	return func(s *stsSpec, _ *stsRolling) { s.ReserveOrdinals = values }
}

func scale(maxUnavailable *intstr.IntOrString) func(*stsSpec, *stsRolling) {
	return func(s *stsSpec, _ *stsRolling) {
		s.ScaleStrategy = &apps.StatefulSetScaleStrategy{MaxUnavailable: maxUnavailable}
	}
}

func retention(whenDeleted, whenScaled apps.PersistentVolumeClaimRetentionPolicyType) func(*stsSpec, *stsRolling) {
	return func(s *stsSpec, _ *stsRolling) {
		s.PersistentVolumeClaimRetentionPolicy = &apps.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: whenDeleted, WhenScaled: whenScaled,
		}
	}
}
