//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

// newSidecarSet returns a SidecarSet that selects Pods with a label in the test's namespace.
func newSidecarSet(namespace, name, container string) *v1beta1.SidecarSet {
	return &v1beta1.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name, Labels: map[string]string{"test": namespace}},
		Spec: v1beta1.SidecarSetSpec{
			Selector:          &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}},
			NamespaceSelector: in(namespace),
			Containers:        []v1beta1.SidecarContainer{{Container: corev1.Container{Name: container, Image: "kruise.local/demo:v1"}}},
		},
	}
}

// createSidecarSet creates a SidecarSet and deletes it when the test ends.
func createSidecarSet(t *testing.T, set *v1beta1.SidecarSet) error {
	t.Helper()
	sets := env.kruise.AppsV1beta1().SidecarSets()
	t.Cleanup(func() { _ = sets.Delete(context.WithoutCancel(t.Context()), set.Name, metav1.DeleteOptions{}) })
	_, err := sets.Create(t.Context(), set, metav1.CreateOptions{})
	return err
}

// configure writes the administrator's ConfigMap and removes it when the test ends.
func configure(t *testing.T, data map[string]string) {
	t.Helper()
	configMaps := env.kube.CoreV1().ConfigMaps(ownNamespace)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: pub.ConfigurationName}, Data: data}
	_, err := configMaps.Create(t.Context(), config, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = configMaps.Delete(context.WithoutCancel(t.Context()), config.Name, metav1.DeleteOptions{})
	})
}

func requireInvalid(t *testing.T, err error, wants ...string) {
	t.Helper()
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	for _, want := range wants {
		assert.ErrorContains(t, err, want)
	}
}

// Two SidecarSets of the same Pods cannot add the same container, nor two volumes of one name.
// Case sidecarset 27.
func TestSidecarSetsDoNotClash(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	first := newSidecarSet(namespace, "first", "agent")
	first.Spec.Volumes = []corev1.Volume{{Name: "data"}}
	require.NoError(t, createSidecarSet(t, first))

	requireInvalid(t, createSidecarSet(t, newSidecarSet(namespace, "second", "agent")),
		"spec.containers[0].name", "container agent already exists in SidecarSet "+first.Name)
	volume := newSidecarSet(namespace, "third", "other")
	volume.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: "/data"},
	}}}
	requireInvalid(t, createSidecarSet(t, volume), "spec.volumes[0].name", "in conflict with a volume of SidecarSet "+first.Name)

	apart := newSidecarSet(namespace, "fourth", "agent")
	apart.Spec.Selector.MatchLabels["app"] = "another"
	require.NoError(t, createSidecarSet(t, apart), "it selects other Pods")
	_, err := env.kruise.AppsV1beta1().SidecarSets().Patch(t.Context(), apart.Name, types.MergePatchType,
		[]byte(`{"spec":{"selector":{"matchLabels":{"app":"demo"}}}}`), metav1.PatchOptions{})
	requireInvalid(t, err, "container agent already exists in SidecarSet "+first.Name)
}

// Two SidecarSets that conflict are written at the same instant, through two apiservers on one etcd.
func TestOneOfTwoSidecarSetsThatClashIsRefused(t *testing.T) {
	t.Parallel()
	servers, _ := serverPair(t, patient...)
	namespace := newNamespace(t)
	clients := make([]typed.SidecarSetInterface, 0, len(servers))
	for _, s := range servers {
		clients = append(clients, s.clientset(t).AppsV1beta1().SidecarSets())
	}
	const pairs = 50
	var requests sync.WaitGroup
	answers := make([][2]error, pairs)
	for pair := range pairs {
		for side := range 2 {
			set := newSidecarSet(namespace, fmt.Sprintf("%d-%d", pair, side), fmt.Sprintf("agent-%d", pair))
			requests.Go(func() { _, answers[pair][side] = clients[side].Create(t.Context(), set, metav1.CreateOptions{}) })
		}
	}
	requests.Wait()
	for pair, answer := range answers {
		refused := answer[0]
		if refused == nil {
			refused = answer[1]
		}
		require.True(t, (answer[0] == nil) != (answer[1] == nil), "pair %d: %v", pair, answer)
		requireInvalid(t, refused, fmt.Sprintf("container agent-%d already exists in SidecarSet", pair))
	}

	// The same for updates: both sides of a pair select other Pods at first, and then the same Pods.
	patch := func(pair, side int, app string) error {
		_, err := clients[side].Patch(t.Context(), fmt.Sprintf("%s-late-%d-%d", namespace, pair, side), types.MergePatchType,
			[]byte(`{"spec":{"selector":{"matchLabels":{"app":"`+app+`"}}}}`), metav1.PatchOptions{})
		return err
	}
	for pair := range pairs {
		for side := range 2 {
			set := newSidecarSet(namespace, fmt.Sprintf("late-%d-%d", pair, side), fmt.Sprintf("late-%d", pair))
			set.Spec.Selector.MatchLabels["app"] = fmt.Sprintf("side-%d", side)
			requests.Go(func() {
				_, err := clients[side].Create(t.Context(), set, metav1.CreateOptions{})
				assert.NoError(t, err)
			})
		}
	}
	requests.Wait()
	for pair := range pairs {
		for side := range 2 {
			requests.Go(func() { answers[pair][side] = patch(pair, side, "both") })
		}
	}
	requests.Wait()
	for pair, answer := range answers {
		assert.True(t, (answer[0] == nil) != (answer[1] == nil), "pair %d: %v", pair, answer)
	}
}

