package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"kruise.io/kruise/test/openkruise"
)

// installed returns an object of a chart. owner is its label part-of.
func installed(kind schema.GroupVersionKind, namespace, name, owner string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetLabels(map[string]string{partOf: owner})
	return object
}

// openKruise returns what the newest chart of OpenKruise installs in a namespace, except for the CustomResourceDefinitions. The webhooks are
// first, and then the manager and the node agents.
func openKruise(t *testing.T, system string) []*unstructured.Unstructured {
	t.Helper()
	generations := openkruise.Generations()
	return chart(t, generations[len(generations)-1], system)
}

func chart(t *testing.T, generation openkruise.Generation, system string) []*unstructured.Unstructured {
	t.Helper()
	all, err := generation.Objects(system, "image")
	require.NoError(t, err)
	first := []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "Deployment", "DaemonSet"}
	rank := func(object *unstructured.Unstructured) int {
		if i := slices.Index(first, object.GetKind()); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	for _, object := range all[:2] {
		setAnnotation(object, "template", `[{"failurePolicy":"Fail"}]`)
	}
	return all
}

func rbacKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind}
}

func admissionKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind}
}

func namespace(name string, labels map[string]string) *unstructured.Unstructured {
	object := installed(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", name, "")
	object.SetLabels(labels)
	return object
}

func create(t *testing.T, command *Takeover, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		_, err := command.of(named{resourceOf(object), object.GetNamespace(), ""}).Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

func get(t *testing.T, command *Takeover, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	t.Helper()
	return command.of(named{resourceOf(object), object.GetNamespace(), ""}).Get(t.Context(), object.GetName(), metav1.GetOptions{})
}

// oldManager answers as kube-apiserver does with the webhooks of OpenKruise. It has endpoints and answers after some attempts, and counts
// the writes of Pods that would be refused.
type oldManager struct {
	command  *Takeover
	attempts int
	refused  []string
}

// refuses returns true if a webhook with failurePolicy Fail is called for Pods and nobody answers.
func (m *oldManager) refuses(t *testing.T) bool {
	t.Helper()
	tracker := m.command.Dynamic.(*fake.FakeDynamicClient).Tracker()
	get := func(resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
		object, err := tracker.Get(resource, namespace, name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		require.NoError(t, err)
		return object.(*unstructured.Unstructured)
	}
	deployment := get(deploymentResource, m.command.Namespace, managerName)
	if deployment != nil && isOld(deployment) && replicasOf(deployment) > 0 && m.attempts <= 0 {
		return false
	}
	for _, p := range m.command.installed() {
		if p.role != intercepts {
			continue
		}
		if object := get(p.GroupVersionResource, "", p.name); object != nil && isOld(object) {
			for _, webhook := range webhooksOf(object) {
				if webhook["failurePolicy"] == "Fail" {
					return true
				}
			}
		}
	}
	return false
}

// watch looks before each request of the command whether Pods can be written.
func (m *oldManager) watch(t *testing.T) {
	t.Helper()
	client := m.command.Dynamic.(*fake.FakeDynamicClient)
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if m.refuses(t) {
			m.refused = append(m.refused, fmt.Sprintf("before %s %s", action.GetVerb(), action.GetResource().Resource))
		}
		return false, nil, nil
	})
	client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		probe, err := client.Tracker().Get(webhookResources[0], "", probeName)
		require.NoError(t, err)
		service, _, _ := unstructured.NestedString(webhooksOf(probe.(*unstructured.Unstructured))[0], "clientConfig", "service", "name")
		if m.attempts--; service != webhookService || m.attempts > 0 {
			return true, nil, apierrors.NewInternalError(errors.New("failed calling webhook"))
		}
		return true, nil, apierrors.NewForbidden(podResource.GroupResource(), probeName, errors.New("another plugin refuses it"))
	})
}

