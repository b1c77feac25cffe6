package ephemeralcontainers

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kruise.io/kruise/pkg/apis/apps"
)

func job(edits ...func(*apps.EphemeralJobSpec)) *apps.EphemeralJob {
	result := &apps.EphemeralJob{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns"}}
	result.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	for _, edit := range edits {
		edit(&result.Spec)
	}
	return result
}

func TestUserWhoMayNotDebugPodsCannotCreateTheJob(t *testing.T) {
	image := func(s *apps.EphemeralJobSpec) {
		s.Template.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Image: "x"}}}
	}
	for name, test := range map[string]struct {
		now, before runtime.Object
		refused     bool
	}{
		"created":              {job(), nil, true},
		"another image":        {job(image), job(), true},
		"other Pods":           {job(func(s *apps.EphemeralJobSpec) { s.Selector.MatchLabels["app"] = "b" }), job(), true},
		"more Pods":            {job(func(s *apps.EphemeralJobSpec) { s.Replicas = new(int32(5)) }), job(), true},
		"paused":               {job(func(s *apps.EphemeralJobSpec) { s.Paused = true }), job(), false},
		"nothing that matters": {job(), job(), false},
		"another kind":         {&apps.CloneSet{}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			version := schema.GroupVersion{Group: "apps.kruise.io", Version: "v1beta1"}
			operation := admission.Create
			if test.before != nil {
				operation = admission.Update
			}
			attributes := admission.NewAttributesRecord(test.now, test.before, version.WithKind("EphemeralJob"), "ns", "demo",
				version.WithResource("ephemeraljobs"), "", operation, nil, false, &user.DefaultInfo{Name: "jane"})
			asked := ""
			decision, failure := authorizer.DecisionNoOpinion, error(nil)
			plugin := New()
			require.Error(t, plugin.ValidateInitialization())
			plugin.SetAuthorizer(authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
				asked = a.GetUser().GetName() + " " + a.GetVerb() + " " + a.GetNamespace() + "/" + a.GetResource() + "/" + a.GetSubresource() + a.GetAPIGroup()
				return decision, "no rule", failure
			}))
			require.NoError(t, plugin.ValidateInitialization())
			err := plugin.Validate(t.Context(), attributes, nil)
			if !test.refused {
				require.NoError(t, err)
				assert.Empty(t, asked, "it costs no review")
				return
			}
			assert.Equal(t, "jane patch ns/pods/ephemeralcontainers", asked)
			assert.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, "you cannot patch pods/ephemeralcontainers in namespace ns; get a role there")
			failure = errors.New("no route to host")
			assert.ErrorContains(t, plugin.Validate(t.Context(), attributes, nil), "no route to host")
			decision, failure = authorizer.DecisionAllow, nil
			require.NoError(t, plugin.Validate(t.Context(), attributes, nil))
		})
	}
}
