package apps

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

func TestSidecarSetIsDescribed(t *testing.T) {
	kind := sidecarSet(clock.RealClock{})
	narrow, wide := columns(kind)
	assert.Equal(t, []string{"MATCHED", "UPDATED", "READY", "AGE"}, narrow)
	assert.Empty(t, wide)
	assert.Empty(t, kind.Describe().Short)
	assert.True(t, kind.Describe().ClusterScoped)
}

// The time since which a SidecarSet is injected changes only if the SidecarSet selects other Pods or its injection is resumed.
func TestTimeSinceWhichPodsAreInjected(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	of := func(edit func(*apps.SidecarSet)) *apps.SidecarSet {
		set := &apps.SidecarSet{Spec: apps.SidecarSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
		edit(set)
		return set
	}
	nothing := func(*apps.SidecarSet) {}
	paused := func(set *apps.SidecarSet) { set.Spec.InjectionStrategy.Paused = true }
	tests := map[string]struct {
		old, set func(*apps.SidecarSet)
		moves    bool
	}{
		"nothing":       {nothing, nothing, false},
		"an image":      {nothing, func(set *apps.SidecarSet) { set.Spec.Containers = []apps.SidecarContainer{{}} }, false},
		"by the user":   {nothing, func(set *apps.SidecarSet) { set.Annotations = map[string]string{pub.SidecarSetInjectsSinceKey: "x"} }, false},
		"paused":        {nothing, paused, false},
		"resumed":       {paused, nothing, true},
		"the selector":  {nothing, func(set *apps.SidecarSet) { set.Spec.Selector.MatchLabels["app"] = "db" }, true},
		"the namespace": {nothing, func(set *apps.SidecarSet) { set.Spec.Namespace = "ns" }, true},
		"namespaces":    {nothing, func(set *apps.SidecarSet) { set.Spec.NamespaceSelector = set.Spec.Selector }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			old := of(test.old)
			recordInjection(old, nil, start)
			assert.Equal(t, "2026-01-01T12:00:00Z", old.Annotations[pub.SidecarSetInjectsSinceKey])
			set := of(test.set)
			recordInjection(set, old, start.Add(time.Hour))
			assert.Equal(t, test.moves, set.Annotations[pub.SidecarSetInjectsSinceKey] == "2026-01-01T13:00:00Z")
		})
	}
}
