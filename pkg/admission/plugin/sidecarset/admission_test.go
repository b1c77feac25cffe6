package sidecarset

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	kruiseinitializer "kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/workload/sidecar"
)

const own = "kruise-system"

func newPlugin(t *testing.T, on bool, host []runtime.Object, sets ...runtime.Object) (*Plugin, *fake.Clientset, *kruisefake.Clientset) {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.SetFromMap(map[string]bool{string(features.SidecarSetPatchPodMetadataDefaults): on}))
	plugin, client, kruise := New(), fake.NewClientset(host...), kruisefake.NewClientset(sets...)
	require.Error(t, plugin.ValidateInitialization())
	plugin.SetExternalKubeClientSet(client)
	(&kruiseinitializer.Initializer{Kruise: kruise, Features: gate, Namespace: own}).Initialize(plugin)
	require.NoError(t, plugin.ValidateInitialization())
	return plugin, client, kruise
}

func stored(name string, annotations map[string]string, containers ...string) *v1beta1.SidecarSet {
	set := &v1beta1.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec:       v1beta1.SidecarSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}}},
	}
	for _, container := range containers {
		set.Spec.Containers = append(set.Spec.Containers, v1beta1.SidecarContainer{Container: corev1.Container{Name: container}})
	}
	return set
}

func newSet(change func(*apps.SidecarSet)) *apps.SidecarSet {
	set := &apps.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Labels: map[string]string{"team": "a"}},
		Spec: apps.SidecarSetSpec{
			Selector:   &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}},
			Containers: []apps.SidecarContainer{{Container: corev1.Container{Name: "agent"}}},
		},
	}
	if change != nil {
		change(set)
	}
	return set
}

func attributes(set, old *apps.SidecarSet, subresource string) admission.Attributes {
	kind, resource := apps.SchemeGroupVersion.WithKind("SidecarSet"), apps.SchemeGroupVersion.WithResource("sidecarsets")
	if old == nil {
		return admission.NewAttributesRecord(set, nil, kind, "", set.Name, resource, subresource, admission.Create, nil, false, nil)
	}
	return admission.NewAttributesRecord(set, old, kind, "", set.Name, resource, subresource, admission.Update, nil, false, nil)
}

func requireInvalid(t *testing.T, err error, wants ...string) {
	t.Helper()
	if len(wants) == 0 {
		require.NoError(t, err)
		return
	}
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	for _, want := range wants {
		assert.ErrorContains(t, err, want)
	}
}

// Case sidecarset 27: beside what is stored.
func TestConflicts(t *testing.T) {
	clashing := "spec.containers[0].name: Invalid value: \"agent\": container agent already exists in SidecarSet other"
	another := func(s *apps.SidecarSet) { s.Spec.Containers[0].Name = "another" }
	for name, test := range map[string]struct {
		set, old    *apps.SidecarSet
		subresource string
		wants       []string
	}{
		"create":                        {newSet(nil), nil, "", []string{clashing}},
		"create of another":             {newSet(another), nil, "", nil},
		"update to it":                  {newSet(nil), newSet(another), "", []string{clashing}},
		"update that leaves it alone":   {newSet(func(s *apps.SidecarSet) { s.Spec.Containers[0].Image = "b" }), newSet(nil), "", nil},
		"update of metadata":            {newSet(func(s *apps.SidecarSet) { s.Labels = nil }), newSet(nil), "", nil},
		"status":                        {newSet(nil), newSet(another), "status", nil},
		"what is being deleted":         {newSet(func(s *apps.SidecarSet) { s.DeletionTimestamp = new(metav1.Now()) }), newSet(another), "", nil},
		"it does not clash with itself": {newSet(func(s *apps.SidecarSet) { s.Name = "other" }), nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			plugin, _, _ := newPlugin(t, false, nil, stored("other", nil, "agent"))
			requireInvalid(t, plugin.Validate(t.Context(), attributes(test.set, test.old, test.subresource), nil), test.wants...)
		})
	}
}

// storing returns the revision that stores a SidecarSet.
func storing(t *testing.T, name, version string, set *v1beta1.SidecarSet) *appsv1.ControllerRevision {
	t.Helper()
	data, err := sidecar.Data(&set.Spec)
	require.NoError(t, err)
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: own, Labels: map[string]string{
			pub.SidecarSetNameKey: set.Name, pub.SidecarSetCustomVersionKey: version,
		}},
		Data: runtime.RawExtension{Raw: data},
	}
}

