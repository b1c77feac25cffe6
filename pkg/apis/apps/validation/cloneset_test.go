package validation_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func valid() *apps.CloneSet {
	labels := map[string]string{"app": "demo"}
	return &apps.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1"},
		Spec: apps.CloneSetSpec{
			Replicas: ptr.To[int32](3),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "demo:v1"}}},
			},
			RevisionHistoryLimit: ptr.To[int32](10),
			UpdateStrategy: apps.CloneSetUpdateStrategy{
				Type: apps.RollingUpdateCloneSetStrategyType,
				RollingUpdate: &apps.RollingUpdateCloneSetStrategy{
					PodUpdatePolicy: pub.ReCreatePodUpdatePolicy, Partition: number(0), MaxUnavailable: text("20%"), MaxSurge: number(0),
				},
			},
		},
	}
}

func claim(name string, modes ...corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes,
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: oneGi}},
		},
	}
}

func number(value int32) *intstr.IntOrString { return new(intstr.FromInt32(value)) }
func text(value string) *intstr.IntOrString  { return new(intstr.FromString(value)) }

type change func(spec *apps.CloneSetSpec, rolling *apps.RollingUpdateCloneSetStrategy)

func changed(apply change) *apps.CloneSet {
	cloneSet := valid()
	if apply != nil {
		apply(&cloneSet.Spec, cloneSet.Spec.UpdateStrategy.RollingUpdate)
	}
	return cloneSet
}

// Cases cloneset 8, 10, 32.
func TestCreate(t *testing.T) {
	for name, test := range specCases {
		t.Run(name, func(t *testing.T) {
			rulestest.Create(t, changed(test.change), validation.ValidateCloneSet, test.want)
		})
	}
}

// An update that sets a value that is wrong is refused as a create is; one that leaves a wrong value
// alone is not.
func TestUpdate(t *testing.T) {
	for name, test := range specCases {
		t.Run("sets: "+name, func(t *testing.T) {
			cloneSet, old := changed(test.change), valid()
			want := test.want
			if !reflect.DeepEqual(cloneSet.Spec.Selector, old.Spec.Selector) {
				want = append([]string{"spec.selector: Forbidden"}, want...)
			}
			rulestest.Errors(t, want, validation.ValidateCloneSetUpdate(cloneSet, old))
		})
		t.Run("leaves: "+name, func(t *testing.T) {
			rulestest.UpdateOfLabels(t, changed(test.change), changed(test.change), validation.ValidateCloneSetUpdate)
		})
	}
}

func TestName(t *testing.T) {
	cloneSet := valid()
	cloneSet.Name = "Not_DNS"
	rulestest.Errors(t, []string{`metadata.name: Invalid value: "Not_DNS"`}, validation.ValidateCloneSet(cloneSet))
}

func TestAllErrorsAtOnce(t *testing.T) {
	cloneSet := changed(func(spec *apps.CloneSetSpec, rolling *apps.RollingUpdateCloneSetStrategy) {
		spec.Replicas, spec.Selector = ptr.To[int32](-1), nil
		rolling.MaxUnavailable, rolling.Partition = text("abc"), text("1/2")
	})
	rulestest.Errors(t, []string{
		"spec.replicas: -1", "spec.selector: Required", `spec.updateStrategy.rollingUpdate.maxUnavailable: "abc"`,
		`spec.updateStrategy.rollingUpdate.partition: "1/2"`,
	}, validation.ValidateCloneSet(cloneSet))
}

// A mistake that was there stays allowed only as it was.
func TestUpdateOfAnOldMistake(t *testing.T) {
	bad := func(value string) *apps.CloneSet {
		return changed(func(_ *apps.CloneSetSpec, rolling *apps.RollingUpdateCloneSetStrategy) {
			rolling.Partition = text(value)
		})
	}
	rulestest.Errors(t, nil, validation.ValidateCloneSetUpdate(bad("abc"), bad("abc")))
	rulestest.Errors(t, []string{`spec.updateStrategy.rollingUpdate.partition: "xyz"`}, validation.ValidateCloneSetUpdate(bad("xyz"), bad("abc")))
	both := changed(func(spec *apps.CloneSetSpec, rolling *apps.RollingUpdateCloneSetStrategy) {
		rolling.Partition, spec.MinReadySeconds = text("abc"), -1
	})
	rulestest.Errors(t, []string{"spec.minReadySeconds: -1"}, validation.ValidateCloneSetUpdate(both, bad("abc")))
}

