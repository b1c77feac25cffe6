package scheduledpulls

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kruise.io/kruise/pkg/apis/apps"
)

func cron(image string) *apps.AdvancedCronJob {
	job := &apps.AdvancedCronJob{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns"}}
	if image != "" {
		job.Spec.Template.ImageListPullJobTemplate = &apps.ImageListPullJobTemplateSpec{Spec: apps.ImageListPullJobSpec{Images: []string{image}}}
	}
	return job
}

func TestUserWhoMayNotPullImagesCannotScheduleIt(t *testing.T) {
	paused := cron("a")
	paused.Spec.Paused = new(true)
	for name, test := range map[string]struct {
		now, before runtime.Object
		refused     bool
	}{
		"created":            {cron("a"), nil, true},
		"another template":   {cron(""), nil, false},
		"changed":            {cron("b"), cron("a"), true},
		"added":              {cron("a"), cron(""), true},
		"the template stays": {paused, cron("a"), false},
		"removed":            {cron(""), cron("a"), false},
		"another kind":       {&apps.CloneSet{}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			version := schema.GroupVersion{Group: "apps.kruise.io", Version: "v1beta1"}
			operation := admission.Create
			if test.before != nil {
				operation = admission.Update
			}
			attributes := admission.NewAttributesRecord(test.now, test.before, version.WithKind("AdvancedCronJob"), "ns", "demo",
				version.WithResource("advancedcronjobs"), "", operation, nil, false, &user.DefaultInfo{Name: "jane"})
			asked := ""
			decision, failure := authorizer.DecisionNoOpinion, error(nil)
			plugin := New()
			plugin.SetAuthorizer(authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
				asked = a.GetUser().GetName() + " " + a.GetVerb() + " " + a.GetNamespace() + "/" + a.GetResource() + "." + a.GetAPIGroup()
				return decision, "no rule", failure
			}))
			err := plugin.Validate(t.Context(), attributes, nil)
			if !test.refused {
				require.NoError(t, err)
				assert.Empty(t, asked, "it costs no review")
				return
			}
			assert.Equal(t, "jane create ns/imagelistpulljobs.apps.kruise.io", asked)
			assert.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, "get the ClusterRole kruise-image-pulls there, or use another template: no rule")
			failure = errors.New("no route to host")
			assert.ErrorContains(t, plugin.Validate(t.Context(), attributes, nil), "no route to host")
			decision, failure = authorizer.DecisionAllow, nil
			require.NoError(t, plugin.Validate(t.Context(), attributes, nil))
		})
	}
}

func TestPluginNeedsAnAuthorizer(t *testing.T) {
	require.ErrorContains(t, New().ValidateInitialization(), "needs an authorizer")
}
