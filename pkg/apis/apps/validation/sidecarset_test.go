package validation_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func sidecar(name string) apps.SidecarContainer {
	return apps.SidecarContainer{
		Container:         corev1.Container{Name: name, Image: "demo:v1"},
		PodInjectPolicy:   apps.BeforeAppContainerType,
		UpgradeStrategy:   apps.SidecarContainerUpgradeStrategy{UpgradeType: apps.SidecarContainerColdUpgrade},
		ShareVolumePolicy: apps.ShareVolumePolicy{Type: apps.ShareVolumePolicyDisabled},
	}
}

func hot(name string) apps.SidecarContainer {
	container := sidecar(name)
	container.UpgradeStrategy = apps.SidecarContainerUpgradeStrategy{UpgradeType: apps.SidecarContainerHotUpgrade, HotUpgradeEmptyImage: "empty:v1"}
	return container
}

func native(name string) apps.SidecarContainer {
	container := sidecar(name)
	container.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	return container
}

type sidecarChange func(spec *apps.SidecarSetSpec, container *apps.SidecarContainer)

func sidecars(change sidecarChange) *apps.SidecarSet {
	set := &apps.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", ResourceVersion: "1"},
		Spec: apps.SidecarSetSpec{
			Selector:   &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}},
			Containers: []apps.SidecarContainer{sidecar("agent"), sidecar("other")},
			UpdateStrategy: apps.SidecarSetUpdateStrategy{
				Type: apps.RollingUpdateSidecarSetStrategyType, Partition: number(0), MaxUnavailable: number(1),
			},
		},
	}
	if change != nil {
		change(&set.Spec, &set.Spec.Containers[0])
	}
	return set
}

// Case sidecarset 40.
func TestSidecarSet(t *testing.T) {
	for name, test := range sidecarCases {
		t.Run(name, func(t *testing.T) {
			created := sidecars(test.change)
			rulestest.Create(t, created, validation.ValidateSidecarSet, test.want)
			rulestest.UpdateOfLabels(t, created, sidecars(test.change), validation.ValidateSidecarSetUpdate)
		})
	}
}

func TestSidecarSetName(t *testing.T) {
	for name, want := range map[string][]string{
		"demo-2": nil, "a.b": {"metadata.name: a.b"}, "Demo": {"metadata.name: Demo"}, strings.Repeat("a", 64): {"metadata.name: 63"},
	} {
		set := sidecars(nil)
		set.Name = name
		rulestest.Errors(t, want, validation.ValidateSidecarSet(set))
	}
	set := sidecars(nil)
	set.Namespace = "default"
	rulestest.Errors(t, []string{"metadata.namespace: Forbidden"}, validation.ValidateSidecarSet(set))
}

// Case sidecarset 26.
func TestSidecarSetUpdate(t *testing.T) {
	cases := map[string]struct {
		old, change sidecarChange
		want        []string
	}{
		"nothing":     {},
		"image":       {change: func(_ *apps.SidecarSetSpec, c *apps.SidecarContainer) { c.Image = "demo:v2" }},
		"environment": {change: func(_ *apps.SidecarSetSpec, c *apps.SidecarContainer) { c.Env = []corev1.EnvVar{{Name: "A"}} }},
		"selector": {change: func(s *apps.SidecarSetSpec, _ *apps.SidecarContainer) {
			s.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"b": "c"}}
		}},
		"a container less": {change: func(s *apps.SidecarSetSpec, _ *apps.SidecarContainer) { s.Containers = s.Containers[1:] }},
		"a container more": {
			change: func(s *apps.SidecarSetSpec, _ *apps.SidecarContainer) {
				s.Containers = append(s.Containers, sidecar("new"))
			},
			want: []string{"spec.containers[2].name: is not a stored container"},
		},
		"an init container more": {
			change: func(s *apps.SidecarSetSpec, _ *apps.SidecarContainer) {
				s.InitContainers = append(s.InitContainers, sidecar("new"))
			},
		},
		"upgradeType": {
			change: func(s *apps.SidecarSetSpec, _ *apps.SidecarContainer) { s.Containers[0] = hot("agent") },
			want:   []string{"spec.containers[0].upgradeStrategy.upgradeType: upgradeType is immutable; put ColdUpgrade back"},
		},
		"upgradeType that was not set": {
			old:    func(_ *apps.SidecarSetSpec, c *apps.SidecarContainer) { c.UpgradeStrategy.UpgradeType = "" },
			change: func(s *apps.SidecarSetSpec, _ *apps.SidecarContainer) { s.Containers[0] = hot("agent") },
		},
		"a mistake that was there": {
			old: func(s *apps.SidecarSetSpec, c *apps.SidecarContainer) {
				s.Namespace, c.PodInjectPolicy = "Not_DNS", "Maybe"
			},
			change: func(s *apps.SidecarSetSpec, c *apps.SidecarContainer) {
				s.Namespace, c.PodInjectPolicy = "Not_DNS", "Never"
			},
			want: []string{"spec.containers[0].podInjectPolicy: Never"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			rulestest.Errors(t, test.want, validation.ValidateSidecarSetUpdate(sidecars(test.change), sidecars(test.old)))
		})
	}
}

