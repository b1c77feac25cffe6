package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func distribution(resource string) *apps.ResourceDistribution {
	return &apps.ResourceDistribution{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", ResourceVersion: "1"},
		Spec:       apps.ResourceDistributionSpec{Resource: runtime.RawExtension{Raw: []byte(resource)}},
	}
}

const plainConfigMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shared"},"data":{"a":"b"}}`

// Cases resourcedistribution 11, 16, 22.
func TestResourceOfADistribution(t *testing.T) {
	cases := map[string]struct {
		resource string
		want     []string
	}{
		"ConfigMap":           {plainConfigMap, nil},
		"Secret":              {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shared"},"type":"Opaque","data":{"a":"Yg=="}}`, nil},
		"Secret without type": {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shared"},"stringData":{"a":"b"}}`, nil},
		"with a namespace":    {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shared","namespace":"Not_DNS"}}`, nil},
		"with what is new":    {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shared"},"later":1}`, nil},
		"empty":               {``, []string{"spec.resource: empty resource is not allowed"}},
		"no object":           {`[]`, []string{"spec.resource: failed to deserialize"}},
		"data of another type": {
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shared"},"data":{"a":1}}`, []string{"spec.resource: failed to deserialize"},
		},
		"Deployment": {
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}}`,
			[]string{"spec.resource: unknown or unsupported resource GroupKind"},
		},
		"Secret of another group": {
			`{"apiVersion":"example.com/v1","kind":"Secret","metadata":{"name":"a"}}`,
			[]string{"spec.resource: unknown or unsupported resource GroupKind"},
		},
		"token of a service account": {
			`{"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/service-account-token","metadata":{"name":"a",` +
				`"annotations":{"kubernetes.io/service-account.name":"default"}}}`,
			[]string{"spec.resource.type: Forbidden: Secrets of type kubernetes.io/service-account-token are credentials of the cluster"},
		},
		"token for new nodes": {
			`{"apiVersion":"v1","kind":"Secret","type":"bootstrap.kubernetes.io/token","metadata":{"name":"a"}}`,
			[]string{"spec.resource.type: Forbidden: "},
		},
		"no name": {`{"apiVersion":"v1","kind":"ConfigMap"}`, []string{"spec.resource.metadata.name: Required"}},
		"invalid key": {
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"no key":"b"}}`, []string{"spec.resource.data[no key]: "},
		},
		"type that asks for another key": {
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"type":"kubernetes.io/tls"}`,
			[]string{"spec.resource.data[tls.crt]: Required", "spec.resource.data[tls.key]: Required"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			rulestest.Errors(t, test.want, validation.ValidateResourceDistribution(distribution(test.resource)))
			rulestest.UpdateOfLabels(t, distribution(test.resource), distribution(test.resource), validation.ValidateResourceDistributionUpdate)
		})
	}
}

// Errors show no value of a Secret.
func TestResourceErrorsKeepSecrets(t *testing.T) {
	secret := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"a":"cGFzc3dvcmQ=","b":"no base64"}}`
	errs := validation.ValidateResourceDistribution(distribution(secret))
	require.Len(t, errs, 1)
	require.NotContains(t, errs[0].Error(), "cGFzc3dvcmQ=")
}

// Case resourcedistribution 12.
func TestResourceStays(t *testing.T) {
	for name, test := range map[string]struct {
		resource string
		want     []string
	}{
		"data": {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shared"},"data":{"a":"c"}}`, nil},
		"name": {
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}`,
			[]string{"spec.resource: resource apiVersion, kind, and name are immutable"},
		},
		"kind": {
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shared"}}`,
			[]string{"spec.resource: resource apiVersion, kind, and name are immutable"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rulestest.Errors(t, test.want, validation.ValidateResourceDistributionUpdate(distribution(test.resource), distribution(plainConfigMap)))
		})
	}
}

// Case resourcedistribution 4.
func TestTargetsOfADistribution(t *testing.T) {
	type targets = apps.ResourceDistributionTargets
	list := func(names ...string) (result apps.ResourceDistributionTargetNamespaces) {
		for _, name := range names {
			result.List = append(result.List, apps.ResourceDistributionNamespace{Name: name})
		}
		return result
	}
	cases := map[string]struct {
		targets targets
		want    []string
	}{
		"none":        {},
		"all but one": {targets: targets{AllNamespaces: true, ExcludedNamespaces: list("a")}},
		"system":      {targets: targets{IncludedNamespaces: list("kube-system")}},
		"names": {
			targets{IncludedNamespaces: list("A_b"), ExcludedNamespaces: list("")},
			[]string{`spec.targets.includedNamespaces.list[0].name: "A_b"`, `spec.targets.excludedNamespaces.list[0].name: ""`},
		},
		"in both": {
			targets{IncludedNamespaces: list("a", "b"), ExcludedNamespaces: list("b", "c")},
			[]string{"spec.targets: ambiguous targets because namespace [b] is in both"},
		},
		"selector": {targets: targets{NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"env": "x"}}}},
		"selector, wrong": {
			targets{NamespaceSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}},
			[]string{"spec.targets.namespaceLabelSelector.matchExpressions[0].operator: "},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			object := distribution(plainConfigMap)
			object.Spec.Targets = test.targets
			rulestest.Errors(t, test.want, validation.ResourceDistributionErrorsIn("v1alpha1", validation.ValidateResourceDistribution(object)))
			errs := validation.ValidateResourceDistributionUpdate(object, distribution(plainConfigMap))
			rulestest.Errors(t, test.want, validation.ResourceDistributionErrorsIn("v1alpha1", errs))
		})
	}
}

