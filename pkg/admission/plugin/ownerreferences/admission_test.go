package ownerreferences

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kruise.io/kruise/pkg/apis/apps"
)

func TestUnansweredQuestionsRefuse(t *testing.T) {
	plugin := New()
	plugin.SetAuthorizer(authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionNoOpinion, "", errors.New("no route to host")
	}))
	version := schema.GroupVersion{Group: "apps.kruise.io", Version: "v1beta1"}
	err := plugin.Validate(t.Context(), admission.NewAttributesRecord(
		object(), object(owner("UnitedDeployment", "up", nil)), version.WithKind("CloneSet"), "ns", "demo", version.WithResource("clonesets"),
		"", admission.Update, nil, false, &user.DefaultInfo{Name: "jane"}), nil)
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "do not change metadata.ownerReferences: no route to host")
}

// allows lists what the user may do, as "verb namespace/resource/subresource/name".
type allows []string

func (a allows) Authorize(_ context.Context, r authorizer.Attributes) (authorizer.Decision, string, error) {
	asked := r.GetVerb() + " " + r.GetNamespace() + "/" + r.GetResource() + "." + r.GetAPIGroup() + "/" + r.GetSubresource() + "/" + r.GetName()
	if slices.Contains(a, asked) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "no rule", nil
}

func owner(kind, name string, block *bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: kind, Name: name, UID: types.UID(kind + name), BlockOwnerDeletion: block}
}

func object(owners ...metav1.OwnerReference) *apps.CloneSet {
	return &apps.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", OwnerReferences: owners}}
}

func TestValidate(t *testing.T) {
	yes, no := new(true), new(false)
	const (
		remove   = "delete ns/clonesets.apps.kruise.io//demo"
		finalize = "update ns/uniteddeployments.apps.kruise.io/finalizers/up"
		cluster  = "update /sidecarsets.apps.kruise.io/finalizers/up"
	)
	tests := map[string]struct {
		old, now *apps.CloneSet
		allowed  allows
		want     string
	}{
		"created without an owner":            {nil, object(), nil, ""},
		"created with an owner":               {nil, object(owner("UnitedDeployment", "up", nil)), nil, ""},
		"created with one that does not wait": {nil, object(owner("UnitedDeployment", "up", no)), nil, ""},
		"created with one that waits":         {nil, object(owner("UnitedDeployment", "up", yes)), allows{finalize}, ""},
		"created, not allowed to let it wait": {nil, object(owner("UnitedDeployment", "up", yes)), nil,
			"update uniteddeployments/finalizers, or remove the field: no rule"},
		"owner without a namespace": {nil, object(owner("SidecarSet", "up", yes)), allows{cluster}, ""},
		"owner of an unknown kind":  {nil, object(owner("Nothing", "up", yes)), allows{finalize}, "does not serve owner kind Nothing"},

		"nothing changes":           {object(owner("UnitedDeployment", "up", yes)), object(owner("UnitedDeployment", "up", yes)), nil, ""},
		"owner is set":              {object(), object(owner("UnitedDeployment", "up", nil)), allows{remove}, ""},
		"owner is set, not allowed": {object(), object(owner("UnitedDeployment", "up", nil)), nil, "resource you can't delete"},
		"owner goes, not allowed":   {object(owner("UnitedDeployment", "up", nil)), object(), nil, "resource you can't delete"},
		"begins to wait":            {object(owner("UnitedDeployment", "up", no)), object(owner("UnitedDeployment", "up", yes)), allows{remove, finalize}, ""},
		"begins to wait, not allowed": {
			object(owner("UnitedDeployment", "up", no)), object(owner("UnitedDeployment", "up", yes)), allows{remove}, "can't set finalizers on",
		},
		"waited before": {
			object(owner("UnitedDeployment", "up", yes)), object(owner("UnitedDeployment", "up", yes), owner("UnitedDeployment", "b", nil)), allows{remove}, "",
		},
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	version := schema.GroupVersion{Group: "apps.kruise.io", Version: "v1beta1"}
	mapper.Add(version.WithKind("UnitedDeployment"), meta.RESTScopeNamespace)
	mapper.Add(version.WithKind("SidecarSet"), meta.RESTScopeRoot)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin := New()
			plugin.SetAuthorizer(test.allowed)
			require.Error(t, plugin.ValidateInitialization(), "needs an authorizer and a REST mapper")
			plugin.SetRESTMapper(mapper)
			plugin.SetAuthorizer(nil)
			require.Error(t, plugin.ValidateInitialization(), "needs an authorizer and a REST mapper")
			plugin.SetAuthorizer(test.allowed)
			require.NoError(t, plugin.ValidateInitialization())

			operation, old := admission.Create, runtime.Object(nil)
			if test.old != nil {
				operation, old = admission.Update, test.old
			}
			err := plugin.Validate(t.Context(), admission.NewAttributesRecord(
				test.now, old, version.WithKind("CloneSet"), "ns", "demo", version.WithResource("clonesets"), "", operation, nil, false, &user.DefaultInfo{Name: "jane"},
			), nil)
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, test.want)
		})
	}
}
