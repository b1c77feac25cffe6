package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func validDaemonSet() *apps.DaemonSet {
	labels := map[string]string{"app": "demo"}
	return &apps.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1"},
		Spec: apps.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "demo:v1"}}},
			},
			UpdateStrategy: apps.DaemonSetUpdateStrategy{
				Type:          "RollingUpdate",
				RollingUpdate: &apps.RollingUpdateDaemonSet{RollingUpdateType: "Standard", MaxUnavailable: number(1), MaxSurge: number(0)},
			},
			BurstReplicas: number(250), RevisionHistoryLimit: ptr.To[int32](10),
		},
	}
}

type (
	dsSpec    = apps.DaemonSetSpec
	dsRolling = apps.RollingUpdateDaemonSet
)

// daemonSetCases are the rules about a spec alone: a change to a valid DaemonSet and the errors
// that it must bring, none when it is allowed.
var daemonSetCases = map[string]struct {
	change func(s *dsSpec, r *dsRolling)
	want   []string
}{
	"valid":            {func(*dsSpec, *dsRolling) {}, nil},
	"selector missing": {func(s *dsSpec, _ *dsRolling) { s.Selector = nil }, []string{"spec.selector: Required"}},
	"selector empty": {
		func(s *dsSpec, _ *dsRolling) { s.Selector = &metav1.LabelSelector{} },
		[]string{"spec.selector: empty selector is invalid for daemonset"},
	},
	"selector of other labels": {
		func(s *dsSpec, _ *dsRolling) { s.Template.Labels = map[string]string{"app": "other"} },
		[]string{"spec.template.metadata.labels: `selector` does not match template `labels`"},
	},
	"container name": {
		func(s *dsSpec, _ *dsRolling) { s.Template.Spec.Containers[0].Name = "Not_DNS" },
		[]string{templatePath + `containers[0].name: "Not_DNS"`},
	},
	"restartPolicy Never": {
		func(s *dsSpec, _ *dsRolling) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyNever },
		[]string{templatePath + `restartPolicy: "Never": supported values: "Always"`},
	},
	"activeDeadlineSeconds": {
		func(s *dsSpec, _ *dsRolling) { s.Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](5) },
		[]string{templatePath + "activeDeadlineSeconds: Forbidden"},
	},
	"type": {
		func(s *dsSpec, _ *dsRolling) { s.UpdateStrategy.Type = "Sometimes" },
		[]string{`spec.updateStrategy.type: "Sometimes": supported values: "RollingUpdate", "OnDelete"`},
	},
	"RollingUpdate without a block": {
		func(s *dsSpec, _ *dsRolling) { s.UpdateStrategy.RollingUpdate = nil }, []string{"spec.updateStrategy.rollingUpdate: Required"},
	},
	"OnDelete": {func(s *dsSpec, _ *dsRolling) { s.UpdateStrategy = apps.DaemonSetUpdateStrategy{Type: "OnDelete"} }, nil},
	"OnDelete does not judge the block": {
		func(s *dsSpec, r *dsRolling) { s.UpdateStrategy.Type, r.MaxUnavailable = "OnDelete", number(0) }, nil,
	},
	"rollingUpdateType": {
		func(_ *dsSpec, r *dsRolling) { r.RollingUpdateType = "Maybe" },
		[]string{rollingPath + `rollingUpdateType: "Maybe": supported values: "Standard", "InPlaceIfPossible"`},
	},
	"maxUnavailable 100%": {func(_ *dsSpec, r *dsRolling) { r.MaxUnavailable = text("100%") }, nil},
	"maxUnavailable 101%": {
		func(_ *dsSpec, r *dsRolling) { r.MaxUnavailable = text("101%") },
		[]string{rollingPath + `maxUnavailable: "101%": must not be greater than 100%`},
	},
	"maxUnavailable negative": {
		func(_ *dsSpec, r *dsRolling) { r.MaxUnavailable = number(-1) }, []string{rollingPath + `maxUnavailable: "-1": must be a non-negative`},
	},
	"amounts with decimals": {
		func(s *dsSpec, r *dsRolling) {
			r.MaxUnavailable, r.MaxSurge, r.Partition, s.BurstReplicas = text("2.5%"), text("2.5%"), text("2.5%"), text("2.5%")
		}, []string{
			rollingPath + `maxUnavailable: "2.5%": must be a non-negative`, rollingPath + `maxSurge: "2.5%": must be a non-negative`,
			rollingPath + `partition: "2.5%": must be a non-negative`, `spec.burstReplicas: "2.5%": must be a non-negative`,
		},
	},
	"maxSurge 101%": {
		func(_ *dsSpec, r *dsRolling) { r.MaxUnavailable, r.MaxSurge = nil, text("101%") },
		[]string{rollingPath + `maxSurge: "101%": must not be greater than 100%`},
	},
	"maxSurge abc": {func(_ *dsSpec, r *dsRolling) { r.MaxSurge = text("abc") }, []string{rollingPath + `maxSurge: "abc"`}},
	"both": {
		func(_ *dsSpec, r *dsRolling) { r.MaxSurge = number(1) },
		[]string{rollingPath + `maxSurge: "1": may not be set when maxUnavailable is non-zero`},
	},
	"both 0": {
		func(_ *dsSpec, r *dsRolling) { r.MaxUnavailable = number(0) },
		[]string{rollingPath + "maxUnavailable: cannot be 0 when maxSurge is 0"},
	},
	"both 0%": {
		func(_ *dsSpec, r *dsRolling) { r.MaxUnavailable, r.MaxSurge = text("0%"), text("0%") },
		[]string{rollingPath + "maxUnavailable: cannot be 0 when maxSurge is 0"},
	},
	"neither": {
		func(_ *dsSpec, r *dsRolling) { r.MaxUnavailable, r.MaxSurge = nil, nil },
		[]string{rollingPath + "maxUnavailable: cannot be 0 when maxSurge is 0"},
	},
	"maxSurge alone":                {func(_ *dsSpec, r *dsRolling) { r.MaxUnavailable, r.MaxSurge = nil, number(1) }, nil},
	"maxUnavailable 0 and maxSurge": {func(_ *dsSpec, r *dsRolling) { r.MaxUnavailable, r.MaxSurge = number(0), text("20%") }, nil},
	"InPlaceIfPossible":             {func(_ *dsSpec, r *dsRolling) { r.RollingUpdateType = "InPlaceIfPossible" }, nil},
	"InPlaceIfPossible with maxSurge": {
		func(_ *dsSpec, r *dsRolling) {
			r.RollingUpdateType, r.MaxUnavailable, r.MaxSurge = "InPlaceIfPossible", nil, number(1)
		}, []string{rollingPath + `maxSurge: "1": must be 0 with InPlaceIfPossible`},
	},
	"partition":      {func(_ *dsSpec, r *dsRolling) { r.Partition = number(300) }, nil},
	"partition 100%": {func(_ *dsSpec, r *dsRolling) { r.Partition = text("100%") }, nil},
	"partition 101%": {
		func(_ *dsSpec, r *dsRolling) { r.Partition = text("101%") }, []string{rollingPath + `partition: "101%": must not be greater`},
	},
	"partition negative": {
		func(_ *dsSpec, r *dsRolling) { r.Partition = number(-1) }, []string{rollingPath + `partition: "-1"`},
	},
	"nodes": {
		func(_ *dsSpec, r *dsRolling) {
			r.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "yes"}}
		}, nil,
	},
	"nodes by an invalid selector": {
		func(_ *dsSpec, r *dsRolling) {
			r.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "not valid"}}
		}, []string{rollingPath + `selector.matchLabels: "not valid"`},
	},
	"minReadySeconds negative": {func(s *dsSpec, _ *dsRolling) { s.MinReadySeconds = -1 }, []string{"spec.minReadySeconds: -1"}},
	"burstReplicas 10%":        {func(s *dsSpec, _ *dsRolling) { s.BurstReplicas = text("10%") }, nil},
	"burstReplicas negative":   {func(s *dsSpec, _ *dsRolling) { s.BurstReplicas = number(-1) }, []string{`spec.burstReplicas: "-1"`}},
	"burstReplicas abc":        {func(s *dsSpec, _ *dsRolling) { s.BurstReplicas = text("abc") }, []string{`spec.burstReplicas: "abc"`}},
	"revisionHistoryLimit negative": {
		func(s *dsSpec, _ *dsRolling) { s.RevisionHistoryLimit = ptr.To[int32](-1) }, []string{"spec.revisionHistoryLimit: -1"},
	},
	"preDelete": {func(s *dsSpec, _ *dsRolling) { s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{}} }, nil},
	"inPlaceUpdate hook": {
		func(s *dsSpec, _ *dsRolling) { s.Lifecycle = &pub.Lifecycle{InPlaceUpdate: &pub.LifecycleHook{}} },
		[]string{"spec.lifecycle.inPlaceUpdate: Forbidden"},
	},
}