func TestResourceDistributionName(t *testing.T) {
	object := distribution(plainConfigMap)
	object.Name = "Not_DNS"
	rulestest.Errors(t, []string{"metadata.name: Not_DNS"}, validation.ValidateResourceDistribution(object))
}

func TestResourceDistributionStatus(t *testing.T) {
	updated := distribution(plainConfigMap)
	updated.Status = apps.ResourceDistributionStatus{Desired: -1, Succeeded: -1, Failed: -1, ObservedGeneration: -1}
	rulestest.Errors(t, []string{"status.desired: ", "status.succeeded: ", "status.failed: ", "status.observedGeneration: "},
		validation.ValidateResourceDistributionStatusUpdate(updated, distribution(plainConfigMap)))
	rulestest.Errors(t, nil, validation.ValidateResourceDistributionStatusUpdate(updated, updated))
}

func TestWarnResourceDistribution(t *testing.T) {
	write := func(all bool, included, excluded string) *apps.ResourceDistribution {
		distribution := &apps.ResourceDistribution{}
		targets := &distribution.Spec.Targets
		targets.AllNamespaces = all
		targets.IncludedNamespaces.List = []apps.ResourceDistributionNamespace{{Name: included}}
		targets.ExcludedNamespaces.List = []apps.ResourceDistributionNamespace{{Name: excluded}}
		return distribution
	}
	warn := func(distribution, old *apps.ResourceDistribution) []string {
		return validation.WarnResourceDistribution(t.Context(), distribution, old)
	}
	both := []string{"spec.targets.allNamespaces: no copy is made in kube-system and kube-public; to have one there, name it in spec.targets.includedNamespaces"}
	require.Equal(t, both, warn(write(true, "a", "b"), nil))
	require.Equal(t, both, warn(write(true, "a", "b"), write(false, "a", "b")))
	require.Equal(t, []string{"spec.targets.allNamespaces: no copy is made in kube-public; to have one there, name it in spec.targets.includedNamespaces"},
		warn(write(true, "kube-system", "b"), nil))
	require.Empty(t, warn(write(true, "kube-system", "kube-public"), nil))
	require.Empty(t, warn(write(true, "a", "b"), write(true, "a", "c")), "as it was")
	require.Empty(t, warn(write(false, "a", "b"), nil))
}
