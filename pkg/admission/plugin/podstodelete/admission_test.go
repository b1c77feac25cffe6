package podstodelete

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps"
)

func pod(name, owner string, terminating bool) *metav1.PartialObjectMetadata {
	pod := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ns", Labels: map[string]string{"app": "demo"},
			OwnerReferences: []metav1.OwnerReference{{UID: "other"}, {UID: "uid", Controller: new(owner == "uid")}},
		},
	}
	if terminating {
		pod.DeletionTimestamp = new(metav1.Now())
	}
	return pod
}

func cloneSet(names ...string) *apps.CloneSet {
	return &apps.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", UID: "uid"},
		Spec: apps.CloneSetSpec{
			Selector:      &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}},
			ScaleStrategy: apps.CloneSetScaleStrategy{PodsToDelete: names},
		},
	}
}

// client serves the Pods.
func client(t *testing.T, pods ...runtime.Object) *metadatafake.FakeMetadataClient {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	return metadatafake.NewSimpleMetadataClient(scheme, pods...)
}

// Case cloneset 10.
func TestValidate(t *testing.T) {
	tests := map[string]struct {
		obj, old    *apps.CloneSet
		subresource string
		wants       []string
	}{
		"empty on create":         {obj: cloneSet()},
		"own Pod":                 {obj: cloneSet("own"), old: cloneSet()},
		"own Pods":                {obj: cloneSet("own", "second"), old: cloneSet()},
		"known names stay":        {obj: cloneSet("gone", "own"), old: cloneSet("gone")},
		"a name is taken away":    {obj: cloneSet("gone"), old: cloneSet("gone", "own")},
		"any name on create":      {obj: cloneSet("own"), wants: []string{"podsToDelete: Forbidden", "a new CloneSet owns no Pods"}},
		"unknown Pod":             {obj: cloneSet("own", "gone"), old: cloneSet(), wants: []string{"podsToDelete[1]", `"gone"`, "no Pod of this name"}},
		"terminating Pod":         {obj: cloneSet("ending"), old: cloneSet(), wants: []string{"being deleted already"}},
		"a foreign Pod":           {obj: cloneSet("foreign"), old: cloneSet(), wants: []string{"belongs to this CloneSet"}},
		"no name at all":          {obj: cloneSet(""), old: cloneSet(), wants: []string{"is not a valid Pod name"}},
		"no name of a Pod":        {obj: cloneSet("../x"), old: cloneSet(), wants: []string{"is not a valid Pod name"}},
		"all problems at once":    {obj: cloneSet("gone", "foreign"), old: cloneSet(), wants: []string{"podsToDelete[0]", "podsToDelete[1]"}},
		"status is not concerned": {obj: cloneSet("gone"), old: cloneSet(), subresource: "status"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin := New()
			plugin.SetMetadataClient(client(t,
				pod("own", "uid", false), pod("second", "uid", false), pod("ending", "uid", true), pod("foreign", "", false)))
			require.NoError(t, plugin.ValidateInitialization())
			var old runtime.Object
			if test.old != nil {
				old = test.old
			}
			err := plugin.Validate(t.Context(), attributes(test.obj, old, test.subresource), nil)
			if len(test.wants) == 0 {
				assert.NoError(t, err)
				return
			}
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			for _, want := range test.wants {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func TestRequestsReadPodsAtMostOnce(t *testing.T) {
	names := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("pod-%d", i))
		}
		return names
	}
	shrunk := names(mostNames + 2)
	tests := map[string]struct {
		obj, old  *apps.CloneSet
		reads     int
		selection string
		want      string
	}{
		"on create":              {obj: cloneSet(names(5)...), want: "a new CloneSet owns no Pods"},
		"no new name":            {obj: cloneSet(names(5)...), old: cloneSet(names(6)...)},
		"one new name":           {obj: cloneSet(names(1)...), old: cloneSet(), reads: 1, selection: "metadata.name=pod-0"},
		"as many as there may":   {obj: cloneSet(names(mostNames)...), old: cloneSet(), reads: 1},
		"too many":               {obj: cloneSet(names(mostNames + 1)...), old: cloneSet(), want: "1001: must list at most 1000 names"},
		"one more than too many": {obj: cloneSet(shrunk...), old: cloneSet(shrunk[1:]...), want: "1002: must list at most 1000 names"},
		"still too many":         {obj: cloneSet(shrunk[1:]...), old: cloneSet(shrunk...)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var own []runtime.Object
			for _, name := range names(mostNames) {
				own = append(own, pod(name, "uid", false))
			}
			plugin, client := New(), client(t, own...)
			plugin.SetMetadataClient(client)
			var old runtime.Object
			if test.old != nil {
				old = test.old
			}
			err := plugin.Validate(t.Context(), attributes(test.obj, old, ""), nil)
			if test.want != "" {
				require.True(t, apierrors.IsInvalid(err), "%v", err)
				require.ErrorContains(t, err, test.want)
				var status apierrors.APIStatus
				require.ErrorAs(t, err, &status)
				assert.Len(t, status.Status().Details.Causes, 1, "one error, not one for each name")
			} else {
				require.NoError(t, err)
			}
			assert.Len(t, client.Actions(), test.reads)
			for _, action := range client.Actions() {
				list, ok := action.(clienttesting.ListAction)
				require.True(t, ok)
				assert.Equal(t, "app=demo", list.GetListRestrictions().Labels.String())
				assert.Equal(t, test.selection, list.GetListRestrictions().Fields.String())
			}
		})
	}
}

func TestUnansweredReadRefuses(t *testing.T) {
	client := client(t)
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no route to host")
	})
	plugin := New()
	plugin.SetMetadataClient(client)
	err := plugin.Validate(t.Context(), attributes(cloneSet("own"), cloneSet(), ""), nil)
	assert.True(t, apierrors.IsInternalError(err), "%v", err)
	assert.ErrorContains(t, err, "no route to host")
}

func TestOtherKindsAreIgnored(t *testing.T) {
	scale := &autoscalingv1.Scale{}
	kind, resource := apps.SchemeGroupVersion.WithKind("CloneSet"), apps.SchemeGroupVersion.WithResource("clonesets")
	assert.NoError(t, New().Validate(t.Context(), admission.NewAttributesRecord(
		scale, scale, kind, "ns", "demo", resource, "", admission.Update, nil, false, nil), nil))
}

func TestPluginNeedsAClient(t *testing.T) {
	assert.Error(t, New().ValidateInitialization())
}

func attributes(obj *apps.CloneSet, old runtime.Object, subresource string) admission.Attributes {
	operation := admission.Create
	if old != nil {
		operation = admission.Update
	}
	kind := apps.SchemeGroupVersion.WithKind("CloneSet")
	resource := apps.SchemeGroupVersion.WithResource("clonesets")
	return admission.NewAttributesRecord(obj, old, kind, "ns", "demo", resource, subresource, operation, nil, false, nil)
}
