package validation_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func selecting(t *testing.T, text string) *metav1.LabelSelector {
	t.Helper()
	if text == "" {
		return nil
	}
	selector, err := metav1.ParseToLabelSelector(text)
	require.NoError(t, err)
	return selector
}

// namespaces are those that exist: prod has the label env=prod.
func namespaces(name string) (labels.Set, bool, error) {
	switch name {
	case "prod", "test":
		return labels.Set{"env": name, corev1.LabelMetadataName: name}, true, nil
	case "broken":
		return nil, false, errors.New("no route to host")
	}
	return nil, false, nil
}

// Case sidecarset 27: two with the same container conflict where they may meet.
func TestSidecarSetsMeet(t *testing.T) {
	type set struct{ selector, namespace, namespaceSelector string }
	for name, test := range map[string]struct {
		a, b set
		want bool
	}{
		"the same label":             {set{selector: "a=1"}, set{selector: "a=1"}, true},
		"another value":              {set{selector: "a=1"}, set{selector: "a=2"}, false},
		"another label":              {set{selector: "a=1"}, set{selector: "b=2"}, true},
		"present, and another label": {set{selector: "a"}, set{selector: "b=2"}, true},
		"one namespace":              {set{"a=1", "prod", ""}, set{"a=1", "prod", ""}, true},
		"two namespaces":             {set{"a=1", "prod", ""}, set{"a=1", "test", ""}, false},
		"a namespace and all":        {set{"a=1", "prod", ""}, set{"a=1", "", ""}, true},
		"a selector and all":         {set{"a=1", "", "env=prod"}, set{"a=1", "", ""}, true},
		"a namespace in a selector":  {set{"a=1", "prod", ""}, set{"a=1", "", "env=prod"}, true},
		"a namespace beside one":     {set{"a=1", "test", ""}, set{"a=1", "", "env=prod"}, false},
		"a namespace to come":        {set{"a=1", "gone", ""}, set{"a=1", "", "env=prod"}, false},
		"two selectors":              {set{"a=1", "", "env=prod"}, set{"a=1", "", "env=test"}, false},
		"selectors for two labels":   {set{"a=1", "", "env=prod"}, set{"a=1", "", "tier=web"}, true},
		"a name as selector, in one": {set{"a=1", "", "kubernetes.io/metadata.name=prod"}, set{"a=1", "", "env=prod"}, true},
		"a name as selector, beside": {set{"a=1", "", "kubernetes.io/metadata.name=test"}, set{"a=1", "", "env=prod"}, false},
		"a name and another label":   {set{"a=1", "prod", ""}, set{"a=1", "", "kubernetes.io/metadata.name=prod,env=test"}, false},
		"a name and an expression":   {set{"a=1", "prod", ""}, set{"a=1", "", "kubernetes.io/metadata.name=prod,env notin (prod)"}, false},
		"to come, without a label":   {set{"a=1", "gone", ""}, set{"a=1", "", "env notin (prod)"}, false},
		"no selector":                {set{}, set{selector: "a=1"}, false},
		"a name in both forms":       {set{"a=1", "", "kubernetes.io/metadata.name=prod"}, set{"a=1", "prod", ""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			build := func(name string, of set) *apps.SidecarSet {
				result := sidecars(onSpec(func(s *apps.SidecarSetSpec) {
					s.Selector, s.Namespace = selecting(t, of.selector), of.namespace
					s.NamespaceSelector, s.Containers = selecting(t, of.namespaceSelector), s.Containers[:1]
				}))
				result.Name = name
				return result
			}
			var want []string
			if test.want {
				want = []string{"spec.containers[0].name: container agent already exists in SidecarSet b"}
			}
			errs, err := validation.ValidateSidecarSetConflicts(build("a", test.a), []*apps.SidecarSet{build("b", test.b)}, namespaces)
			require.NoError(t, err)
			rulestest.Errors(t, want, errs)
			errs, err = validation.ValidateSidecarSetConflicts(build("b", test.b), []*apps.SidecarSet{build("a", test.a)}, namespaces)
			require.NoError(t, err)
			require.Len(t, errs, len(want), "the other way round")
		})
	}
}

