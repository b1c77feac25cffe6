package budgetconflicts

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned/fake"
)

func target(name string) *policy.PodUnavailableBudget {
	return &policy.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: "ns"},
		Spec:       policy.PodUnavailableBudgetSpec{TargetRef: &policy.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name}},
	}
}

func TestValidate(t *testing.T) {
	stored := &v1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "stored", Namespace: "ns"},
		Spec:       v1beta1.PodUnavailableBudgetSpec{TargetRef: &v1beta1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
	}
	plugin := New()
	require.Error(t, plugin.ValidateInitialization())
	(&initializer.Initializer{Kruise: fake.NewClientset(stored)}).Initialize(plugin)
	require.NoError(t, plugin.ValidateInitialization())
	judge := func(budget *policy.PodUnavailableBudget, namespace, subresource string) error {
		return plugin.Validate(t.Context(), admission.NewAttributesRecord(
			budget, nil, policy.SchemeGroupVersion.WithKind("PodUnavailableBudget"), namespace, budget.Name,
			policy.SchemeGroupVersion.WithResource("podunavailablebudgets"), subresource, admission.Create, nil, false, nil,
		), nil)
	}

	err := judge(target("web"), "ns", "")
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "spec.targetRef")
	assert.ErrorContains(t, err, "PodUnavailableBudget stored already has this target")
	again := target("web")
	again.Name = "stored"
	assert.NoError(t, judge(again, "ns", ""), "the store says that it exists")
	assert.NoError(t, judge(target("other"), "ns", ""))
	assert.NoError(t, judge(target("web"), "elsewhere", ""))
	assert.NoError(t, judge(target("web"), "ns", "status"))
	assert.NoError(t, plugin.Validate(t.Context(), admission.NewAttributesRecord(
		&apps.CloneSet{}, nil, apps.Kind("CloneSet").WithVersion("v1beta1"), "ns", "web",
		apps.Resource("clonesets").WithVersion("v1beta1"), "", admission.Create, nil, false, nil,
	), nil), "another kind")

	client := fake.NewClientset()
	client.PrependReactor("list", "podunavailablebudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no route to host")
	})
	plugin.SetKruiseClientSet(client)
	assert.ErrorContains(t, judge(target("web"), "ns", ""), "list the namespace's PodUnavailableBudgets: no route to host")
}
