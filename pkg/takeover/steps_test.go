package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// store answers the commands of the store.
type store struct {
	ran    []string
	answer map[string]any
}

func (s *store) Run(_ context.Context, input io.Reader, args ...string) ([]byte, error) {
	s.ran = append(s.ran, strings.Join(args, " "))
	if input != nil {
		if _, err := io.Copy(io.Discard, input); err != nil {
			return nil, err
		}
	}
	return json.Marshal(s.answer)
}

// discovered is the discovery of a kube-apiserver.
type discovered struct {
	discovery.ServerResourcesInterface

	lists, preferred []*metav1.APIResourceList
}

// ServerPreferredResources fails for the groups of Kruise, which answer 503 during a return, and for another one.
func (d *discovered) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return d.preferred, &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{
		{Group: "apps.kruise.io", Version: "v1beta1"}: errors.New("503"), {Group: "metrics.k8s.io", Version: "v1beta1"}: errors.New("it is away"),
	}}
}

func (d *discovered) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	away := map[schema.GroupVersion]error{{Group: "metrics.k8s.io", Version: "v1beta1"}: errors.New("it is away")}
	return nil, d.lists, &discovery.ErrGroupDiscoveryFailed{Groups: away}
}

func newTakeover(t *testing.T, objects ...runtime.Object) (*Takeover, *store) {
	t.Helper()
	return newTakeoverWith(t, nil, objects)
}

// newTakeoverWith returns a take-over of a cluster that also has lists of other kinds.
func newTakeoverWith(t *testing.T, more map[schema.GroupVersionResource]string, objects []runtime.Object) (*Takeover, *store) {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{
		crdResource: "CustomResourceDefinitionList", podResource: "PodList", secretResource: "SecretList",
		policyBindingResource: "ValidatingAdmissionPolicyBindingList", endpointSliceResource: "EndpointSliceList",
		webhookResources[0]: "MutatingWebhookConfigurationList", webhookResources[1]: "ValidatingWebhookConfigurationList",
		roleResource: "RoleList", roleBindingResource: "RoleBindingList", serviceAccountResource: "ServiceAccountList",
		clusterRoleResource: "ClusterRoleList", clusterRoleBindingResource: "ClusterRoleBindingList",
		{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "clonesets"}: "CloneSetList",
	}
	maps.Copy(lists, more)
	commands := &store{answer: map[string]any{"objects": 0}}
	objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": reviewService},
	}})
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)
	command := New(client, nil, &discovered{}, commands, t.Output())
	command.Clock = clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return command, commands
}

func lease(holder string, renewed time.Time) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": managerLease, "namespace": "kruise-system"},
		"spec": map[string]any{
			"holderIdentity": holder, "leaseDurationSeconds": int64(15), "renewTime": renewed.Format(metav1.RFC3339Micro),
		},
	}}
}

// TestChecksChangeNothing runs the check, which sends the objects to a dry run.
func TestChecksChangeNothing(t *testing.T) {
	t.Parallel()
	command, commands := newTakeover(t, sample("v1alpha1"))
	require.NoError(t, command.Check(t.Context()))
	assert.Equal(t, []string{"import - --dry-run"}, commands.ran)
	state, err := command.readRecord(t.Context())
	require.NoError(t, err)
	assert.Empty(t, state.Direction)
}

// TestManagersThatCannotBeStoppedAreRefused finds a manager by its lease.
func TestManagersThatCannotBeStoppedAreRefused(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	command, _ := newTakeover(t, sample("v1alpha1"), lease("elsewhere", now.Add(-10*time.Second)))
	require.ErrorContains(t, command.Forward(t.Context()), `"elsewhere" renews Lease kruise-system/kruise-manager`)
	command, _ = newTakeover(t, sample("v1alpha1"), lease("elsewhere", now.Add(-20*time.Second)))
	require.NoError(t, command.Check(t.Context()), "it no longer runs")
}

// TestNothingToTakeOverIsSaid covers commands at the wrong time.
func TestNothingToTakeOverIsSaid(t *testing.T) {
	t.Parallel()
	command, _ := newTakeover(t)
	require.ErrorContains(t, command.Forward(t.Context()), "no CustomResourceDefinition of apps.kruise.io and policy.kruise.io")
	require.ErrorContains(t, command.Back(t.Context()), "nothing was taken over")
	require.ErrorContains(t, command.Finish(t.Context()), "the take-over is not complete")
	require.NoError(t, command.writeRecord(t.Context(), &record{Direction: finishing}))
	require.ErrorIs(t, command.Back(t.Context()), errFinished)
	require.ErrorContains(t, command.Forward(t.Context()), `run "kubectl kruise takeover finish"`)
	state, err := command.readRecord(t.Context())
	require.NoError(t, err)
	assert.Equal(t, finishing, state.Direction, "it can be completed")
	command, _ = newTakeover(t)
	require.NoError(t, command.writeRecord(t.Context(), &record{Direction: backward}))
	require.ErrorContains(t, command.Forward(t.Context()), "a return to the CustomResourceDefinitions is in progress")
}

