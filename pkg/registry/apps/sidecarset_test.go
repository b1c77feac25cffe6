package apps

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
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

// v1beta1 shows a namespace and a selector for its name alike. A manifest has no annotation that tells them apart.
func TestSidecarSetStaysWhenAManifestIsWrittenInV1beta1(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	strategy := sidecarSet(clock.RealClock{}).Strategy(scheme)
	alpha := func(namespace string, selector *metav1.LabelSelector) *v1alpha1.SidecarSet {
		return &v1alpha1.SidecarSet{Spec: v1alpha1.SidecarSetSpec{Namespace: namespace, NamespaceSelector: selector}}
	}
	beta := func(selector *metav1.LabelSelector) *v1beta1.SidecarSet {
		return &v1beta1.SidecarSet{Spec: v1beta1.SidecarSetSpec{NamespaceSelector: selector}}
	}
	x, y := apps.SelectNamespace("x"), apps.SelectNamespace("y")
	for name, test := range map[string]struct {
		stored, written runtime.Object
		version         string
		same            bool
	}{
		"selector by v1alpha1":          {alpha("", x), beta(x), "v1beta1", true},
		"namespace by v1alpha1":         {alpha("x", nil), beta(x), "v1beta1", true},
		"another namespace":             {alpha("", x), beta(y), "v1beta1", false},
		"no namespace":                  {alpha("", x), beta(nil), "v1beta1", false},
		"another form in v1alpha1":      {alpha("", x), alpha("x", nil), "v1alpha1", false},
		"the same selector in v1alpha1": {alpha("", x), alpha("", x), "v1alpha1", true},
	} {
		t.Run(name, func(t *testing.T) {
			stored, set := &apps.SidecarSet{}, &apps.SidecarSet{}
			require.NoError(t, scheme.Convert(test.stored, stored, nil))
			strategy.PrepareForCreate(t.Context(), stored)
			require.NoError(t, scheme.Convert(test.written, set, nil))
			ctx := genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{APIVersion: test.version})
			strategy.PrepareForUpdate(ctx, set, stored)
			assert.Equal(t, test.same, set.Generation == stored.Generation)
			if test.same {
				assert.Equal(t, stored.Spec, set.Spec)
				assert.Equal(t, stored.Annotations, set.Annotations, "the hashes and the time of the injection")
			}
		})
	}
}
