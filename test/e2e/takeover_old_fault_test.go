//go:build e2e && fault

package e2e

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kruise.io/kruise/hack/localcluster"
	"kruise.io/kruise/pkg/takeover"
	"kruise.io/kruise/test/openkruise"
)

//go:embed testdata/takeover-each.yaml
var eachKind string

//go:embed testdata/takeover-real.yaml
var realWorkloads string

var (
	definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	cloneSets          = schema.GroupVersionResource{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "clonesets"}
)

// move is a cluster whose Kruise objects move between CustomResourceDefinitions and kruise-apiserver.
type move struct {
	*env
	cluster *localcluster.Cluster
	chart   string
	// set are the values of the chart.
	set     []string
	dynamic dynamic.Interface
	// generation is the version of OpenKruise, and installed is what its chart installs.
	generation openkruise.Generation
	installed  []*unstructured.Unstructured
	// rights are those of a fresh installation of this release.
	rights map[string][]string
	kinds  []movedKind
}

type movedKind struct {
	group, kind, plural, singular string
	namespaced                    bool
}

// versions returns the versions in which OpenKruise serves a kind, the stored one first.
func (k movedKind) versions() []string {
	if k.kind == "StatefulSet" || k.kind == "SidecarSet" {
		return []string{"v1beta1", "v1alpha1"}
	}
	return []string{"v1alpha1"}
}

func (k movedKind) stored() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.group, Version: k.versions()[0], Resource: k.plural}
}

func (m *move) connect() {
	m.t.Helper()
	var err error
	m.dynamic, err = dynamic.NewForConfig(m.config)
	require.NoError(m.t, err)
}

// simulated returns 20 objects of each kind, with Pods on simulated nodes.
func (m *move) simulated(image string) string {
	// The first Pods of the second one wait for their update in place, which no kubelet does.
	strategies := []string{"{partition: 7}", "{type: InPlaceIfPossible, partition: 50%}", "{maxSurge: 2, partition: 5}", "{paused: PAUSED}"}
	var all strings.Builder
	for i := range 20 {
		all.WriteString(strings.NewReplacer("NAME", fmt.Sprintf("web-%d", i), "IMAGE", image,
			"STRATEGY", strings.ReplaceAll(strategies[i%len(strategies)], "PAUSED", fmt.Sprint(image == "v2"))).Replace(eachKind))
		all.WriteString("\n---\n")
	}
	return all.String()
}

// real returns workloads with Pods on real nodes.
func (m *move) real(image string, held bool) string {
	return strings.NewReplacer("IMAGE", image, "HELD", fmt.Sprint(held)).Replace(realWorkloads)
}

// toDefinitions makes this a cluster as OpenKruise has it. It declares that the objects of kruise-apiserver came from
// CustomResourceDefinitions, and returns them. Every object has a new UID then, which its dependents know.
func (m *move) toDefinitions() {
	m.t.Helper()
	m.readKinds()
	schemas := m.schemas()
	for _, kind := range m.kinds {
		object := kind.definition(schemas, m.generation.Convert(kind.kind, system))
		_, err := m.dynamic.Resource(definitionResource).Create(m.t.Context(), object, metav1.CreateOptions{})
		require.NoError(m.t, err, kind.kind)
	}
	for _, kind := range m.kinds {
		m.established(kind.plural + "." + kind.group)
	}
	text, err := json.Marshal(map[string]any{"direction": "forward", "step": "compare", "old": m.oldRelease()})
	require.NoError(m.t, err)
	_, err = m.core.CoreV1().ConfigMaps(system).Create(m.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: takeover.RecordName}, Data: map[string]string{"record": string(text)},
	}, metav1.CreateOptions{})
	require.NoError(m.t, err)
	m.takeover(undisturbed, "back")
	m.leave("kruise")
	m.oldManagerRuns()

	// As if it had never been here.
	m.helm("uninstall", "kruise", "--wait")
	m.oldManagerRuns()
	m.system("delete", "configmap", "kruise-store")
	m.system("delete", "persistentvolumeclaims", "--all")
	m.steady()
}

// leave removes all of a release but the apiserver, as after a return.
func (m *move) leave(release string) {
	m.t.Helper()
	m.helm(append([]string{"upgrade", release, m.chart, "--set", "takeover=true"}, m.set...)...)
}

// oldRelease returns what a take-over from OpenKruise has removed. It creates the rest of OpenKruise.
func (m *move) oldRelease() []any {
	m.t.Helper()
	var err error
	m.installed, err = m.generation.Objects(system, "kruise.local/openkruise:v1")
	require.NoError(m.t, err)
	removed := []any{map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": system, "labels": map[string]any{
			"control-plane": m.generation.Label, "kubernetes.io/metadata.name": system,
		}},
	}}
	for _, object := range m.installed {
		if kind := object.GetKind(); kind == "Service" || kind == "Secret" {
			_, err := m.client(object).Create(m.t.Context(), object, metav1.CreateOptions{})
			require.NoError(m.t, err, object.GetName())
			continue
		}
		removed = append(removed, object.Object)
	}
	return removed
}

