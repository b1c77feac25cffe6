//go:build integration

package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// A ResourceDistribution cannot copy an object that the policies of the cluster refuse: its author gets an error.
// Case resourcedistribution 16.
func TestDistributionsAreTriedInTheCluster(t *testing.T) {
	t.Parallel()
	name := newNamespace(t)
	api := env.kube.AdmissionregistrationV1()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.metadata.name != '" + name + "'", Message: "not this name",
			}},
		},
	}
	_, err := api.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{})
	require.NoError(t, err)
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	_, err = api.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	require.NoError(t, err)
	distributions := env.kruise.AppsV1beta1().ResourceDistributions()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = api.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = api.ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{})
		_ = distributions.Delete(ctx, name, metav1.DeleteOptions{})
	})

	distribution := func(resource string, options metav1.CreateOptions) error {
		_, err := distributions.Create(t.Context(), &v1beta1.ResourceDistribution{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1beta1.ResourceDistributionSpec{Resource: runtime.RawExtension{
				Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + resource + `"},"data":{"a":"b"}}`),
			}},
		}, options)
		return err
	}
	eventually(t, func() bool { // the policy comes a moment later
		return distribution(name, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}) != nil
	})
	requireInvalid(t, distribution(name, metav1.CreateOptions{}), "spec.resource", "the cluster rejects this object", "not this name")
	require.NoError(t, distribution("another", metav1.CreateOptions{}))
}

// Claims grow where their storage class can expand volumes.
func TestClaimsGrowWhereTheirClassAllows(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	classes := env.kube.StorageV1().StorageClasses()
	class, err := classes.Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: namespace}, Provisioner: "example.com/none",
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = classes.Delete(context.WithoutCancel(t.Context()), class.Name, metav1.DeleteOptions{}) })

	sets := alone(t, "claims", "--feature-gates=StatefulSetAutoResizePVCGate=true").clientset(t).AppsV1beta1().StatefulSets(namespace)
	labels := map[string]string{"app": "demo"}
	_, err = sets.Create(t.Context(), &v1beta1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "demo"},
		Spec: v1beta1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: newCloneSet("demo").Spec.Template,
			VolumeClaimUpdateStrategy: v1beta1.VolumeClaimUpdateStrategy{Type: v1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: &class.Name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: storage("1Gi")},
				},
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	grow := func() error {
		_, err := sets.Patch(t.Context(), "demo", types.JSONPatchType,
			[]byte(`[{"op":"replace","path":"/spec/volumeClaimTemplates/0/spec/resources/requests/storage","value":"2Gi"}]`), metav1.PatchOptions{})
		return err
	}
	requireInvalid(t, grow(), "spec.volumeClaimTemplates[data].spec.resources.requests.storage",
		"StorageClass "+class.Name+" does not allow volume expansion")
	class.AllowVolumeExpansion = new(true)
	_, err = classes.Update(t.Context(), class, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, grow())
}