// Case sidecarset 28: also the things that two cannot both add.
func TestSidecarSetConflicts(t *testing.T) {
	patch := func(policy apps.SidecarSetPatchPolicyType) []apps.SidecarSetPatchPodMetadata {
		return []apps.SidecarSetPatchPodMetadata{{Annotations: map[string]string{"a": "{}"}, PatchPolicy: policy}}
	}
	volume := func(path string) []corev1.Volume {
		return []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}}}
	}
	for name, test := range map[string]struct {
		set, other apps.SidecarSetSpec
		canary     bool
		want       []string
	}{
		"nothing in common": {
			apps.SidecarSetSpec{Containers: []apps.SidecarContainer{sidecar("a")}}, apps.SidecarSetSpec{Containers: []apps.SidecarContainer{sidecar("b")}},
			false, nil,
		},
		"init containers": {
			apps.SidecarSetSpec{InitContainers: []apps.SidecarContainer{sidecar("a")}}, apps.SidecarSetSpec{InitContainers: []apps.SidecarContainer{sidecar("a")}},
			false, []string{"spec.initContainers[0].name: container a already exists"},
		},
		"an init container and a container": {
			apps.SidecarSetSpec{InitContainers: []apps.SidecarContainer{sidecar("a")}}, apps.SidecarSetSpec{Containers: []apps.SidecarContainer{sidecar("a")}},
			false, []string{"spec.initContainers[0].name: container a already exists"},
		},
		"two hot ones": {
			apps.SidecarSetSpec{Containers: []apps.SidecarContainer{hot("a")}}, apps.SidecarSetSpec{Containers: []apps.SidecarContainer{hot("a")}},
			false, []string{"spec.containers[0].name: container a-1 already exists"},
		},
		"a hot one's second name": {
			apps.SidecarSetSpec{Containers: []apps.SidecarContainer{sidecar("a-2")}}, apps.SidecarSetSpec{Containers: []apps.SidecarContainer{hot("a")}},
			false, []string{"spec.containers[0].name: container a-2 already exists"},
		},
		"a hot one's own name": {
			apps.SidecarSetSpec{Containers: []apps.SidecarContainer{sidecar("a")}}, apps.SidecarSetSpec{Containers: []apps.SidecarContainer{hot("a")}},
			false, []string{"spec.containers[0].name: container a already exists"},
		},
		"a hot one with the name of another": {
			apps.SidecarSetSpec{Containers: []apps.SidecarContainer{hot("a")}}, apps.SidecarSetSpec{Containers: []apps.SidecarContainer{sidecar("a")}},
			false, []string{"spec.containers[0].name: container a already exists"},
		},
		"an init container with the name of a hot one": {
			apps.SidecarSetSpec{InitContainers: []apps.SidecarContainer{sidecar("a")}}, apps.SidecarSetSpec{Containers: []apps.SidecarContainer{hot("a")}},
			false, nil,
		},
		"the same volume":    {apps.SidecarSetSpec{Volumes: volume("/a")}, apps.SidecarSetSpec{Volumes: volume("/a")}, false, nil},
		"a volume more":      {apps.SidecarSetSpec{Volumes: volume("/a")}, apps.SidecarSetSpec{}, false, nil},
		"another volume":     {apps.SidecarSetSpec{Volumes: volume("/a")}, apps.SidecarSetSpec{Volumes: volume("/b")}, false, []string{"spec.volumes[0].name: in conflict"}},
		"retain, overwrite":  {apps.SidecarSetSpec{PatchPodMetadata: patch("Retain")}, apps.SidecarSetSpec{PatchPodMetadata: patch("Overwrite")}, false, nil},
		"overwrite, retain":  {apps.SidecarSetSpec{PatchPodMetadata: patch("Overwrite")}, apps.SidecarSetSpec{PatchPodMetadata: patch("Retain")}, false, nil},
		"overwrite, nothing": {apps.SidecarSetSpec{PatchPodMetadata: patch("Overwrite")}, apps.SidecarSetSpec{}, false, nil},
		"merge, merge":       {apps.SidecarSetSpec{PatchPodMetadata: patch("MergePatchJson")}, apps.SidecarSetSpec{PatchPodMetadata: patch("MergePatchJson")}, false, nil},
		"overwrite, merge": {
			apps.SidecarSetSpec{PatchPodMetadata: patch("Overwrite")}, apps.SidecarSetSpec{PatchPodMetadata: patch("MergePatchJson")}, false,
			[]string{"spec.patchPodMetadata[0].annotations[a]: in conflict"},
		},
		"merge, overwrite": {
			apps.SidecarSetSpec{PatchPodMetadata: patch("MergePatchJson")}, apps.SidecarSetSpec{PatchPodMetadata: patch("Overwrite")}, false,
			[]string{"spec.patchPodMetadata[0].annotations[a]: in conflict"},
		},
		"overwrite, overwrite": {
			apps.SidecarSetSpec{PatchPodMetadata: patch("Overwrite")}, apps.SidecarSetSpec{PatchPodMetadata: patch("Overwrite")}, false,
			[]string{"spec.patchPodMetadata[0].annotations[a]: in conflict"},
		},
		"a canary and its base": {
			apps.SidecarSetSpec{Containers: []apps.SidecarContainer{sidecar("a")}}, apps.SidecarSetSpec{Containers: []apps.SidecarContainer{sidecar("a")}},
			true, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.set.Selector, test.other.Selector = someSelector(), someSelector()
			set := &apps.SidecarSet{ObjectMeta: metav1.ObjectMeta{Name: "set"}, Spec: test.set}
			other := &apps.SidecarSet{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: test.other}
			if test.canary {
				set.Annotations = map[string]string{pub.SidecarSetCanaryKey: "true", pub.SidecarSetBaseKey: "other"}
				errs, err := validation.ValidateSidecarSetConflicts(other, []*apps.SidecarSet{set}, namespaces)
				require.NoError(t, err)
				require.Empty(t, errs, "the base can be updated while it has a canary")
			}
			if test.want == nil && test.canary {
				plain := set.DeepCopy()
				delete(plain.Annotations, pub.SidecarSetCanaryKey)
				errs, err := validation.ValidateSidecarSetConflicts(plain, []*apps.SidecarSet{other}, namespaces)
				require.NoError(t, err)
				require.NotEmpty(t, errs, "the name of a base alone makes no canary")
			}
			stored := set.DeepCopy()
			errs, err := validation.ValidateSidecarSetConflicts(set, []*apps.SidecarSet{stored, other}, namespaces)
			require.NoError(t, err)
			rulestest.Errors(t, test.want, errs)
		})
	}
}

func TestSidecarSetConflictsNeedAnswers(t *testing.T) {
	set := sidecars(onSpec(func(s *apps.SidecarSetSpec) { s.Namespace = "broken" }))
	other := sidecars(onSpec(func(s *apps.SidecarSetSpec) { s.NamespaceSelector = someSelector() }))
	other.Name = "other"
	_, err := validation.ValidateSidecarSetConflicts(set, []*apps.SidecarSet{other}, namespaces)
	require.ErrorContains(t, err, "no route to host")

	apart := other.DeepCopy()
	apart.Spec.Containers = []apps.SidecarContainer{sidecar("another"), sidecar("more")}
	_, err = validation.ValidateSidecarSetConflicts(set, []*apps.SidecarSet{apart}, namespaces)
	require.NoError(t, err, "budgets without a common selector need no lookup")

	set.Spec.Namespace = "prod"
	other.Spec.NamespaceSelector = invalidSelector()
	_, err = validation.ValidateSidecarSetConflicts(set, []*apps.SidecarSet{other}, namespaces)
	require.ErrorContains(t, err, "read a stored namespaceSelector")
}