// A stored revision that is injected into new Pods counts like the spec, on both sides.
// Case sidecarset 27a.
func TestConflictsOfPinnedRevisions(t *testing.T) {
	byName := &apps.SidecarSetInjectRevision{RevisionName: new("demo-1")}
	byVersion := &v1beta1.SidecarSetInjectRevision{CustomVersion: new("v1")}
	pinned := func(s *apps.SidecarSet) {
		s.Spec.Containers[0].Name, s.Spec.InjectionStrategy.Revision = "another", byName
	}
	another := func(s *apps.SidecarSet) { s.Spec.Containers[0].Name = "another" }
	other := stored("other", nil, "x")
	other.Spec.InjectionStrategy.Revision = byVersion
	for name, test := range map[string]struct {
		set, old *apps.SidecarSet
		other    *v1beta1.SidecarSet
		wants    []string
	}{
		"the revision of the other": {newSet(nil), nil, other, []string{"spec.containers[0].name: Invalid value: \"agent\": container agent already exists in SidecarSet other"}},
		"the revision is pinned": {newSet(pinned), newSet(another), stored("other", nil, "agent"),
			[]string{"spec.injectionStrategy.revision: Invalid value: \"demo-1\": the revision cannot be injected: container agent already exists in SidecarSet other"}},
		"it was pinned before":   {newSet(func(s *apps.SidecarSet) { pinned(s); s.Spec.Containers[0].Image = "b" }), newSet(pinned), stored("other", nil, "agent"), nil},
		"no container in common": {newSet(pinned), newSet(another), stored("other", nil, "x"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			plugin, _, _ := newPlugin(t, false, []runtime.Object{
				storing(t, "demo-1", "v0", stored("demo", nil, "agent")), storing(t, "other-1", "v1", stored("other", nil, "agent")),
			}, test.other)
			requireInvalid(t, plugin.Validate(t.Context(), attributes(test.set, test.old, ""), nil), test.wants...)
		})
	}
}

// The plugin reads the labels of a namespace only if two SidecarSets would conflict in that namespace.
func TestConflictsInANamespace(t *testing.T) {
	other := stored("other", nil, "agent")
	other.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	for namespace, wants := range map[string][]string{"prod": {"already exists in SidecarSet other"}, "test": nil, "gone": nil} {
		plugin, client, _ := newPlugin(t, false, []runtime.Object{
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "prod", Labels: map[string]string{"env": "prod"}}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "test"}},
		}, other)
		set := newSet(func(s *apps.SidecarSet) { s.Spec.Namespace = namespace })
		requireInvalid(t, plugin.Validate(t.Context(), attributes(set, nil, ""), nil), wants...)
		set.Spec.Containers[0].Name, set.Spec.Namespace = "another", "prod"
		client.ClearActions()
		requireInvalid(t, plugin.Validate(t.Context(), attributes(set, nil, ""), nil))
		assert.Empty(t, client.Actions())
	}
}

func TestCanary(t *testing.T) {
	canary := func(base string) *apps.SidecarSet {
		return newSet(func(s *apps.SidecarSet) {
			s.Annotations = map[string]string{pub.SidecarSetCanaryKey: "true", pub.SidecarSetBaseKey: base}
		})
	}
	others := []runtime.Object{
		stored("base", nil, "agent"), stored("canary", map[string]string{pub.SidecarSetCanaryKey: "true", pub.SidecarSetBaseKey: "x"}, "another"),
	}
	unnamed := canary("")
	plugin, _, _ := newPlugin(t, false, nil)
	requireInvalid(t, plugin.Validate(t.Context(), attributes(unnamed, nil, ""), nil)) // Validation reports this error.
	delete(unnamed.Annotations, pub.SidecarSetCanaryKey)
	unnamed.Annotations[pub.SidecarSetBaseKey] = "gone"
	requireInvalid(t, plugin.Validate(t.Context(), attributes(unnamed, nil, ""), nil)) // This SidecarSet is not a canary.
	for base, wants := range map[string][]string{
		"base":   nil,
		"gone":   {"already exists in SidecarSet base", `metadata.annotations[apps.kruise.io/sidecarset-base]: Not found: "gone"`},
		"canary": {"already exists in SidecarSet base", "this SidecarSet is a canary itself"},
	} {
		t.Run(base, func(t *testing.T) {
			plugin, _, _ := newPlugin(t, false, nil, others...)
			requireInvalid(t, plugin.Validate(t.Context(), attributes(canary(base), nil, ""), nil), wants...)
			requireInvalid(t, plugin.Validate(t.Context(), attributes(canary(base), newSet(nil), ""), nil), wants[min(1, len(wants)):]...)
			requireInvalid(t, plugin.Validate(t.Context(), attributes(canary(base), canary(base), ""), nil))
		})
	}
}

