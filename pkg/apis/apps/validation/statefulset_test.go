package validation_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func changedStatefulSet(change func(*stsSpec, *stsRolling)) *apps.StatefulSet {
	set := validStatefulSet()
	change(&set.Spec, set.Spec.UpdateStrategy.RollingUpdate)
	return set
}

// Cases statefulset 3, 7, 8.
func TestStatefulSetCreate(t *testing.T) {
	for name, test := range statefulSetCases {
		t.Run(name, func(t *testing.T) {
			rulestest.Create(t, changedStatefulSet(test.change), validation.ValidateStatefulSet, test.want)
		})
	}
}

// An update that sets a value that is wrong is refused as a create is; one that leaves a wrong
// value alone is not.
func TestStatefulSetUpdate(t *testing.T) {
	for name, test := range statefulSetCases {
		t.Run("sets: "+name, func(t *testing.T) {
			set := changedStatefulSet(test.change)
			old := validStatefulSet()
			old.Spec.Selector, old.Spec.ServiceName = set.Spec.Selector, set.Spec.ServiceName
			old.Spec.PodManagementPolicy = set.Spec.PodManagementPolicy
			old.Spec.Template.Spec.ReadinessGates = set.Spec.Template.Spec.ReadinessGates
			want := slices.DeleteFunc(slices.Clone(test.want), func(expected string) bool {
				return expected == "spec.selector: Required" || name == "selector empty" || name == "serviceName no DNS label" ||
					name == "podManagementPolicy"
			})
			rulestest.Errors(t, want, validation.ValidateStatefulSetUpdate(set, old))
		})
		t.Run("leaves: "+name, func(t *testing.T) {
			rulestest.UpdateOfLabels(t, changedStatefulSet(test.change), changedStatefulSet(test.change), validation.ValidateStatefulSetUpdate)
		})
	}
}

func TestStatefulSetName(t *testing.T) {
	set := validStatefulSet()
	set.Name = "Not_DNS"
	rulestest.Errors(t, []string{`metadata.name: Invalid value: "Not_DNS"`}, validation.ValidateStatefulSet(set))
	set.Name = "a.b"
	rulestest.Errors(t, nil, validation.ValidateStatefulSet(set))
}

// Case statefulset 22.
func TestStatefulSetCannotChange(t *testing.T) {
	set := changedStatefulSet(func(s *stsSpec, _ *stsRolling) {
		s.Template.Labels = map[string]string{"app": "demo", "tier": "web"}
		s.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
		s.ServiceName, s.PodManagementPolicy = "web", "OrderedReady"
	})
	rulestest.Errors(t, []string{
		"spec.selector: selector cannot be changed; put the stored one back, or create another StatefulSet",
		"spec.serviceName: serviceName cannot be changed", "spec.podManagementPolicy: podManagementPolicy cannot be changed",
	}, validation.ValidateStatefulSetUpdate(set, validStatefulSet()))
}

// Case statefulset 23: claim templates may change.
func TestStatefulSetCanChange(t *testing.T) {
	set := changedStatefulSet(func(s *stsSpec, r *stsRolling) {
		s.Replicas, s.RevisionHistoryLimit, s.Ordinals = ptr.To[int32](5), ptr.To[int32](1), &apps.StatefulSetOrdinals{Start: 1}
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
		s.ReserveOrdinals = []intstr.IntOrString{intstr.FromInt32(1)}
		s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{FinalizersHandler: []string{"a/b"}}}
		s.ScaleStrategy = &apps.StatefulSetScaleStrategy{MaxUnavailable: number(2)}
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("data", corev1.ReadWriteOnce)}
		s.VolumeClaimUpdateStrategy.Type = "OnDelete"
		s.PersistentVolumeClaimRetentionPolicy = &apps.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: "Delete"}
		r.Paused = true
	})
	rulestest.Errors(t, nil, validation.ValidateStatefulSetUpdate(set, validStatefulSet()))
}

func TestStatefulSetInPlaceOnly(t *testing.T) {
	old := changedStatefulSet(func(s *stsSpec, r *stsRolling) {
		r.PodUpdatePolicy = "InPlaceOnly"
		s.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "InPlaceUpdateReady"}}
	})
	set := old.DeepCopy()
	set.Spec.Template.Spec.Containers[0].Image = "demo:v2"
	rulestest.Errors(t, nil, validation.ValidateStatefulSetUpdate(set, old))
	set.Spec.Template.Spec.HostNetwork = true
	set.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "demo:v2"}}
	rulestest.Errors(t, []string{
		templatePath + "hostNetwork: with InPlaceOnly, only container images can change", templatePath + "initContainers: InPlaceOnly",
	}, validation.ValidateStatefulSetUpdate(set, old))
	set.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = "InPlaceIfPossible"
	rulestest.Errors(t, nil, validation.ValidateStatefulSetUpdate(set, old))
}