// TestReturnRestoresWhatTheOldManagerNeeds takes over, lets our chart replace what has the same names, and returns. The old manager then has
// its permissions and its webhooks, and nothing of ours limits it. Helm does not delete any of it. At no time is a write of a Pod refused.
//
//nolint:gocyclo // It follows one return from its begin to its end.
func TestReturnRestoresWhatTheOldManagerNeeds(t *testing.T) {
	t.Parallel()
	for i, generation := range openkruise.Generations() {
		system := []string{"kruise-system", "elsewhere"}[i%2]
		synctest.Test(t, func(t *testing.T) { //nolint:tparallel // The bubble has its own time.
			excluded := map[string]string{"control-plane": generation.Label, "theirs": "stays"}
			command, _ := newTakeover(t, namespace(agentsNamespace, nil), namespace(system, excluded))
			command.Namespace, command.Clock = system, clock.RealClock{}
			olds, state := chart(t, generation, system), &record{}
			create(t, command, olds...)
			create(t, command, endpointSlice(system))
			manager := &oldManager{command: command}
			manager.watch(t)
			for range 2 { // Each step can be repeated.
				require.NoError(t, command.removeWebhooks(t.Context(), state))
				require.NoError(t, command.retire(t.Context(), state))
			}
			for _, old := range olds {
				_, err := get(t, command, old)
				remain := old.GetKind() == "Service" || old.GetKind() == "Secret"
				assert.Equal(t, !remain, apierrors.IsNotFound(err), "%s %s: %v", old.GetKind(), old.GetName(), err)
				assert.Equal(t, !remain, state.kept(named{resourceOf(old), old.GetNamespace(), old.GetName()}) != nil, old.GetName())
			}
			require.NoError(t, command.patch(t.Context(), named{namespaceResource, "", system}, map[string]any{"metadata": map[string]any{
				"labels": map[string]any{
					"control-plane": "controller-manager", "pod-security.kubernetes.io/enforce": "restricted", partOf: "kruise", "since": "then",
				},
			}}))
			for _, old := range olds {
				if old.GetKind() != "Service" && old.GetKind() != "Secret" && !strings.HasPrefix(old.GetName(), "aggregate-") {
					create(t, command, installed(old.GroupVersionKind(), old.GetNamespace(), old.GetName(), "kruise"))
				}
			}
			foreign := installed(admissionKind("ValidatingAdmissionPolicyBinding"), "", "foreign", "other")
			create(t, command, foreign, installed(admissionKind("ValidatingWebhookConfiguration"), "", garbageWebhook, "kruise"),
				installed(admissionKind("ValidatingAdmissionPolicyBinding"), "", "kruise-manager-workloads", "kruise"))

			manager.attempts = 5
			for range 2 {
				for _, each := range []func(context.Context, *record) error{command.clear, command.startOld, command.arm} {
					require.NoError(t, each(t.Context(), state))
				}
			}
			assert.Empty(t, manager.refused)
			for _, old := range olds {
				now, err := get(t, command, old)
				require.NoError(t, err, old.GetName())
				assert.Equal(t, old.GetLabels(), now.GetLabels(), old.GetName())
				assert.Equal(t, old.Object["webhooks"], now.Object["webhooks"], "the failure policies are as they were")
				if old.GetKind() != "Service" && old.GetKind() != "Secret" {
					assert.Equal(t, "keep", now.GetAnnotations()[helmPolicy], old.GetName())
				}
				for name, value := range old.GetAnnotations() {
					assert.Equal(t, value, now.GetAnnotations()[name])
				}
			}
			restored, err := get(t, command, namespace(system, nil))
			require.NoError(t, err)
			assert.Equal(t, map[string]string{"control-plane": generation.Label, "theirs": "stays", "since": "then"}, restored.GetLabels())
			for _, resource := range webhookResources {
				list, err := command.Dynamic.Resource(resource).List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				assert.Len(t, list.Items, 1, "neither ours nor the probe is left")
			}
			bindings, err := command.Dynamic.Resource(policyBindingResource).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, bindings.Items, 1)
			assert.Equal(t, "foreign", bindings.Items[0].GetName())
			secrets, err := get(t, command, namespace(agentsNamespace, nil))
			require.NoError(t, err)
			assert.Equal(t, "keep", secrets.GetAnnotations()[helmPolicy])
		})
	}
}

func endpointSlice(system string) *unstructured.Unstructured {
	slice := installed(schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}, system, webhookService+"-1", "")
	slice.SetLabels(map[string]string{"kubernetes.io/service-name": webhookService})
	slice.Object["endpoints"] = []any{map[string]any{"conditions": map[string]any{"ready": true}}}
	return slice
}

// A manager that does not start must not make the cluster refuse Pods.
func TestWebhooksRefuseNothingWhileTheOldManagerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, attempts := range map[string]int{"no endpoint": 0, "no answer": 1 << 30} {
		synctest.Test(t, func(t *testing.T) { //nolint:tparallel // The bubble has its own time.
			const system = "kruise-system"
			command, _ := newTakeover(t, namespace(system, nil))
			command.Clock = clock.RealClock{}
			state := &record{}
			create(t, command, openKruise(t, system)...)
			manager := &oldManager{command: command}
			require.NoError(t, command.removeWebhooks(t.Context(), state))
			require.NoError(t, command.retire(t.Context(), state))
			if attempts > 0 {
				create(t, command, endpointSlice(system))
			}
			manager.watch(t)
			manager.attempts = max(attempts, 1)
			require.NoError(t, command.startOld(t.Context(), state))
			err := command.arm(t.Context(), state)
			require.ErrorContains(t, err, "its webhooks have failurePolicy Ignore, so Pods can be written", name)
			assert.Empty(t, manager.refused, name)
			assert.False(t, manager.refuses(t), name)
		})
	}
}

// A manager Pod on a lost node does not end. It cannot write, because its account is gone.
func TestPodsOnLostNodesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { //nolint:tparallel // The bubble has its own time.
		const system = "kruise-system"
		node := func(name, ready string) *unstructured.Unstructured {
			object := installed(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "", name, "")
			object.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}}
			return object
		}
		pod := func(name, node string) *unstructured.Unstructured {
			object := installed(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, system, name, "")
			object.SetLabels(map[string]string{"control-plane": "controller-manager"})
			object.Object["spec"] = map[string]any{"nodeName": node}
			return object
		}
		command, _ := newTakeover(t, namespace(system, nil))
		command.Clock = clock.RealClock{}
		var said strings.Builder
		command.Out = &said
		create(t, command, openKruise(t, system)...)
		create(t, command, node("lost", "Unknown"), node("fine", "True"), pod("a", "lost"), pod("b", "gone"), pod("c", "fine"))
		state := &record{}
		require.ErrorContains(t, command.retire(t.Context(), state), "waited 5m0s for the manager to stop: still there: c")
		require.NoError(t, command.of(named{podResource, system, ""}).Delete(t.Context(), "c", metav1.DeleteOptions{}))
		require.NoError(t, command.retire(t.Context(), state))
		assert.Contains(t, said.String(), "not waiting for Pod a on node lost and Pod b on node gone")
		_, err := get(t, command, installed(schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, system, "kruise-manager", ""))
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
	})
}
