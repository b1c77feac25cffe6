//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
)

// games defines a custom kind of workloads with a scale. Nobody may read it.
const games = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: games.NAME.example.com}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {plural: games, kind: Game}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// gameReaders is a role that the controllers and the apiserver get by its label.
const gameReaders = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME-games, labels: {rbac.kruise.io/aggregate-to-workloads: "true"}}
rules: [{apiGroups: [NAME.example.com], resources: [games, games/scale], verbs: [get]}]
`

// about is what looks at the workload: a budget, a WorkloadSpread, and the annotations that ask for a PersistentPodState.
const about = `apiVersion: policy.kruise.io/v1alpha1
kind: PodUnavailableBudget
metadata: {name: chess}
spec: {targetRef: {apiVersion: NAME.example.com/v1, kind: Game, name: chess}, maxUnavailable: 1}
---
apiVersion: apps.kruise.io/v1alpha1
kind: WorkloadSpread
metadata: {name: chess}
spec:
  targetRef: {apiVersion: NAME.example.com/v1, kind: Game, name: chess}
  subsets: [{name: all}]
`

// played creates the Game chess with three replicas and two Pods that it controls, and waits until they are ready.
func (e *env) played() {
	e.t.Helper()
	e.apply(strings.NewReplacer("NAME", e.namespace, "ANNOTATIONS",
		pub.AutoGeneratePersistentPodStateKey+`: "true", `+pub.RequiredPersistentTopologyKey+": "+hostLabel).Replace(`apiVersion: NAME.example.com/v1
kind: Game
metadata: {name: chess, annotations: {ANNOTATIONS}}
spec: {replicas: 3}
`))
	uid := e.kubectl("get", "games."+e.namespace+".example.com", "chess", "--output=jsonpath={.metadata.uid}")
	for _, name := range []string{"chess-0", "chess-1"} {
		e.apply(strings.NewReplacer("NAME", e.namespace, "POD", name, "UID", uid).Replace(`apiVersion: v1
kind: Pod
metadata:
  name: POD
  labels: {app: chess}
  ownerReferences: [{apiVersion: NAME.example.com/v1, kind: Game, name: chess, uid: UID, controller: true}]
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: "kruise.local/demo:v1"}]
`))
	}
	e.kubectl("wait", "pod", "--all", "--for=condition=Ready", "--timeout=3m")
}

// allow puts a kind on the administrator's lists for PersistentPodStates and WorkloadSpreads.
func (e *env) allow(group, kind string) {
	e.t.Helper()
	list, err := json.Marshal(map[string]any{"workloads": []any{map[string]any{"Group": group, "Version": "v1", "Kind": kind}}})
	require.NoError(e.t, err)
	configs := e.core.CoreV1().ConfigMaps(system)
	_, err = configs.Create(e.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: pub.ConfigurationName},
		Data:       map[string]string{pub.PersistentPodStateWorkloadsKey: string(list), pub.WorkloadSpreadWorkloadsKey: string(list)},
	}, metav1.CreateOptions{})
	require.NoError(e.t, err)
	e.t.Cleanup(func() {
		require.NoError(e.t, configs.Delete(context.WithoutCancel(e.t.Context()), pub.ConfigurationName, metav1.DeleteOptions{}))
	})
}

// A kind that the controllers may not read blocks nothing, and events name the remedy. It works as soon as a role allows the read.
// Cases podunavailablebudget 19, 19b.
// Case persistentpodstate 21.
func TestCustomWorkloadIsReadAsSoonAsARoleAllowsIt(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	group := e.namespace + ".example.com"
	e.apply(strings.ReplaceAll(games, "NAME", e.namespace))
	t.Cleanup(func() {
		for _, args := range [][]string{{"customresourcedefinition", "games." + group}, {"clusterrole", e.namespace + "-games"}} {
			_ = e.command(context.WithoutCancel(t.Context()), append([]string{"delete", "--ignore-not-found"}, args...)...).Run()
		}
	})
	e.established("games." + group)
	e.allow(group, "Game")
	e.played()
	e.apply(strings.ReplaceAll(about, "NAME", e.namespace))
	counted := func(total, allowed int32) {
		t.Helper()
		e.eventually("the count of the budget", func(c *require.Assertions, ctx context.Context) {
			budget, err := e.kruise.PolicyV1beta1().PodUnavailableBudgets(e.namespace).Get(ctx, "chess", metav1.GetOptions{})
			c.NoError(err)
			c.Equal([]int32{total, 2, allowed}, []int32{budget.Status.TotalReplicas, budget.Status.CurrentAvailable, budget.Status.UnavailableAllowed})
		})
	}
	counted(2, 1)
	for _, kind := range []string{"PodUnavailableBudget", "WorkloadSpread", "Game"} {
		e.said(controller.ReasonUnreadable, "games."+group+"/scale", "--field-selector=reason="+controller.ReasonUnreadable+",involvedObject.kind="+kind)
	}
	_, err := e.kruise.AppsV1beta1().PersistentPodStates(e.namespace).Get(t.Context(), "chess", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)

	e.apply(strings.ReplaceAll(gameReaders, "NAME", e.namespace))
	counted(3, 0)
	nodes := e.recorded("chess", "chess-0", "chess-1")
	assert.NotContains(t, slices.Collect(maps.Values(nodes)), "")
	e.eventually("the Pods of the subset", func(c *require.Assertions, ctx context.Context) {
		spread, err := e.kruise.AppsV1beta1().WorkloadSpreads(e.namespace).Get(ctx, "chess", metav1.GetOptions{})
		c.NoError(err)
		c.Len(spread.Status.SubsetStatuses, 1)
		c.EqualValues(2, spread.Status.SubsetStatuses[0].Replicas)
	})
}