// A dry run gets the same answer as the write.
// Case pod-admission 16.
func TestDryRunOfAClashIsRefused(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	require.NoError(t, createSidecarSet(t, newSidecarSet(namespace, "first", "agent")))
	for container, refused := range map[string]bool{"agent": true, "another": false} {
		set := newSidecarSet(namespace, "second", container)
		set.TypeMeta = metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "SidecarSet"}
		manifest, err := json.Marshal(set)
		require.NoError(t, err)
		out, err := kubectl(t, string(manifest), "apply", "--dry-run=server", "-f", "-")
		if refused {
			require.Error(t, err, out)
			assert.Contains(t, out, "container agent already exists in SidecarSet "+namespace+"-first")
		} else {
			require.NoError(t, err, out)
			assert.Contains(t, out, "created (server dry run)")
		}
		_, err = env.kruise.AppsV1beta1().SidecarSets().Get(t.Context(), set.Name, metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
	}
}

// A ConfigMap of the administrator says what a SidecarSet may write on Pods.
// Not parallel: it writes the administrator's ConfigMap.
// Cases configuration 3, 6.
func TestAnnotationsForPodsNeedARule(t *testing.T) {
	namespace := newNamespace(t)
	patching := func(key string) *v1beta1.SidecarSet {
		set := newSidecarSet(namespace, "patching", "agent")
		set.Spec.PatchPodMetadata = []v1beta1.SidecarSetPatchPodMetadata{{Annotations: map[string]string{key: "x"}}}
		return set
	}
	requireInvalid(t, createSidecarSet(t, patching("example.com/a")),
		"spec.patchPodMetadata[0].annotations[example.com/a]", "whitelist for this SidecarSet is not found")
	configure(t, map[string]string{"SidecarSet_PatchPodMetadata_WhiteList": `{"rules":[` +
		`{"selector":{"matchLabels":{"test":"` + namespace + `"}},"allowedAnnotationKeyExprs":["^example.com/"]}]}`})
	requireInvalid(t, createSidecarSet(t, patching("other.com/a")), "the annotation is not allowed")
	require.NoError(t, createSidecarSet(t, patching("example.com/a")))
}

// New Pods get a revision only if it is stored.
// Case sidecarset 22.
func TestRevisionsForPodsMustExist(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	pinned := newSidecarSet(namespace, "pinned", "agent")
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
			pub.SidecarSetNameKey: pinned.Name, pub.SidecarSetCustomVersionKey: "v1",
		}},
		Data: runtime.RawExtension{Raw: []byte(`{}`)}, Revision: 1,
	}
	pinned.Spec.InjectionStrategy.Revision = &v1beta1.SidecarSetInjectRevision{CustomVersion: new("v1")}
	requireInvalid(t, createSidecarSet(t, pinned), "spec.injectionStrategy.revision.customVersion", "cannot find specific ControllerRevision")
	revisions := env.kube.AppsV1().ControllerRevisions(ownNamespace)
	_, err := revisions.Create(t.Context(), revision, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = revisions.Delete(context.WithoutCancel(t.Context()), revision.Name, metav1.DeleteOptions{})
	})
	require.NoError(t, createSidecarSet(t, pinned))

	_, err = env.kruise.AppsV1beta1().SidecarSets().Patch(t.Context(), pinned.Name, types.MergePatchType,
		[]byte(`{"spec":{"injectionStrategy":{"revision":{"revisionName":"nobody"}}}}`), metav1.PatchOptions{})
	requireInvalid(t, err, "spec.injectionStrategy.revision.revisionName", "cannot find specific ControllerRevision")
}
