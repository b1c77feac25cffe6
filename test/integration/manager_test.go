//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// installPolicy installs a policy of the chart and its binding, until the test ends.
func installPolicy(t *testing.T, name string) {
	t.Helper()
	manifests, err := os.Open("../../artifacts/install.yaml")
	require.NoError(t, err)
	defer func() { _ = manifests.Close() }()
	api, decoder := env.kube.AdmissionregistrationV1(), yaml.NewYAMLOrJSONDecoder(manifests, 4096)
	for found := 0; found < 2; {
		var raw struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
			Spec              json.RawMessage `json:"spec"`
		}
		err := decoder.Decode(&raw)
		require.False(t, errors.Is(err, io.EOF), "install.yaml has no policy %s", name)
		require.NoError(t, err)
		if raw.Name != name {
			continue
		}
		switch raw.Kind {
		case "ValidatingAdmissionPolicy":
			policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
			require.NoError(t, json.Unmarshal(raw.Spec, &policy.Spec))
			_, err = api.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{})
		case "ValidatingAdmissionPolicyBinding":
			binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
			require.NoError(t, json.Unmarshal(raw.Spec, &binding.Spec))
			_, err = api.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{})
		}
		require.NoError(t, err)
		found++
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = api.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = api.ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// RBAC allows the controllers to patch every namespace. The chart's policy limits their patches to two labels.
func TestManagerChangesTwoLabelsOfNamespaces(t *testing.T) {
	t.Parallel()
	installPolicy(t, "kruise-manager-namespaces")
	name := newNamespace(t)
	manager, err := kubernetes.NewForConfig(as(t, "kruise-manager"))
	require.NoError(t, err)
	patch := func(client kubernetes.Interface, body string, dryRun ...string) error {
		_, err := client.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{DryRun: dryRun})
		return err
	}
	require.NoError(t, patch(env.kube, `{"metadata":{"labels":{"mine":"a","apps.kruise.io/sidecarsets":"none"},"annotations":{"mine":"a"}}}`), "the policy concerns nobody else")
	const enforce = `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`
	eventually(t, func() bool { return apierrors.IsForbidden(patch(manager, enforce, metav1.DryRunAll)) }) // the policy comes a moment later

	for body, allowed := range map[string]bool{
		`{"metadata":{"labels":{"policy.kruise.io/pod-unavailable-budgets":"true"}}}`:               true,
		`{"metadata":{"labels":{"policy.kruise.io/pod-unavailable-budgets":null}}}`:                 true,
		`{"metadata":{"labels":{"policy.kruise.io/pod-unavailable-budgets":"no"}}}`:                 false,
		`{"metadata":{"labels":{"policy.kruise.io/pod-unavailable-budgets":"true","b":"c"}}}`:       false,
		`{"metadata":{"labels":{"apps.kruise.io/pod-creation":"ignored"}}}`:                         true,
		`{"metadata":{"labels":{"apps.kruise.io/pod-creation":null}}}`:                              true,
		`{"metadata":{"labels":{"apps.kruise.io/sidecarsets":"some"}}}`:                             false,
		`{"metadata":{"labels":{"apps.kruise.io/sidecarsets":null}}}`:                               true,
		`{"metadata":{"labels":{"apps.kruise.io/pod-creation":"true"}}}`:                            false,
		`{"metadata":{"labels":{"mine":null}}}`:                                                     false,
		`{"metadata":{"labels":{"mine":"b"}}}`:                                                      false,
		`{"metadata":{"annotations":{"mine":"b"}}}`:                                                 false,
		`{"metadata":{"finalizers":["example.com/mine"]}}`:                                          false,
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]}}`: false,
	} {
		err := patch(manager, body)
		assert.Equal(t, allowed, err == nil, "%s: %v", body, err)
		assert.Equal(t, !allowed, apierrors.IsForbidden(err), "%s: %v", body, err)
	}
}

// RBAC allows the controllers to change every ConfigMap. The chart's policy limits this to the barriers of Pods, and to copies.
func TestManagerWritesOnlyBarriersOfPods(t *testing.T) {
	t.Parallel()
	installPolicy(t, "kruise-manager-copies")
	namespace := newNamespace(t)
	manager, err := kubernetes.NewForConfig(as(t, "kruise-manager"))
	require.NoError(t, err)
	// The garbage collector would delete what a Pod owns that does not exist.
	pod, err := env.kube.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	owned := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}
	create := func(client kubernetes.Interface, name string, owners []metav1.OwnerReference, dryRun ...string) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
		}, metav1.CreateOptions{DryRun: dryRun})
		return err
	}
	require.NoError(t, create(env.kube, "mine", nil))
	require.NoError(t, create(env.kube, "mine-barrier", nil))
	// The policy comes a moment later.
	eventually(t, func() bool { return apierrors.IsForbidden(create(manager, "a-barrier", nil, metav1.DryRunAll)) })
	assert.True(t, apierrors.IsForbidden(create(manager, "other", owned)))
	require.NoError(t, create(manager, "p-barrier", owned))
	body := []byte(`{"data":{"p_0":"true"}}`)
	for name, allowed := range map[string]bool{"p-barrier": true, "mine-barrier": false, "mine": false} {
		_, err := manager.CoreV1().ConfigMaps(namespace).Patch(t.Context(), name, types.StrategicMergePatchType, body, metav1.PatchOptions{})
		assert.Equal(t, allowed, err == nil, "%s: %v", name, err)
		err = manager.CoreV1().ConfigMaps(namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
		assert.Equal(t, allowed, err == nil, "%s: %v", name, err)
	}
}

// unitedOwner creates a UnitedDeployment and returns the owner reference of its workloads. The garbage collector would delete what an
// owner owns that does not exist.
func unitedOwner(t *testing.T, namespace string) []metav1.OwnerReference {
	t.Helper()
	labels := map[string]string{"app": "web"}
	united := &v1beta1.UnitedDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1beta1.UnitedDeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1beta1.SubsetTemplate{CloneSetTemplate: &v1beta1.CloneSetTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1beta1.CloneSetSpec{Template: newCloneSet("web").Spec.Template},
			}},
			Topology: v1beta1.Topology{Subsets: []v1beta1.Subset{{Name: "a"}}},
		},
	}
	created, err := env.kruise.AppsV1beta1().UnitedDeployments(namespace).Create(t.Context(), united, metav1.CreateOptions{})
	require.NoError(t, err)
	return []metav1.OwnerReference{*metav1.NewControllerRef(created, v1beta1.SchemeGroupVersion.WithKind("UnitedDeployment"))}
}

// writes are how a client writes a workload.
type writes struct {
	create func(*metav1.ObjectMeta, metav1.CreateOptions) error
	patch  func(name, body string, dryRun ...string) error
	remove func(name string) error
}

// writesOf returns the writes of a client to the kinds of workloads that a UnitedDeployment has.
func writesOf(t *testing.T, config *rest.Config, namespace string) map[string]*writes {
	t.Helper()
	kube, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	kruise, err := versioned.NewForConfig(config)
	require.NoError(t, err)
	spec := newCloneSet("web").Spec
	return map[string]*writes{
		"Deployment": writesTo(t, kube.AppsV1().Deployments(namespace), func(meta *metav1.ObjectMeta) *appsv1.Deployment {
			return &appsv1.Deployment{ObjectMeta: *meta, Spec: appsv1.DeploymentSpec{Selector: spec.Selector, Template: spec.Template}}
		}),
		"StatefulSet": writesTo(t, kube.AppsV1().StatefulSets(namespace), func(meta *metav1.ObjectMeta) *appsv1.StatefulSet {
			return &appsv1.StatefulSet{ObjectMeta: *meta, Spec: appsv1.StatefulSetSpec{Selector: spec.Selector, Template: spec.Template}}
		}),
		"Advanced StatefulSet": writesTo(t, kruise.AppsV1beta1().StatefulSets(namespace), func(meta *metav1.ObjectMeta) *v1beta1.StatefulSet {
			return &v1beta1.StatefulSet{ObjectMeta: *meta, Spec: v1beta1.StatefulSetSpec{Selector: spec.Selector, Template: spec.Template}}
		}),
		"CloneSet": writesTo(t, kruise.AppsV1beta1().CloneSets(namespace), func(meta *metav1.ObjectMeta) *v1beta1.CloneSet {
			return &v1beta1.CloneSet{ObjectMeta: *meta, Spec: *spec.DeepCopy()}
		}),
	}
}

// workloadClient is the part of a typed client that writes workloads.
type workloadClient[T any] interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Patch(ctx context.Context, name string, form types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

func writesTo[T any](t *testing.T, client workloadClient[T], build func(*metav1.ObjectMeta) T) *writes {
	t.Helper()
	return &writes{
		create: func(meta *metav1.ObjectMeta, options metav1.CreateOptions) error {
			_, err := client.Create(t.Context(), build(meta), options)
			return err
		},
		patch: func(name, body string, dryRun ...string) error {
			_, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{DryRun: dryRun})
			return err
		},
		remove: func(name string) error { return client.Delete(t.Context(), name, metav1.DeleteOptions{}) },
	}
}

// RBAC allows the controllers to write all Deployments, StatefulSets and CloneSets. The chart's policies limit this to the workloads of
// UnitedDeployments, and to the names of deleted Pods in other CloneSets.
func TestManagerWritesOnlyWorkloadsOfUnitedDeployments(t *testing.T) {
	installPolicy(t, "kruise-manager-workloads")
	installPolicy(t, "kruise-manager-clonesets")
	namespace := newNamespace(t)
	owned := unitedOwner(t, namespace)
	manager, admin := writesOf(t, as(t, "kruise-manager"), namespace), writesOf(t, env.config, namespace)
	for kind, as := range manager {
		require.NoError(t, admin[kind].create(&metav1.ObjectMeta{Name: "mine"}, metav1.CreateOptions{}), kind)
		// The policy comes a moment later.
		eventually(t, func() bool {
			err := as.create(&metav1.ObjectMeta{Name: "probe"}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return apierrors.IsForbidden(err)
		})
		require.NoError(t, as.create(&metav1.ObjectMeta{Name: "web-a", OwnerReferences: owned}, metav1.CreateOptions{}), kind)
		// Nor does this write anything: a policy allows a patch that changes nothing.
		eventually(t, func() bool {
			return apierrors.IsForbidden(as.patch("mine", `{"spec":{"replicas":3}}`, metav1.DryRunAll))
		})
		ours, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": owned}})
		require.NoError(t, err)
		for body, allowed := range map[string]bool{
			`{"spec":{"replicas":3}}`:                                 true,
			`{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`: true,
			`{"metadata":{"labels":{"a":"b"}}}`:                       true,
			`{"metadata":{"ownerReferences":null}}`:                   false,
		} {
			err := as.patch("web-a", body)
			assert.Equal(t, allowed, err == nil, "%s %s: %v", kind, body, err)
			err = as.patch("mine", body)
			unchanged := body == `{"metadata":{"ownerReferences":null}}` && kind == "CloneSet"
			assert.Equal(t, !unchanged, apierrors.IsForbidden(err), "%s %s: %v", kind, body, err)
		}
		assert.True(t, apierrors.IsForbidden(as.patch("mine", string(ours))), "the workload of someone else is not taken over: %s", kind)
		former := &metav1.ObjectMeta{Name: "former", Labels: map[string]string{pub.SubsetNameKey: "a"}}
		require.NoError(t, admin[kind].create(former, metav1.CreateOptions{}), kind)
		assert.True(t, apierrors.IsForbidden(as.patch("former", `{"spec":{"replicas":3}}`)), kind)
		require.NoError(t, as.patch("former", string(ours)), "the former workload of a UnitedDeployment is adopted: %s", kind)
		assert.True(t, apierrors.IsForbidden(as.remove("mine")), kind)
		require.NoError(t, as.remove("web-a"), kind)
	}
	podsToDelete(t, namespace, manager["CloneSet"], admin["CloneSet"])
}

// podsToDelete checks which changes of a CloneSet without an owner the policy allows.
func podsToDelete(t *testing.T, namespace string, manager, admin *writes) {
	t.Helper()
	stored, err := env.kruise.AppsV1beta1().CloneSets(namespace).Get(t.Context(), "mine", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = env.kube.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{ // Only Pods of the CloneSet can be named.
		ObjectMeta: metav1.ObjectMeta{
			Name: "cloneset-0", Labels: stored.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(stored, v1beta1.SchemeGroupVersion.WithKind("CloneSet"))},
		},
		Spec: stored.Spec.Template.Spec,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, admin.patch("mine", `{"spec":{"scaleStrategy":{"podsToDelete":["cloneset-0"]}}}`))
	assert.True(t, apierrors.IsForbidden(manager.patch("mine", `{"spec":{"scaleStrategy":{"podsToDelete":[],"maxUnavailable":1}}}`)))
	for field := range reflect.TypeFor[v1beta1.CloneSetSpec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "scaleStrategy" {
			continue
		}
		body, found := map[string]string{
			"replicas": `7`, "selector": `{"matchLabels":{"x":"y"}}`, "template": `{"spec":{"priority":1}}`,
			"volumeClaimTemplates": `[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]`,
			"updateStrategy":       `{"rollingUpdate":{"paused":true}}`, "revisionHistoryLimit": `7`, "minReadySeconds": `7`,
			"lifecycle": `{"preDelete":{"labelsHandler":{"a":"b"}}}`, "progressDeadlineSeconds": `700`,
		}[name]
		require.True(t, found, "a change of spec.%s has no example", name)
		err := manager.patch("mine", `{"spec":{"`+name+`":`+body+`}}`)
		// Validation, which is before the policies, refuses another selector.
		assert.True(t, apierrors.IsForbidden(err) || name == "selector" && apierrors.IsInvalid(err), "%s: %v", name, err)
	}
	require.NoError(t, manager.patch("mine", `{"spec":{"scaleStrategy":{"podsToDelete":[]}}}`))
}