func changedDaemonSet(change func(*dsSpec, *dsRolling)) *apps.DaemonSet {
	set := validDaemonSet()
	change(&set.Spec, set.Spec.UpdateStrategy.RollingUpdate)
	return set
}

// Cases daemonset 2, 6, 22.
func TestDaemonSetRules(t *testing.T) {
	for name, test := range daemonSetCases {
		t.Run("create: "+name, func(t *testing.T) {
			rulestest.Create(t, changedDaemonSet(test.change), validation.ValidateDaemonSet, test.want)
		})
		t.Run("update that sets: "+name, func(t *testing.T) {
			if name == "selector missing" || name == "selector empty" {
				return // an update cannot change it at all
			}
			rulestest.Errors(t, test.want, validation.ValidateDaemonSetUpdate(changedDaemonSet(test.change), validDaemonSet()))
		})
		t.Run("update that leaves: "+name, func(t *testing.T) {
			rulestest.UpdateOfLabels(t, changedDaemonSet(test.change), changedDaemonSet(test.change), validation.ValidateDaemonSetUpdate)
		})
	}
}

func TestDaemonSetName(t *testing.T) {
	set := validDaemonSet()
	set.Name = "Not_DNS"
	rulestest.Errors(t, []string{`metadata.name: Invalid value: "Not_DNS"`}, validation.ValidateDaemonSet(set))
}