func TestClaimGrowth(t *testing.T) {
	sized := func(name, size string) corev1.PersistentVolumeClaim {
		result := claim(name, corev1.ReadWriteOnce)
		result.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		return result
	}
	of := func(name, class string) corev1.PersistentVolumeClaim {
		result := sized(name, "1Gi")
		result.Spec.StorageClassName = &class
		return result
	}
	const path = "spec.volumeClaimTemplates"
	cases := map[string]struct {
		old, claims []corev1.PersistentVolumeClaim
		strategy    apps.VolumeClaimUpdateStrategyType
		want        []string
	}{
		"same":  {[]corev1.PersistentVolumeClaim{sized("a", "1Gi")}, []corev1.PersistentVolumeClaim{sized("a", "1Gi")}, "OnPodRollingUpdate", nil},
		"grows": {[]corev1.PersistentVolumeClaim{sized("a", "1Gi")}, []corev1.PersistentVolumeClaim{sized("a", "2Gi")}, "OnPodRollingUpdate", nil},
		"another order": {
			[]corev1.PersistentVolumeClaim{sized("a", "1Gi"), sized("b", "2Gi")},
			[]corev1.PersistentVolumeClaim{sized("b", "2Gi"), sized("a", "1Gi")}, "OnPodRollingUpdate", nil,
		},
		"shrinks": {
			[]corev1.PersistentVolumeClaim{sized("a", "2Gi")}, []corev1.PersistentVolumeClaim{sized("a", "1Gi")}, "OnPodRollingUpdate", nil,
		},
		"shrinks with OnDelete": {
			[]corev1.PersistentVolumeClaim{sized("a", "2Gi")}, []corev1.PersistentVolumeClaim{sized("a", "1Gi")}, "OnDelete", nil,
		},
		"changes otherwise": {
			[]corev1.PersistentVolumeClaim{sized("a", "1Gi")}, []corev1.PersistentVolumeClaim{claim("a", corev1.ReadWriteMany)}, "OnPodRollingUpdate",
			[]string{path + "[0].spec.accessModes: the access modes of a claim cannot change"},
		},
		"another class": {
			[]corev1.PersistentVolumeClaim{sized("a", "1Gi")}, []corev1.PersistentVolumeClaim{of("a", "fast")}, "OnPodRollingUpdate",
			[]string{path + "[0].spec.storageClassName: the storage class of a claim cannot change"},
		},
		"added":   {nil, []corev1.PersistentVolumeClaim{sized("a", "1Gi")}, "OnPodRollingUpdate", []string{path + "[0].metadata.name: no claim can be added"}},
		"removed": {[]corev1.PersistentVolumeClaim{sized("a", "1Gi")}, nil, "OnPodRollingUpdate", []string{path + ": no claim can be removed"}},
		"renamed": {
			[]corev1.PersistentVolumeClaim{sized("a", "1Gi")}, []corev1.PersistentVolumeClaim{sized("b", "1Gi")}, "OnPodRollingUpdate",
			[]string{path + "[0].metadata.name: renamed", path + ": no claim can be removed"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			old, set := validStatefulSet(), validStatefulSet()
			old.Spec.VolumeClaimTemplates, set.Spec.VolumeClaimTemplates = test.old, test.claims
			set.Spec.VolumeClaimUpdateStrategy.Type = test.strategy
			rulestest.Errors(t, test.want, validation.ValidateClaimGrowth(set, old))
			rulestest.Errors(t, nil, validation.ValidateStatefulSetUpdate(set, old))
		})
	}
}

func TestStatefulSetStatus(t *testing.T) {
	set := validStatefulSet()
	set.Status = apps.StatefulSetStatus{Replicas: 3, VolumeClaims: []apps.VolumeClaimStatus{{CompatibleReplicas: 3}}}
	rulestest.Errors(t, nil, validation.ValidateStatefulSetStatusUpdate(set, validStatefulSet()))
	set.Status = apps.StatefulSetStatus{
		ObservedGeneration: -1, Replicas: -1, ReadyReplicas: -1, AvailableReplicas: -1, CurrentReplicas: -1, UpdatedReplicas: -1,
		UpdatedReadyReplicas: -1, UpdatedAvailableReplicas: -1, CollisionCount: ptr.To[int32](-1),
		VolumeClaims: []apps.VolumeClaimStatus{{CompatibleReplicas: -1, CompatibleReadyReplicas: -1}},
	}
	rulestest.Errors(t, []string{
		"status.observedGeneration: -1", "status.replicas: -1", "status.readyReplicas: -1", "status.availableReplicas: -1",
		"status.currentReplicas: -1", "status.updatedReplicas: -1", "status.updatedReadyReplicas: -1",
		"status.updatedAvailableReplicas: -1", "status.collisionCount: -1",
		"status.volumeClaims[0].compatibleReplicas: -1", "status.volumeClaims[0].compatibleReadyReplicas: -1",
	}, validation.ValidateStatefulSetStatusUpdate(set, validStatefulSet()))
	old := validStatefulSet()
	old.Status.CollisionCount = ptr.To[int32](2)
	rulestest.Errors(t, []string{"status.collisionCount: cannot be unset"}, validation.ValidateStatefulSetStatusUpdate(validStatefulSet(), old))
}