func TestCanary(t *testing.T) {
	const path = "metadata.annotations[apps.kruise.io/sidecarset-base]"
	canary := func(base string, update apps.SidecarSetUpdateStrategyType) *apps.SidecarSet {
		set := sidecars(nil)
		set.Annotations = map[string]string{pub.SidecarSetCanaryKey: "true", pub.SidecarSetBaseKey: base}
		set.Spec.UpdateStrategy.Type = update
		return set
	}
	for name, test := range map[string]struct {
		set  *apps.SidecarSet
		want []string
	}{
		"valid":   {canary("base", apps.NotUpdateSidecarSetStrategyType), nil},
		"itself":  {canary("demo", apps.NotUpdateSidecarSetStrategyType), []string{path + ": its own canary"}},
		"no base": {canary("", apps.NotUpdateSidecarSetStrategyType), []string{path + ": Required"}},
		"rolling": {canary("base", apps.RollingUpdateSidecarSetStrategyType), []string{"spec.updateStrategy.type: must be NotUpdate"}},
	} {
		t.Run(name, func(t *testing.T) { rulestest.Errors(t, test.want, validation.ValidateSidecarSet(test.set)) })
	}
	const none, rolling = apps.NotUpdateSidecarSetStrategyType, apps.RollingUpdateSidecarSetStrategyType
	for name, test := range map[string]struct {
		set, old *apps.SidecarSet
		want     []string
	}{
		"becomes a canary":    {canary("base", none), sidecars(nil), nil},
		"becomes a wrong one": {canary("", rolling), sidecars(nil), []string{path + ": Required", "spec.updateStrategy.type: must be NotUpdate"}},
		"stays a wrong one":   {canary("base", rolling), canary("base", rolling), nil},
	} {
		t.Run(name, func(t *testing.T) {
			rulestest.Errors(t, test.want, validation.ValidateSidecarSetUpdate(test.set, test.old))
		})
	}
	stored := canary("base", apps.NotUpdateSidecarSetStrategyType)
	rulestest.Errors(t, []string{path + ": cannot be changed"},
		validation.ValidateSidecarSetUpdate(canary("another", apps.NotUpdateSidecarSetStrategyType), stored))
	rulestest.Errors(t, nil, validation.ValidateSidecarSetUpdate(stored, stored))
}

func TestSidecarSetStatus(t *testing.T) {
	written := sidecars(nil)
	written.Status = apps.SidecarSetStatus{ObservedGeneration: -1, MatchedPods: -1, UpdatedPods: -1, ReadyPods: -1, UpdatedReadyPods: -1}
	rulestest.Errors(t, []string{
		"status.observedGeneration: -1", "status.matchedPods: -1", "status.updatedPods: -1", "status.readyPods: -1", "status.updatedReadyPods: -1",
	}, validation.ValidateSidecarSetStatusUpdate(written, sidecars(nil)))
	rulestest.Errors(t, nil, validation.ValidateSidecarSetStatusUpdate(written, written))

	falls, old := sidecars(nil), sidecars(nil)
	falls.Status.CollisionCount, old.Status.CollisionCount = ptr.To[int32](1), ptr.To[int32](2)
	rulestest.Errors(t, []string{"status.collisionCount: must not decrease"}, validation.ValidateSidecarSetStatusUpdate(falls, old))
}

func TestSidecarSetErrorsInV1alpha1(t *testing.T) {
	errs := validation.ValidateSidecarSet(sidecars(func(s *apps.SidecarSetSpec, _ *apps.SidecarContainer) { s.CustomVersion = "not a label" }))
	rulestest.Errors(t, []string{"spec.customVersion: not a label"}, validation.SidecarSetErrorsIn("v1beta1", errs))
	rulestest.Errors(t, []string{"metadata.labels[apps.kruise.io/sidecarset-custom-version]: not a label"}, validation.SidecarSetErrorsIn("v1alpha1", errs))
}