// Case daemonset 17.
func TestDaemonSetSelectorCannotBeChanged(t *testing.T) {
	set := validDaemonSet()
	set.Spec.Template.Labels = map[string]string{"app": "demo", "tier": "web"}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
	rulestest.Errors(t, []string{"spec.selector: selector cannot be changed; put the stored one back, or create another DaemonSet"},
		validation.ValidateDaemonSetUpdate(set, validDaemonSet()))
}

func TestDaemonSetCanChange(t *testing.T) {
	set := changedDaemonSet(func(s *dsSpec, r *dsRolling) {
		s.Template.Spec.Containers[0].Image, s.MinReadySeconds, s.BurstReplicas = "demo:v2", 5, number(1)
		s.RevisionHistoryLimit, s.ScaleStrategy.PartitionedScaling = ptr.To[int32](1), true
		s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{FinalizersHandler: []string{"a/b"}}}
		r.Partition = number(3)
	})
	rulestest.Errors(t, nil, validation.ValidateDaemonSetUpdate(set, validDaemonSet()))
}

func TestDaemonSetStatus(t *testing.T) {
	set := validDaemonSet()
	set.Status = apps.DaemonSetStatus{DesiredNumberScheduled: 3, CollisionCount: ptr.To[int32](1)}
	rulestest.Errors(t, nil, validation.ValidateDaemonSetStatusUpdate(set, validDaemonSet()))
	old := set.DeepCopy()
	set.Status = apps.DaemonSetStatus{
		ObservedGeneration: -1, CurrentNumberScheduled: -1, NumberMisscheduled: -1, DesiredNumberScheduled: -1, NumberReady: -1,
		UpdatedNumberScheduled: -1, NumberAvailable: -1, NumberUnavailable: -1, CollisionCount: ptr.To[int32](0),
	}
	rulestest.Errors(t, []string{
		"status.observedGeneration: -1", "status.currentNumberScheduled: -1", "status.numberMisscheduled: -1",
		"status.desiredNumberScheduled: -1", "status.numberReady: -1", "status.updatedNumberScheduled: -1",
		"status.numberAvailable: -1", "status.numberUnavailable: -1", "status.collisionCount: must not decrease",
	}, validation.ValidateDaemonSetStatusUpdate(set, old))
}

func TestWarnDaemonSet(t *testing.T) {
	hook := &apps.DaemonSet{Spec: apps.DaemonSetSpec{Lifecycle: &pub.Lifecycle{PreNormal: &pub.LifecycleHook{}}}}
	want := []string{"spec.lifecycle.preNormal: a DaemonSet stores this field but ignores it"}
	require.Equal(t, want, validation.WarnDaemonSet(t.Context(), hook, nil))
	require.Equal(t, want, validation.WarnDaemonSet(t.Context(), hook, &apps.DaemonSet{}))
	require.Empty(t, validation.WarnDaemonSet(t.Context(), hook, hook), "as it was")
	require.Empty(t, validation.WarnDaemonSet(t.Context(), &apps.DaemonSet{}, nil))
	another := &apps.DaemonSet{Spec: apps.DaemonSetSpec{Lifecycle: &pub.Lifecycle{PreDelete: &pub.LifecycleHook{}}}}
	require.Empty(t, validation.WarnDaemonSet(t.Context(), another, nil))
}

func TestSurgeBesideAPortOfTheNodeIsWarnedAbout(t *testing.T) {
	with := func(surge intstr.IntOrString, hostPort int32, hostNetwork bool) *apps.DaemonSet {
		set := &apps.DaemonSet{}
		set.Spec.UpdateStrategy.RollingUpdate = &apps.RollingUpdateDaemonSet{MaxSurge: &surge}
		set.Spec.Template.Spec = corev1.PodSpec{
			HostNetwork: hostNetwork, Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 80, HostPort: hostPort}}}},
		}
		return set
	}
	want := []string{"spec.updateStrategy.rollingUpdate.maxSurge: the old and the new Pod of a node need the same host port, so updates cannot " +
		"complete; set maxSurge to 0 and maxUnavailable to 1"}
	for _, surge := range []intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("10%")} {
		require.Equal(t, want, validation.WarnDaemonSet(t.Context(), with(surge, 80, false), nil))
		require.Equal(t, want, validation.WarnDaemonSet(t.Context(), with(surge, 0, true), with(surge, 0, false)))
		require.Empty(t, validation.WarnDaemonSet(t.Context(), with(surge, 0, false), nil))
		require.Empty(t, validation.WarnDaemonSet(t.Context(), with(surge, 80, false), with(surge, 80, false)), "as it was")
	}
	for _, none := range []intstr.IntOrString{intstr.FromInt32(0), intstr.FromString("0%")} {
		require.Empty(t, validation.WarnDaemonSet(t.Context(), with(none, 80, false), nil))
	}
}