// TestStepsContinueAfterTheLastCompleteOne interrupts a run, and repeats the step that was not recorded.
func TestStepsContinueAfterTheLastCompleteOne(t *testing.T) {
	t.Parallel()
	command, _ := newTakeover(t)
	var ran []string
	fails := true
	steps := []step{
		{"one", "", func(context.Context, *record) error { ran = append(ran, "one"); return nil }},
		{"two", "", func(context.Context, *record) error {
			ran = append(ran, "two")
			if fails {
				return errors.New("broken")
			}
			return nil
		}},
		{"three", "", func(context.Context, *record) error { ran = append(ran, "three"); return nil }},
	}
	attempt := func() error {
		state, err := command.readRecord(t.Context())
		require.NoError(t, err)
		return command.run(t.Context(), state, forward, steps)
	}
	require.ErrorContains(t, attempt(), "two: broken; run the same command again to continue")
	fails = false
	require.NoError(t, attempt())
	require.NoError(t, attempt())
	assert.Equal(t, []string{"one", "two", "two", "three"}, ran)
}

// TestReturnLetsAnotherTakeOverReplaceTheStore: an import refuses the store that the return has closed, until the last step gives it up.
func TestReturnLetsAnotherTakeOverReplaceTheStore(t *testing.T) {
	t.Parallel()
	command, commands := newTakeover(t)
	steps := command.backSteps()
	names := make([]string, 0, len(steps))
	for _, each := range steps {
		names = append(names, each.name)
	}
	assert.Equal(t, []string{"release", forget}, names[len(names)-2:], "all objects are in the old API before")
	require.NoError(t, steps[len(steps)-2].do(t.Context(), &record{}))
	assert.Equal(t, []string{"begin-import --replace-closed"}, commands.ran)
}

// TestTwoProcessesDoNotTakeOverAtTheSameTime writes the record from two processes.
func TestTwoProcessesDoNotTakeOverAtTheSameTime(t *testing.T) {
	t.Parallel()
	command, _ := newTakeover(t)
	require.NoError(t, command.writeRecord(t.Context(), &record{Direction: forward}))
	require.ErrorContains(t, command.writeRecord(t.Context(), &record{Direction: forward}), "another process takes over at the same time")
}

// TestStaleDiscoveryIsRenewed deletes a local APIService whose resources the discovery does not list, and waits until it lists them.
func TestStaleDiscoveryIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1alpha1.apps.kruise.io"},
			"spec": map[string]any{"group": "apps.kruise.io", "version": "v1alpha1"},
		}}
		command, _ := newTakeover(t, sample("v1alpha1", "v1alpha0"), local)
		command.Clock = clock.RealClock{}
		served := &discovered{lists: []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods"}}}}}
		command.Discovery = served
		client, ok := command.Dynamic.(*fake.FakeDynamicClient)
		require.True(t, ok)
		var deleted []time.Time
		client.PrependReactor("delete", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
			// kube-apiserver creates it again. Its discovery does not see the first deletion.
			if deleted = append(deleted, time.Now()); len(deleted) == 2 {
				served.lists = append(served.lists, &metav1.APIResourceList{
					GroupVersion: "apps.kruise.io/v1alpha1", APIResources: []metav1.APIResource{{Name: "clonesets"}},
				})
			}
			return true, nil, nil
		})
		begin := time.Now()
		require.NoError(t, command.handBack(t.Context(), &record{}))
		require.Len(t, deleted, 2)
		assert.Greater(t, deleted[0].Sub(begin), discoveryPeriod, "the discovery has time to follow by itself")
		assert.Greater(t, deleted[1].Sub(deleted[0]), discoveryPeriod)
		assert.Less(t, time.Since(deleted[1]), time.Second)
	})
}

// A return right after the first steps of a take-over leaves everything as it was.
func TestReturnBeforeTheAPIIsReplacedLeavesTheOldManager(t *testing.T) {
	t.Parallel()
	manager := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": managerName, "namespace": "kruise-system"},
		"spec": map[string]any{"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}},
	}}
	for name, scaled := range map[string]bool{"running": false, "scaled to zero": true} {
		t.Run(name, func(t *testing.T) {
			deployment, state := manager.DeepCopy(), &record{}
			if scaled {
				state.Old = append(state.Old, manager.DeepCopy())
				require.NoError(t, unstructured.SetNestedField(deployment.Object, int64(0), "spec", "replicas"))
			}
			command, commands := newTakeover(t, deployment, parse(sample("v1alpha1")).object)
			for _, each := range command.backSteps()[:3] {
				require.NoError(t, each.do(t.Context(), state), each.name)
			}
			assert.Empty(t, commands.ran, "there is no store to close")
			require.NoError(t, command.restore(t.Context(), state.kept(named{deploymentResource, command.Namespace, managerName})))
			found, err := command.Dynamic.Resource(deploymentResource).Namespace(command.Namespace).Get(t.Context(), managerName, metav1.GetOptions{})
			require.NoError(t, err)
			replicas, _, _ := unstructured.NestedInt64(found.Object, "spec", "replicas")
			assert.EqualValues(t, 2, replicas)
		})
	}
}