// Case cloneset 3.
// A template that stays as it is must be checked again if its claims change.
func TestClaimThatTheTemplateMountsCannotBeRemoved(t *testing.T) {
	mounts := func(s *apps.CloneSetSpec, _ *rolling) {
		s.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}
	with := changed(func(s *apps.CloneSetSpec, rolling *rolling) {
		mounts(s, rolling)
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}}
	})
	assert.Empty(t, validation.ValidateCloneSetUpdate(with, with))
	errs := validation.ValidateCloneSetUpdate(changed(mounts), with)
	require.Len(t, errs, 1)
	assert.Equal(t, "spec.template.spec.containers[0].volumeMounts[0].name", errs[0].Field)
}

func TestSelectorCannotBeChanged(t *testing.T) {
	cloneSet := valid()
	cloneSet.Spec.Template.Labels = map[string]string{"app": "demo", "tier": "web"}
	cloneSet.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
	rulestest.Errors(t, []string{"spec.selector: Forbidden"}, validation.ValidateCloneSetUpdate(cloneSet, valid()))
}

func TestMutableFields(t *testing.T) {
	cloneSet := changed(func(spec *apps.CloneSetSpec, rolling *apps.RollingUpdateCloneSetStrategy) {
		spec.Replicas, spec.MinReadySeconds, spec.RevisionHistoryLimit = ptr.To[int32](5), 7, ptr.To[int32](1)
		spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
		spec.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{FinalizersHandler: []string{"a/b"}}}
		spec.ScaleStrategy.MaxUnavailable = number(1)
		spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("data", corev1.ReadWriteOnce)}
		spec.ProgressDeadlineSeconds = ptr.To[int32](60)
		rolling.Paused = true
	})
	rulestest.Errors(t, nil, validation.ValidateCloneSetUpdate(cloneSet, valid()))
}

func TestStatus(t *testing.T) {
	cases := map[string]struct {
		status, old apps.CloneSetStatus
		want        []string
	}{
		"nothing": {},
		"counts":  {status: apps.CloneSetStatus{Replicas: 3, ReadyReplicas: 3, CollisionCount: ptr.To[int32](1)}},
		"negative counts": {
			status: apps.CloneSetStatus{
				ObservedGeneration: -1, Replicas: -1, ReadyReplicas: -1, AvailableReplicas: -1, UpdatedReplicas: -1,
				UpdatedReadyReplicas: -1, UpdatedAvailableReplicas: -1, ExpectedUpdatedReplicas: -1, CollisionCount: ptr.To[int32](-1),
			},
			want: []string{
				"status.observedGeneration: -1", "status.replicas: -1", "status.readyReplicas: -1", "status.availableReplicas: -1",
				"status.updatedReplicas: -1", "status.updatedReadyReplicas: -1", "status.updatedAvailableReplicas: -1",
				"status.expectedUpdatedReplicas: -1", "status.collisionCount: -1",
			},
		},
		"collisionCount grows": {
			status: apps.CloneSetStatus{CollisionCount: ptr.To[int32](3)}, old: apps.CloneSetStatus{CollisionCount: ptr.To[int32](2)},
		},
		"collisionCount stays": {
			status: apps.CloneSetStatus{CollisionCount: ptr.To[int32](2)}, old: apps.CloneSetStatus{CollisionCount: ptr.To[int32](2)},
		},
		"collisionCount falls": {
			status: apps.CloneSetStatus{CollisionCount: ptr.To[int32](1)}, old: apps.CloneSetStatus{CollisionCount: ptr.To[int32](2)},
			want: []string{"status.collisionCount: must not decrease"},
		},
		"collisionCount vanishes": {
			old: apps.CloneSetStatus{CollisionCount: ptr.To[int32](2)}, want: []string{"status.collisionCount: cannot be unset"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			cloneSet, old := valid(), valid()
			cloneSet.Status, old.Status = test.status, test.old
			rulestest.Errors(t, test.want, validation.ValidateCloneSetStatusUpdate(cloneSet, old))
		})
	}
}

