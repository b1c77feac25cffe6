//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/takeover"
	"kruise.io/kruise/test/openkruise"
)

// old is a cluster whose Kruise API comes from CustomResourceDefinitions.
type old struct {
	clients   dynamic.Interface
	namespace string
	kinds     []*kind
	owners    map[string]*unstructured.Unstructured
	// generation is the version of OpenKruise, and installed is what its chart installed.
	generation openkruise.Generation
	installed  []*unstructured.Unstructured
	// server is kruise-apiserver with an empty store, which nobody reaches yet.
	server *server
	// deleted are objects that informers saw as deleted.
	lock    sync.Mutex
	deleted []string
}

// storedBefore returns the versions of a kind in its CustomResourceDefinition, the stored one first.
func storedBefore(k *kind) []string {
	versions := []string{"v1alpha1"}
	switch k.gvk.Kind {
	case "StatefulSet", "SidecarSet":
		versions = []string{"v1beta1", "v1alpha1"}
	}
	return versions
}

// newOld replaces the API of the shared server by CustomResourceDefinitions, and creates an object of each kind that owns a ConfigMap.
func newOld(t *testing.T, generation openkruise.Generation) *old {
	t.Helper()
	o := &old{namespace: newNamespace(t), kinds: kinds(t), owners: map[string]*unstructured.Unstructured{}, generation: generation}
	var err error
	o.clients, err = dynamic.NewForConfig(env.config)
	require.NoError(t, err)
	validating := env.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	err = validating.Delete(t.Context(), "kruise-garbage-collection", metav1.DeleteOptions{})
	require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
	t.Cleanup(func() { require.NoError(t, o.restore(context.WithoutCancel(t.Context()))) })
	services := env.aggregator.ApiregistrationV1().APIServices()
	for _, name := range apiserver.APIServices(env.gate) {
		if !strings.Contains(name, "admission") {
			require.NoError(t, services.Delete(t.Context(), name, metav1.DeleteOptions{}))
		}
	}
	for _, k := range o.kinds {
		object := definition(k, storedBefore(k)...)
		if conversion := generation.Convert(k.gvk.Kind, ownNamespace); conversion != nil {
			require.NoError(t, unstructured.SetNestedMap(object.Object, conversion, "spec", "conversion"))
		}
		_, err := o.clients.Resource(definitions).Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for _, k := range o.kinds {
		eventually(t, func() bool {
			_, err := o.of(k, storedBefore(k)[0]).List(t.Context(), metav1.ListOptions{})
			return err == nil
		})
	}
	last := o.kinds[len(o.kinds)-1]
	probe := o.create(t, last, "probe")
	require.NoError(t, o.of(last, storedBefore(last)[0]).Delete(t.Context(), "probe", metav1.DeleteOptions{}))
	eventually(t, func() bool { return !o.keeps(t, probe) })
	for _, k := range o.kinds {
		o.owners[k.gvk.Kind] = o.create(t, k, "owner")
	}
	return o
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func definition(k *kind, versions ...string) *unstructured.Unstructured {
	scope := "Namespaced"
	if k.about.ClusterScoped {
		scope = "Cluster"
	}
	var list []any
	for i, version := range versions {
		list = append(list, map[string]any{
			"name": version, "served": true, "storage": i == 0, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": k.Resource().String()},
		"spec": map[string]any{
			"group": k.gvk.Group, "scope": scope, "versions": list,
			"names": map[string]any{
				"plural": k.Resource().Resource, "singular": k.about.Singular, "kind": k.gvk.Kind, "listKind": k.gvk.Kind + "List",
			},
		},
	}}
}

func (o *old) of(k *kind, version string) dynamic.ResourceInterface {
	client := o.clients.Resource(k.resource(version))
	if k.about.ClusterScoped {
		return client
	}
	return client.Namespace(o.namespace)
}

// create creates an object as the old API stores it, with a status, a finalizer and a ConfigMap that it owns.
func (o *old) create(t *testing.T, k *kind, name string) *unstructured.Unstructured {
	t.Helper()
	version := storedBefore(k)[0]
	example := k.exampleIn(t, version)
	example.SetName(name)
	example.SetNamespace("")
	if !k.about.ClusterScoped {
		example.SetNamespace(o.namespace)
	}
	if name == "owner" {
		example.SetFinalizers([]string{"example.com/stays"})
	}
	created, err := o.of(k, version).Create(t.Context(), example, metav1.CreateOptions{})
	require.NoError(t, err, "%s", k.gvk)
	k.dependent(t, o.namespace, created)
	return created
}

// exampleIn returns the example in a version.
func (k *kind) exampleIn(t *testing.T, version string) *unstructured.Unstructured {
	t.Helper()
	example := k.example.DeepCopy()
	if example.GroupVersionKind().Version == version {
		return example
	}
	return k.converted(t, example, version)
}

// keeps returns true if the ConfigMap of the owner exists.
func (o *old) keeps(t *testing.T, owner *unstructured.Unstructured) bool {
	t.Helper()
	_, err := env.kube.CoreV1().ConfigMaps(o.namespace).Get(t.Context(), configMapOf(owner), metav1.GetOptions{})
	require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
	return err == nil
}

// watch starts informers of all kinds, as controllers have them.
func (o *old) watch(t *testing.T) {
	t.Helper()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(o.clients, 0)
	for _, k := range o.kinds {
		informer := factory.ForResource(k.resource(storedBefore(k)[0])).Informer()
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
			o.lock.Lock()
			defer o.lock.Unlock()
			o.deleted = append(o.deleted, fmt.Sprintf("%T %v", object, object))
		}})
		require.NoError(t, err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
}

// restore removes the definitions and publishes the shared server again. A return from a take-over deletes the policies and webhooks of the
// chart, so the next test that needs them installs them again.
func (o *old) restore(ctx context.Context) error {
	protection.Lock()
	protection.active = false
	protection.Unlock()
	if o.server != nil {
		o.server.kill()
	}
	for _, k := range o.kinds {
		for _, version := range append(storedBefore(k), takeover.Version) {
			patch := []byte(`{"metadata":{"finalizers":null}}`)
			client := o.clients.Resource(k.resource(version))
			if owner := o.owners[k.gvk.Kind]; owner != nil {
				_, _ = client.Namespace(owner.GetNamespace()).Patch(ctx, owner.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
			}
		}
		err := o.clients.Resource(definitions).Delete(ctx, k.Resource().String(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	for _, k := range o.kinds {
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			_, err := o.clients.Resource(definitions).Get(ctx, k.Resource().String(), metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			return fmt.Errorf("wait for the end of definition %s: %w", k.Resource(), err)
		}
	}
	services := env.aggregator.ApiregistrationV1().APIServices()
	for _, name := range apiserver.APIServices(env.gate) {
		if err := services.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	_ = env.kube.CoreV1().ConfigMaps(ownNamespace).Delete(ctx, takeover.RecordName, metav1.DeleteOptions{})
	for _, object := range o.installed {
		_ = o.client(object).Delete(ctx, object.GetName(), metav1.DeleteOptions{})
	}
	// The take-over has removed service accounts that both have.
	if err := install(ctx); err != nil {
		return err
	}
	if o.server != nil {
		_ = env.kube.CoreV1().ConfigMaps(ownNamespace).Delete(ctx, o.server.configMap, metav1.DeleteOptions{})
	}
	return env.server.publish(ctx)
}

// storeCommands runs the commands of a store on this machine. The chart's users run them by kubectl exec.
type storeCommands struct{ server *server }

func (s *storeCommands) Run(ctx context.Context, input io.Reader, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, s.server.binary, append(append([]string{"store"}, args...), "--data-dir="+filepath.Join(s.server.dir, "data"))...)
	var stderr bytes.Buffer
	command.Stdin, command.Stderr = input, &stderr
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return out, err
}

// start starts kruise-apiserver with an empty store, behind the Service.
func (o *old) start(t *testing.T, name string) {
	t.Helper()
	var err error
	o.server, err = newServer(t.Context(), name)
	require.NoError(t, err)
	require.NoError(t, o.server.launch())
	require.NoError(t, applyService(t.Context(), o.server.port))
	eventually(t, func() bool { _, err := o.server.get(t.Context(), "/livez"); return err == nil })
	go o.keepRunning()
}

// keepRunning starts the server again when it ends, as the kubelet does.
func (o *old) keepRunning() {
	for {
		server := o.server
		<-server.done
		if server.command.ProcessState.ExitCode() == -1 { // killed
			return
		}
		if server.launch() != nil {
			return
		}
	}
}

func (o *old) takeover(t *testing.T) *takeover.Takeover {
	t.Helper()
	objects, err := metadata.NewForConfig(env.config)
	require.NoError(t, err)
	command := takeover.New(o.clients, objects, env.kube.Discovery(), &storeCommands{o.server}, &lines{t: t})
	command.Namespace, command.StoreConfigMap = ownNamespace, o.server.configMap
	return command
}

// lines writes to the log of a test.
type lines struct{ t *testing.T }

func (l *lines) Write(text []byte) (int, error) {
	l.t.Logf("%s %s", time.Now().Format("05.00"), bytes.TrimSpace(text))
	return len(text), nil
}

var errInterrupted = errors.New("interrupted")

// interruptedEverywhere repeats a command until it succeeds. Each attempt ends at the next place.
func interruptedEverywhere(t *testing.T, command *takeover.Takeover, run func(context.Context) error) {
	t.Helper()
	seen := map[string]bool{}
	command.Interrupt = func(step string, recorded bool) error {
		place := fmt.Sprint(step, recorded)
		if seen[place] {
			return nil
		}
		seen[place] = true
		return errInterrupted
	}
	defer func() { command.Interrupt = nil }()
	for range 40 {
		err := run(t.Context())
		if err == nil {
			return
		}
		require.ErrorIs(t, err, errInterrupted)
	}
	require.Fail(t, "the command does not end")
}

// TestTakeOverKeepsOwnersAndDependents takes over, is interrupted at each step, and deletes the CustomResourceDefinitions. A Pod of the old
// manager is on a lost node. No client sees a deletion, and the garbage collector, which nothing holds back here, finds every owner.
// Not parallel: it replaces the API of the shared server.
func TestTakeOverKeepsOwnersAndDependents(t *testing.T) {
	o := newOld(t, openkruise.Generations()[0])
	o.start(t, "takeover")
	o.openKruise(t)
	lost := o.loseNode(t)
	o.watch(t)
	command := o.takeover(t)
	require.NoError(t, command.Check(t.Context()))
	_, err := env.kube.CoreV1().ConfigMaps(ownNamespace).Get(t.Context(), takeover.RecordName, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "a check changes nothing")

	interruptedEverywhere(t, command, command.Forward)
	o.sameOwners(t)
	_, err = env.kube.AppsV1().Deployments(ownNamespace).Get(t.Context(), "kruise-controller-manager", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "the old manager does not come back: %v", err)
	left, err := env.kube.CoreV1().Pods(ownNamespace).Get(t.Context(), lost, metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotNil(t, left.DeletionTimestamp, "its node is lost")
	interruptedEverywhere(t, command, command.Finish)
	for _, k := range o.kinds {
		_, err := o.clients.Resource(definitions).Get(t.Context(), k.Resource().String(), metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	}
	o.sameOwners(t)
	o.collectorUsesOurs(t)
	o.lock.Lock()
	defer o.lock.Unlock()
	assert.Empty(t, o.deleted)
}

// sameOwners compares all owners with what they were.
func (o *old) sameOwners(t *testing.T) {
	t.Helper()
	for _, k := range o.kinds {
		before := o.owners[k.gvk.Kind]
		for _, version := range k.ServedVersions() {
			now, err := o.of(k, version.Version).Get(t.Context(), before.GetName(), metav1.GetOptions{})
			require.NoError(t, err, "%s", k.gvk)
			assert.Equal(t, before.GetUID(), now.GetUID())
			assert.Equal(t, before.GetGeneration(), now.GetGeneration())
			assert.Equal(t, before.GetFinalizers(), now.GetFinalizers())
			assert.Equal(t, before.GetCreationTimestamp().UTC(), now.GetCreationTimestamp().UTC())
		}
		assert.True(t, o.keeps(t, before), "%s", k.gvk)
	}
}

// collectorUsesOurs deletes an owner, and waits until the garbage collector deletes what it owns, and nothing else.
func (o *old) collectorUsesOurs(t *testing.T) {
	t.Helper()
	untilSeen(t, o.namespace)
	for _, k := range o.kinds {
		if k.gvk.Kind != "CloneSet" {
			continue
		}
		owner := o.owners[k.gvk.Kind]
		client := o.of(k, "v1alpha1")
		_, err := client.Patch(t.Context(), owner.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		o.lock.Lock()
		require.Empty(t, o.deleted)
		o.lock.Unlock()
		require.NoError(t, client.Delete(t.Context(), owner.GetName(), metav1.DeleteOptions{}))
		eventually(t, func() bool { return !o.keeps(t, owner) })
		eventually(t, func() bool { o.lock.Lock(); defer o.lock.Unlock(); return len(o.deleted) == 1 })
		o.deleted = nil
		delete(o.owners, k.gvk.Kind)
	}
	for _, owner := range o.owners {
		assert.True(t, o.keeps(t, owner), "%s", owner.GetKind())
	}
}

// TestReturnFromTakeOverKeepsChanges takes over, changes, creates and deletes objects, and returns, interrupted at each step. Then it
// takes over again.
// Not parallel: it replaces the API of the shared server.
func TestReturnFromTakeOverKeepsChanges(t *testing.T) {
	o := newOld(t, openkruise.Generations()[1])
	o.start(t, "takeback")
	o.openKruise(t)
	command := o.takeover(t)
	require.NoError(t, command.Forward(t.Context()))

	var sets, jobs *kind
	for _, k := range o.kinds {
		switch k.gvk.Kind {
		case "CloneSet":
			sets = k
		case "BroadcastJob":
			jobs = k
		}
	}
	client := o.of(sets, "v1alpha1")
	_, err := client.Patch(t.Context(), "owner", types.MergePatchType, []byte(`{"metadata":{"labels":{"since":"then"}},"spec":{"replicas":0}}`),
		metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = client.Patch(t.Context(), "owner", types.MergePatchType, []byte(`{"status":{"collisionCount":7}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	fresh := o.create(t, sets, "fresh")
	service := o.service(t, fresh)
	gone := o.owners[jobs.gvk.Kind]
	_, err = o.of(jobs, "v1alpha1").Patch(t.Context(), "owner", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, o.of(jobs, "v1alpha1").Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	eventually(t, func() bool { return !o.keeps(t, gone) })
	delete(o.owners, jobs.gvk.Kind)

	o.watch(t)
	interruptedEverywhere(t, command, command.Back)
	changed, err := client.Get(t.Context(), "owner", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, o.owners["CloneSet"].GetUID(), changed.GetUID())
	assert.Equal(t, "then", changed.GetLabels()["since"])
	replicas, _, _ := unstructured.NestedInt64(changed.Object, "spec", "replicas")
	assert.Zero(t, replicas)
	collisions, _, _ := unstructured.NestedInt64(changed.Object, "status", "collisionCount")
	assert.EqualValues(t, 7, collisions)
	_, err = o.of(jobs, "v1alpha1").Get(t.Context(), "owner", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	renewed, err := client.Get(t.Context(), "fresh", metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, fresh.GetUID(), renewed.GetUID(), "only a server sets UIDs")
	owned, err := env.kube.CoreV1().ConfigMaps(o.namespace).Get(t.Context(), configMapOf(fresh), metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, renewed.GetUID(), owned.OwnerReferences[0].UID)
	assert.Equal(t, renewed.GetUID(), o.owner(t, service), "dependents of any kind have the new owner")
	published, err := env.aggregator.ApiregistrationV1().APIServices().Get(t.Context(), "v1alpha1.apps.kruise.io", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Nil(t, published.Spec.Service)
	served, err := env.kube.Discovery().ServerResourcesForGroupVersion("apps.kruise.io/v1alpha1")
	require.NoError(t, err)
	assert.EventuallyWithT(t, func(t *assert.CollectT) {
		_, lists, _ := env.kube.Discovery().ServerGroupsAndResources() // other groups of the cluster may be away
		var discovered []string
		for _, list := range lists {
			if list.GroupVersion == served.GroupVersion {
				discovered = resourceNames(list)
			}
		}
		assert.ElementsMatch(t, resourceNames(served), discovered, "kubectl finds resources by the aggregated discovery")
	}, 30*time.Second, 200*time.Millisecond)
	deployment, err := env.kube.AppsV1().Deployments(ownNamespace).Get(t.Context(), "kruise-controller-manager", metav1.GetOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 2, *deployment.Spec.Replicas)
	untilSeen(t, o.namespace)
	for _, owner := range o.owners {
		assert.True(t, o.keeps(t, owner), "%s", owner.GetKind())
	}

	require.NoError(t, command.Forward(t.Context()))
	again, err := client.Get(t.Context(), "fresh", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, renewed.GetUID(), again.GetUID())
	o.lock.Lock()
	defer o.lock.Unlock()
	assert.Empty(t, o.deleted)
}

func resourceNames(list *metav1.APIResourceList) []string {
	var names []string
	for _, resource := range list.APIResources {
		names = append(names, resource.Name)
	}
	return names
}