// Case sidecarset 22.
func TestRevision(t *testing.T) {
	revision := func(name, set, version string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: own, Labels: map[string]string{
			pub.SidecarSetNameKey: set, pub.SidecarSetCustomVersionKey: version,
		}}}
	}
	deleted := revision("demo-0", "demo", "v0")
	deleted.OwnerReferences = []metav1.OwnerReference{{Kind: "SidecarSet", Name: "demo", UID: "deleted", Controller: new(true)}}
	owned := revision("demo-2", "demo", "v3")
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "SidecarSet", Name: "demo", UID: "now", Controller: new(true)}}
	const missing = "cannot find specific ControllerRevision"
	for name, test := range map[string]struct {
		revisionName, customVersion *string
		wants                       []string
	}{
		"own name":                    {new("demo-1"), nil, nil},
		"unknown name":                {new("demo-9"), nil, []string{"spec.injectionStrategy.revision.revisionName", missing}},
		"name of another":             {new("other-1"), nil, []string{"spec.injectionStrategy.revision.revisionName", missing}},
		"own version":                 {nil, new("v1"), nil},
		"unknown version":             {nil, new("v9"), []string{"spec.injectionStrategy.revision.customVersion", missing}},
		"version of another":          {nil, new("v2"), []string{missing}},
		"version that cannot be":      {nil, new("a,b"), []string{"is not a valid label value"}},
		"the name wins":               {new("demo-1"), new("v9"), nil},
		"the name wins when it fails": {new("demo-9"), new("v1"), []string{missing}},
		"own name, with its owner":    {new("demo-2"), nil, nil},
		"own version, with its owner": {nil, new("v3"), nil},
		"name of a deleted one":       {new("demo-0"), nil, []string{missing}},
		"version of a deleted one":    {nil, new("v0"), []string{missing}},
	} {
		t.Run(name, func(t *testing.T) {
			plugin, _, _ := newPlugin(t, false, []runtime.Object{
				deleted, owned, revision("demo-1", "demo", "v1"), revision("other-1", "other", "v2"),
			})
			set := newSet(func(s *apps.SidecarSet) {
				s.UID = "now"
				s.Spec.InjectionStrategy.Revision = &apps.SidecarSetInjectRevision{RevisionName: test.revisionName, CustomVersion: test.customVersion}
			})
			requireInvalid(t, plugin.Validate(t.Context(), attributes(set, nil, ""), nil), test.wants...)
			requireInvalid(t, plugin.Validate(t.Context(), attributes(set, newSet(nil), ""), nil), test.wants...)
			again := set.DeepCopy()
			again.Spec.Containers[0].Image = "b"
			requireInvalid(t, plugin.Validate(t.Context(), attributes(again, set, ""), nil))
		})
	}
}

func TestUnansweredReadsRefuse(t *testing.T) {
	set := newSet(func(s *apps.SidecarSet) {
		s.Spec.InjectionStrategy.Revision = &apps.SidecarSetInjectRevision{RevisionName: new("demo-1")}
	})
	broken := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no route to host")
	}

	plugin, client, _ := newPlugin(t, false, nil)
	client.PrependReactor("*", "*", broken)
	err := plugin.Validate(t.Context(), attributes(set, nil, ""), nil)
	assert.True(t, apierrors.IsInternalError(err))
	assert.ErrorContains(t, err, "no route to host")

	patched := patching(map[string]string{"a": "x"})
	versioned := newSet(func(s *apps.SidecarSet) {
		s.Spec.InjectionStrategy.Revision = &apps.SidecarSetInjectRevision{CustomVersion: new("v1")}
	})
	limited := newSet(func(s *apps.SidecarSet) { s.Spec.Namespace = "prod" })
	other := stored("other", nil, "agent")
	other.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	elsewhere := newSet(func(s *apps.SidecarSet) { s.Spec.Namespace = "test" })
	for name, test := range map[string]struct {
		set, old       *apps.SidecarSet
		verb, resource string
		want           string
	}{
		"configuration":           {patched, nil, "get", "configmaps", "get ConfigMap kruise-system/kruise-configuration"},
		"revisions":               {versioned, nil, "list", "controllerrevisions", "list the revisions of SidecarSet demo"},
		"namespace":               {limited, nil, "get", "namespaces", "get namespace prod"},
		"namespace of the stored": {newSet(nil), elsewhere, "get", "namespaces", "get namespace test"},
	} {
		t.Run(name, func(t *testing.T) {
			plugin, client, _ := newPlugin(t, false, nil, other)
			client.PrependReactor(test.verb, test.resource, broken)
			set := test.set.DeepCopy()
			if test.resource != "namespaces" {
				set.Spec.Containers[0].Name = "another"
			}
			err := plugin.Validate(t.Context(), attributes(set, test.old, ""), nil)
			assert.True(t, apierrors.IsInternalError(err), "%v", err)
			assert.ErrorContains(t, err, test.want+": no route to host")
		})
	}

	plugin, _, kruise := newPlugin(t, false, nil)
	kruise.PrependReactor("*", "*", broken)
	assert.ErrorContains(t, plugin.Validate(t.Context(), attributes(newSet(nil), nil, ""), nil), "list SidecarSets: no route to host")
}

func TestOtherKindsAreIgnored(t *testing.T) {
	plugin, _, _ := newPlugin(t, false, nil)
	kind, resource := apps.SchemeGroupVersion.WithKind("CloneSet"), apps.SchemeGroupVersion.WithResource("clonesets")
	other := admission.NewAttributesRecord(&apps.CloneSet{}, nil, kind, "ns", "demo", resource, "", admission.Create, nil, false, nil)
	assert.NoError(t, plugin.Validate(t.Context(), other, nil))
}