func TestErrorsInV1alpha1(t *testing.T) {
	cloneSet := changed(func(spec *apps.CloneSetSpec, rolling *apps.RollingUpdateCloneSetStrategy) {
		spec.MinReadySeconds = -1
		rolling.PodUpdatePolicy, rolling.MaxUnavailable = "Maybe", text("abc")
		rolling.ScatterStrategy = []pub.UpdateScatterTerm{{}}
		rolling.InPlaceUpdateStrategy = &apps.InPlaceUpdateStrategy{
			GracePeriodSeconds: -1, ImagePreDownloadParallelism: text("5%"),
			ImagePreDownloadTimeoutSeconds: ptr.To[int32](-1), ImagePreDownloadMinUpdatedReadyPods: text("x"),
		}
	})
	errs := validation.ValidateCloneSet(cloneSet)
	require.Contains(t, validation.CloneSetErrorsIn("v1alpha1", errs).ToAggregate().Error(),
		`spec.updateStrategy.type: Unsupported value: "Maybe": supported values: "ReCreate", "InPlaceIfPossible", "InPlaceOnly", "OnDelete"`)
	before := errs.ToAggregate().Error()
	rulestest.Errors(t, []string{
		"spec.minReadySeconds: -1", `spec.updateStrategy.type: "Maybe"`, `spec.updateStrategy.maxUnavailable: "abc"`,
		"spec.updateStrategy.scatterStrategy[0].key: Required", "spec.updateStrategy.inPlaceUpdateStrategy.gracePeriodSeconds: -1",
		`metadata.annotations[apps.kruise.io/image-predownload-parallelism]: "5%"`,
		"metadata.annotations[apps.kruise.io/image-predownload-timeout-seconds]: -1",
		`metadata.annotations[apps.kruise.io/image-predownload-min-updated-ready-pods]: "x"`,
	}, validation.CloneSetErrorsIn("v1alpha1", errs))
	require.Equal(t, before, errs.ToAggregate().Error(), "the errors that come in stay as they are")
	require.Equal(t, before, validation.CloneSetErrorsIn("v1beta1", errs).ToAggregate().Error())

	never := changed(func(spec *apps.CloneSetSpec, _ *rolling) {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	})
	errs = validation.ValidateCloneSet(never)
	require.Equal(t, errs.ToAggregate().Error(), validation.CloneSetErrorsIn("v1alpha1", errs).ToAggregate().Error())
}

// maxInt32 is the progress deadline that turns the condition off.
const maxInt32 = math.MaxInt32

// A container that is added before the one with the mistake changes its index, and not its name.
func TestOldMistakeMayMoveWithinItsList(t *testing.T) {
	containers := func(list ...corev1.Container) *apps.CloneSet {
		return changed(func(spec *apps.CloneSetSpec, _ *apps.RollingUpdateCloneSetStrategy) {
			spec.Template.Spec.Containers = list
		})
	}
	container := func(name string, port int32) corev1.Container {
		return corev1.Container{Name: name, Image: "demo:v1", Ports: []corev1.ContainerPort{{ContainerPort: port, Protocol: corev1.ProtocolTCP}}}
	}
	stored := containers(container("main", 70000))
	require.NotEmpty(t, validation.ValidateCloneSet(stored))
	added := validation.ValidateCloneSetUpdate(containers(container("new", 80), container("main", 70000)), stored)
	fresh := validation.ValidateCloneSetUpdate(containers(container("new", 70000), container("main", 80)), stored)
	inPlace := validation.ValidateCloneSetUpdate(containers(container("main", 70000)), stored)
	for _, err := range append(added, inPlace...) {
		require.NotContains(t, err.Field, "ports[0].containerPort", "%v", err)
	}
	require.NotEmpty(t, fresh)
	require.Equal(t, "spec.template.spec.containers[0].ports[0].containerPort", fresh[len(fresh)-1].Field)
}