// client returns the client of an object that OpenKruise installs.
func (m *move) client(object *unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	if object.GetNamespace() == "" {
		return m.dynamic.Resource(resource)
	}
	return m.dynamic.Resource(resource).Namespace(object.GetNamespace())
}

// oldManagerRuns checks that OpenKruise is as its chart installs it, that its manager answers, and that nothing of ours is in its way.
func (m *move) oldManagerRuns() {
	m.t.Helper()
	m.system("rollout", "status", "deployment/kruise-controller-manager", "--timeout=3m")
	m.eventually("the manager of OpenKruise sees new Pods", func(c *require.Assertions, ctx context.Context) {
		c.NoError(openkruise.Answers(ctx, m.core, metav1.NamespaceDefault))
	})
	assert.Equal(m.t, m.generation.Label, m.kubectl("get", "namespace", system, "-o", "jsonpath={.metadata.labels.control-plane}"))
	for _, object := range m.installed {
		now, err := m.client(object).Get(m.t.Context(), object.GetName(), metav1.GetOptions{})
		require.NoError(m.t, err, "%s %s", object.GetKind(), object.GetName())
		assert.Equal(m.t, object.Object["rules"], now.Object["rules"], object.GetName())
		assert.Equal(m.t, object.GetLabels(), now.GetLabels(), object.GetName())
		webhooks, _, _ := unstructured.NestedSlice(now.Object, "webhooks")
		for _, webhook := range webhooks {
			webhook, _ := webhook.(map[string]any)
			assert.Equal(m.t, "Fail", webhook["failurePolicy"], webhook["name"])
		}
	}
	m.collects()
}

// freshRights reads what the accounts and an editor may do.
func (m *move) freshRights() map[string][]string {
	m.t.Helper()
	rights, err := openkruise.Rights(m.t.Context(), m.config, system, system, "kruise-daemon-config", m.namespace)
	require.NoError(m.t, err)
	return rights
}

// sameRights checks that nobody has more rights, or fewer, than after a fresh installation.
func (m *move) sameRights() {
	m.t.Helper()
	m.eventually("the rights are those of a fresh installation", func(c *require.Assertions, _ context.Context) { c.Equal(m.rights, m.freshRights()) })
}

// revisions checks that OpenKruise's manager knows all revisions, and so rolls none of them out.
func (m *move) revisions() {
	m.t.Helper()
	unknown, err := openkruise.UnknownRevisions(m.t.Context(), m.core, m.namespace)
	require.NoError(m.t, err)
	assert.Empty(m.t, unknown)
}

// collects checks that the garbage collector deletes a dependent of an object that is deleted now.
func (m *move) collects() {
	m.t.Helper()
	client := m.dynamic.Resource(cloneSets).Namespace(metav1.NamespaceDefault)
	owner, err := client.Create(m.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": map[string]any{"generateName": "owner-"},
		"spec": map[string]any{
			"replicas": int64(0), "selector": map[string]any{"matchLabels": map[string]any{"app": "none"}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "none"}}, "spec": map[string]any{}},
		},
	}}, metav1.CreateOptions{})
	require.NoError(m.t, err)
	dependent, err := m.core.CoreV1().Pods(metav1.NamespaceDefault).Create(m.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: owner.GetName(), OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(owner, owner.GroupVersionKind()),
		}},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"pool": "none"}, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}, metav1.CreateOptions{})
	require.NoError(m.t, err)
	require.NoError(m.t, client.Delete(m.t.Context(), owner.GetName(), metav1.DeleteOptions{}))
	m.eventually("the garbage collector deletes what a deleted object owned", func(c *require.Assertions, ctx context.Context) {
		_, err := m.core.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, dependent.Name, metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "%v", err)
	})
}

// readKinds reads which kinds the cluster serves.
func (m *move) readKinds() {
	m.t.Helper()
	for _, group := range takeover.Groups {
		list, err := m.core.Discovery().ServerResourcesForGroupVersion(group + "/v1alpha1")
		require.NoError(m.t, err)
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				m.kinds = append(m.kinds, movedKind{group, resource.Kind, resource.Name, resource.SingularName, resource.Namespaced})
			}
		}
	}
	require.Greater(m.t, len(m.kinds), 15)
}

// definition returns a CustomResourceDefinition as a take-over leaves it behind.
func (k movedKind) definition(schemas openSchemas, conversion map[string]any) *unstructured.Unstructured {
	scope := "Cluster"
	if k.namespaced {
		scope = "Namespaced"
	}
	var list []any
	for i, version := range append(k.versions(), takeover.Version) {
		base := version
		if version == takeover.Version {
			base = k.versions()[0]
		}
		list = append(list, map[string]any{
			"name": version, "served": version == takeover.Version, "storage": i == 0, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": schemas.of(schema.GroupVersionKind{Group: k.group, Version: base, Kind: k.kind})},
		})
	}
	before, _ := json.Marshal(map[string]any{"served": k.versions(), "conversion": conversion})
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": k.plural + "." + k.group, "annotations": map[string]any{"kruise.io/before-takeover": string(before)}},
		"spec": map[string]any{
			"group": k.group, "scope": scope, "versions": list,
			"names": map[string]any{"plural": k.plural, "singular": k.singular, "kind": k.kind, "listKind": k.kind + "List"},
		},
	}}
}
