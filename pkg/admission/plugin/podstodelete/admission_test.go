package podstodelete

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps"
)

func pod(name, owner string, terminating bool) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", OwnerReferences: []metav1.OwnerReference{
		{UID: "other"}, {UID: "uid", Controller: new(owner == "uid")},
	}}}
	if terminating {
		pod.DeletionTimestamp = new(metav1.Now())
	}
	return pod
}

func cloneSet(names ...string) *apps.CloneSet {
	return &apps.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", UID: "uid"},
		Spec:       apps.CloneSetSpec{ScaleStrategy: apps.CloneSetScaleStrategy{PodsToDelete: names}},
	}
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
		"known names stay":        {obj: cloneSet("gone", "own"), old: cloneSet("gone")},
		"unknown Pod":             {obj: cloneSet("own", "gone"), old: cloneSet(), wants: []string{"podsToDelete[1]", `"gone"`, "no such Pod"}},
		"terminating Pod":         {obj: cloneSet("ending"), old: cloneSet(), wants: []string{"being deleted already"}},
		"somebody else's Pod":     {obj: cloneSet("foreign"), old: cloneSet(), wants: []string{"does not belong"}},
		"no name at all":          {obj: cloneSet(""), old: cloneSet(), wants: []string{"is not a valid Pod name"}},
		"no name of a Pod":        {obj: cloneSet("../x"), old: cloneSet(), wants: []string{"is not a valid Pod name"}},
		"all problems at once":    {obj: cloneSet("gone", "foreign"), old: cloneSet(), wants: []string{"podsToDelete[0]", "podsToDelete[1]"}},
		"status is not concerned": {obj: cloneSet("gone"), old: cloneSet(), subresource: "status"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin := New()
			plugin.SetExternalKubeClientSet(fake.NewClientset(pod("own", "uid", false), pod("ending", "uid", true), pod("foreign", "", false)))
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

func TestUnansweredReadRefuses(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no route to host")
	})
	plugin := New()
	plugin.SetExternalKubeClientSet(client)
	err := plugin.Validate(t.Context(), attributes(cloneSet("own"), cloneSet(), ""), nil)
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
