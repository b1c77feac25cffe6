//go:build integration

package integration

import (
	"context"
	"fmt"
	"strings"
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
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// injecting returns a namespace whose new Pods are sent to the shared server.
func injecting(t *testing.T) *budgeted {
	t.Helper()
	protected(t)
	b := &budgeted{t: t, namespace: newNamespace(t), kube: env.kube}
	probe := newSidecarSet(b.namespace, "probe", "probe")
	probe.Spec.Selector.MatchLabels["app"] = "probe"
	require.NoError(t, createSidecarSet(t, probe))
	b.injected(2, func(pod *corev1.Pod) { pod.Labels["app"] = "probe" }) // kube-apiserver knows the webhook
	return b
}

// injected waits until a new Pod has a number of containers. The answer to a write of a SidecarSet waits for its effect too, but only five
// seconds, which can be too short on a busy machine.
func (b *budgeted) injected(containers int, edits ...func(*corev1.Pod)) {
	b.t.Helper()
	eventually(b.t, func() bool {
		pod, err := b.make(demoPod(edits...), metav1.DryRunAll)
		return err == nil && len(pod.Spec.Containers) == containers
	})
}

// demoPod is one that no node takes. The SidecarSets of the tests select it.
func demoPod(edits ...func(*corev1.Pod)) *corev1.Pod {
	return newWebPod(append([]func(*corev1.Pod){func(pod *corev1.Pod) { pod.Labels["app"] = "demo" }}, edits...)...)
}

func containerNames(pod *corev1.Pod) (names []string) {
	for i := range pod.Spec.Containers {
		names = append(names, pod.Spec.Containers[i].Name)
	}
	return names
}

// A Pod that is created after the answer to a write of a SidecarSet shows this write.
// Not parallel: the answer to a write waits for its effect, but only five seconds, which may be too short on a busy machine. An answer that
// warns of this says nothing about the wait, so the round is repeated with a new SidecarSet.
// Cases sidecarset 1, 9, 10.
// Cases pod-admission 1, 8, 21.
func TestPodShowsTheLastWriteOfItsSidecarSet(t *testing.T) {
	const rounds, mostVoid = 20, 5
	b := injecting(t)
	void := 0
	for i := 0; i < rounds+void; i++ {
		if !b.showsTheLastWrite(i) {
			void++
			require.LessOrEqual(t, void, mostVoid, "answers that warn")
		}
	}
}

// showsTheLastWrite creates, changes and deletes a SidecarSet with a number, and creates a Pod after each. It returns false if an answer
// warned that the write has no effect on new Pods yet.
func (b *budgeted) showsTheLastWrite(i int) bool {
	t := b.t
	t.Helper()
	early := &tooEarly{}
	config := rest.CopyConfig(env.config)
	config.WarningHandler = early
	kruise, err := versioned.NewForConfig(config)
	require.NoError(t, err)
	sets := kruise.AppsV1beta1().SidecarSets()
	set := newSidecarSet(b.namespace, fmt.Sprint("fresh-", i), fmt.Sprint("agent-", i))
	set.Spec.Selector.MatchLabels["app"] = fmt.Sprint("fresh-", i)
	t.Cleanup(func() { _ = sets.Delete(context.WithoutCancel(t.Context()), set.Name, metav1.DeleteOptions{}) })
	_, err = sets.Create(t.Context(), set, metav1.CreateOptions{})
	require.NoError(t, err)
	if early.warned(t) {
		return false
	}
	fresh := func(pod *corev1.Pod) { pod.Labels["app"] = fmt.Sprint("fresh-", i) }
	pod, err := b.make(demoPod(fresh))
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprint("agent-", i), "web"}, containerNames(pod), "created")
	assert.Equal(t, set.Name, pod.Annotations[pub.SidecarSetInjectedListKey])

	_, err = sets.Patch(t.Context(), set.Name, types.MergePatchType,
		[]byte(`{"spec":{"updateStrategy":{"type":"NotUpdate"},"customVersion":"v`+fmt.Sprint(i)+`"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = sets.Patch(t.Context(), set.Name, types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/containers/0/image","value":"kruise.local/demo:v2"}]`), metav1.PatchOptions{})
	require.NoError(t, err)
	if early.warned(t) {
		return false
	}
	pod, err = b.make(demoPod(fresh), metav1.DryRunAll)
	require.NoError(t, err)
	require.Equal(t, "kruise.local/demo:v2", pod.Spec.Containers[0].Image, "changed")

	require.NoError(t, sets.Delete(t.Context(), set.Name, metav1.DeleteOptions{}))
	if early.warned(t) {
		return false
	}
	pod, err = b.make(demoPod(fresh))
	require.NoError(t, err)
	require.Equal(t, []string{"web"}, containerNames(pod), "deleted")
	assert.Empty(t, pod.Annotations)
	return true
}

// tooEarly keeps the documented warnings of one client that a write has no effect on new Pods yet.
type tooEarly struct {
	lock  sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (e *tooEarly) HandleWarningHeader(_ int, _, text string) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if strings.HasPrefix(text, "the write has no effect on new Pods yet") || strings.HasPrefix(text, "new Pods ") {
		e.texts = append(e.texts, text)
	}
}

// warned reports whether the client was warned, and logs the warnings.
func (e *tooEarly) warned(t *testing.T) bool {
	t.Helper()
	e.lock.Lock()
	defer e.lock.Unlock()
	for _, text := range e.texts {
		t.Logf("the answer warned: %s", text)
	}
	return len(e.texts) > 0
}

// kube-apiserver completes injected containers: it sets their defaults, and mounts the token of the service account. A copy of a
// created Pod is not injected twice.
// Not parallel: on a busy machine, kube-apiserver may not wait for the review of a Pod, which then gets no containers.
// Cases pod-admission 6, 7.
func TestInjectedContainersAreCompleted(t *testing.T) {
	b := injecting(t)
	set := newSidecarSet(b.namespace, "full", "agent")
	native := v1beta1.SidecarContainer{Container: corev1.Container{
		Name: "native", Image: "kruise.local/demo:v1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
	}}
	set.Spec.InitContainers = []v1beta1.SidecarContainer{{Container: corev1.Container{Name: "init", Image: "kruise.local/demo:v1"}}, native}
	set.Spec.UpdateStrategy.Type = v1beta1.NotUpdateSidecarSetStrategyType
	set.Spec.Volumes = []corev1.Volume{{Name: "data"}, {Name: "unused"}}
	set.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	set.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	set.Spec.Containers[0].UpgradeStrategy = v1beta1.SidecarContainerUpgradeStrategy{
		UpgradeType: v1beta1.SidecarContainerHotUpgrade, HotUpgradeEmptyImage: "kruise.local/demo:v0",
	}
	require.NoError(t, createSidecarSet(t, set))
	b.injected(3)
	pod, err := b.make(demoPod())
	require.NoError(t, err)
	assert.Equal(t, []string{"agent-1", "agent-2", "web"}, containerNames(pod))
	require.Len(t, pod.Spec.InitContainers, 2)
	assert.Equal(t, "init native", pod.Spec.InitContainers[0].Name+" "+pod.Spec.InitContainers[1].Name)
	assert.Equal(t, []corev1.LocalObjectReference{{Name: "registry"}}, pod.Spec.ImagePullSecrets)
	volumes := map[string]bool{}
	for _, volume := range pod.Spec.Volumes {
		volumes[volume.Name] = true
	}
	assert.True(t, volumes["data"])
	assert.False(t, volumes["unused"])
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		assert.Equal(t, corev1.PullIfNotPresent, container.ImagePullPolicy, container.Name)
		token := false
		for _, mount := range container.VolumeMounts {
			token = token || mount.MountPath == "/var/run/secrets/kubernetes.io/serviceaccount"
		}
		assert.Equal(t, len(pod.Spec.Containers[2].VolumeMounts) > 0, token, "%s", container.Name)
	}
	again := demoPod()
	again.Annotations, again.Spec = pod.Annotations, pod.Spec
	again, err = b.make(again)
	require.NoError(t, err)
	assert.Equal(t, pod.Spec.Containers, again.Spec.Containers)
	assert.Equal(t, pod.Spec.InitContainers, again.Spec.InitContainers)
	assert.Equal(t, pod.Annotations, again.Annotations)
}

// Labels of a namespace count from the moment that this server has seen them. A new namespace counts at once.
// Not parallel: on a busy machine, kube-apiserver may not wait for the review of a Pod, which then gets no containers.
// Case sidecarset 38.
func TestLabelsOfANewNamespaceCountAtOnce(t *testing.T) {
	b := injecting(t)
	set := newSidecarSet(b.namespace, "env", "agent")
	set.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": b.namespace}}
	require.NoError(t, createSidecarSet(t, set))
	// The server knows the SidecarSet as soon as Pods of one namespace get its containers.
	first := newLabelledNamespace(t, map[string]string{"env": b.namespace})
	(&budgeted{t: t, namespace: first, kube: env.kube}).injected(2)
	for i := range 10 {
		name := fmt.Sprintf("%s-%d", b.namespace, i)
		_, err := env.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"env": b.namespace},
		}}, metav1.CreateOptions{})
		require.NoError(t, err)
		in := &budgeted{t: t, namespace: name, kube: env.kube}
		var pod *corev1.Pod
		eventually(t, func() bool { // the service account comes a moment later
			pod, err = in.make(demoPod(), metav1.DryRunAll)
			return !apierrors.IsForbidden(err)
		})
		require.NoError(t, err)
		require.Equal(t, []string{"agent", "web"}, containerNames(pod))
	}
	plain, err := b.make(demoPod(), metav1.DryRunAll)
	require.NoError(t, err)
	assert.Equal(t, []string{"web"}, containerNames(plain))
	mustKubectl(t, "label", "namespace", b.namespace, "env="+b.namespace)
	b.injected(2)
}

// A namespace with the label of the controllers is not sent to this server.
func TestNamespaceWithoutSidecarsIsSkipped(t *testing.T) {
	t.Parallel()
	b := injecting(t)
	set := newSidecarSet(b.namespace, "skipped", "agent")
	require.NoError(t, createSidecarSet(t, set))
	b.injected(2)
	mustKubectl(t, "label", "namespace", b.namespace, pub.PodCreationKey+"="+pub.PodCreationIgnored)
	b.injected(1)
	out := mustKubectl(t, "patch", "sidecarset", set.Name, "--type=merge", "-p", `{"spec":{"customVersion":"v1"}}`)
	assert.NotContains(t, out, "Warning", "the server removes the label, without the controllers")
	b.injected(2)
}

// No controller runs. The change of the labels takes effect by itself.
// Case sidecarset 38.
func TestLabelsOfANamespaceChangeWithoutTheControllers(t *testing.T) {
	t.Parallel()
	b := injecting(t)
	set := newSidecarSet(b.namespace, "env", "agent")
	set.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": b.namespace}}
	require.NoError(t, createSidecarSet(t, set))
	ignored := func(namespace *corev1.Namespace, err error) bool {
		t.Helper()
		require.NoError(t, err)
		return namespace.Labels[pub.PodCreationKey] == pub.PodCreationIgnored
	}
	patch := func(labels string) (*corev1.Namespace, error) {
		return env.kube.CoreV1().Namespaces().Patch(t.Context(), b.namespace, types.MergePatchType, []byte(`{"metadata":{"labels":{`+labels+`}}}`),
			metav1.PatchOptions{})
	}
	const ignore = `"` + pub.PodCreationKey + `":"` + pub.PodCreationIgnored + `"`
	eventually(t, func() bool { // kube-apiserver knows the webhook
		require.True(t, ignored(patch(ignore)), "the label can be added alone")
		return !ignored(patch(`"probe":"` + rand.String(5) + `"`))
	})
	require.True(t, ignored(patch(ignore)))
	b.injected(1)
	require.False(t, ignored(patch(`"env":"`+b.namespace+`"`)), "the same write removes the label")
	b.injected(2)
	copied := newLabelledNamespace(t, map[string]string{pub.PodCreationKey: pub.PodCreationIgnored})
	require.False(t, ignored(env.kube.CoreV1().Namespaces().Get(t.Context(), copied, metav1.GetOptions{})))
}

// One server answers writes of SidecarSets, and another one reviews the Pods that are created right after.
// Not parallel: other servers serve the cluster.
// Case pod-admission 21b.
func TestPodShowsAWriteOfAnotherServer(t *testing.T) {
	b := injecting(t)
	servers, _ := serverPair(t)
	servedBy(t, servers, servers[1].port)
	sets := servers[0].clientset(t).AppsV1beta1().SidecarSets()
	for i := range 50 {
		app := fmt.Sprint("other-", i)
		set := newSidecarSet(b.namespace, app, "agent")
		set.Spec.Selector.MatchLabels["app"] = app
		_, err := sets.Create(t.Context(), set, metav1.CreateOptions{})
		require.NoError(t, err)
		create := func() []string {
			t.Helper()
			pod, err := b.make(demoPod(func(pod *corev1.Pod) { pod.Labels["app"] = app }))
			require.NoError(t, err)
			return containerNames(pod)
		}
		require.Equal(t, []string{"agent", "web"}, create(), "round %d: created", i)
		require.NoError(t, sets.Delete(t.Context(), set.Name, metav1.DeleteOptions{}))
		require.Equal(t, []string{"web"}, create(), "round %d: deleted", i)
	}
}

// RBAC allows the apiserver to patch every namespace. The chart's policy limits its patches to the removal of one label.
func TestServerRemovesOneLabelOfNamespaces(t *testing.T) {
	t.Parallel()
	installPolicy(t, "kruise-apiserver-namespaces")
	name := newNamespace(t)
	server, err := kubernetes.NewForConfig(as(t, "kruise-apiserver"))
	require.NoError(t, err)
	patch := func(client kubernetes.Interface, body string, dryRun ...string) error {
		_, err := client.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{DryRun: dryRun})
		return err
	}
	require.NoError(t, patch(env.kube, `{"metadata":{"labels":{"mine":"a"}}}`))
	require.NoError(t, patch(env.kube, `{"metadata":{"labels":{"apps.kruise.io/pod-creation":"ignored"}}}`))
	const enforce = `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`
	eventually(t, func() bool { return apierrors.IsForbidden(patch(server, enforce, metav1.DryRunAll)) }) // the policy comes a moment later
	for body, allowed := range map[string]bool{
		`{"metadata":{"labels":{"apps.kruise.io/pod-creation":null}}}`:    true,
		`{"metadata":{"labels":{"apps.kruise.io/pod-creation":"other"}}}`: false,
		`{"metadata":{"labels":{"mine":null}}}`:                           false,
		`{"metadata":{"labels":{"mine":"b"}}}`:                            false,
		`{"metadata":{"labels":{"b":"c"}}}`:                               false,
		`{"metadata":{"annotations":{"mine":"b"}}}`:                       false,
		`{"metadata":{"finalizers":["example.com/mine"]}}`:                false,
	} {
		err := patch(server, body)
		assert.Equal(t, allowed, err == nil, "%s: %v", body, err)
		assert.Equal(t, !allowed, apierrors.IsForbidden(err), "%s: %v", body, err)
	}
}

// A mistake of the user is refused with its path, a revision that is gone too.
// Cases sidecarset 21, 22, 30.
func TestRevisionsAndMistakesAtTheCreationOfPods(t *testing.T) {
	t.Parallel()
	b := injecting(t)
	set := newSidecarSet(b.namespace, "pinned", "agent")
	require.NoError(t, createSidecarSet(t, set))
	b.injected(2)
	data := []byte(`{"spec":{"$patch":"replace","containers":[{"name":"agent","image":"kruise.local/demo:old"}],"initContainers":null,` +
		`"volumes":null,"imagePullSecrets":null,"patchPodMetadata":null}}`)
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: set.Name + "-old", Namespace: ownNamespace, Labels: map[string]string{pub.SidecarSetNameKey: set.Name}},
		Revision:   1,
	}
	revision.Data = runtime.RawExtension{Raw: data}
	_, err := env.kube.AppsV1().ControllerRevisions(ownNamespace).Create(t.Context(), revision, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = env.kruise.AppsV1beta1().SidecarSets().Patch(t.Context(), set.Name, types.MergePatchType,
		[]byte(`{"spec":{"injectionStrategy":{"revision":{"revisionName":"`+revision.Name+`"}}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, func() bool {
		pod, err := b.make(demoPod(), metav1.DryRunAll)
		return err == nil && pod.Spec.Containers[0].Image == "kruise.local/demo:old"
	})
	require.NoError(t, env.kube.AppsV1().ControllerRevisions(ownNamespace).Delete(t.Context(), revision.Name, metav1.DeleteOptions{}))
	eventually(t, func() bool {
		_, err := b.make(demoPod(), metav1.DryRunAll)
		return apierrors.IsForbidden(err)
	})
	_, err = b.make(demoPod(), metav1.DryRunAll)
	assert.ErrorContains(t, err, "SidecarSet "+set.Name+" injects a stored revision that does not exist")

	_, err = b.make(demoPod(func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{pub.SidecarSetHashKey: "["}
	}), metav1.DryRunAll)
	require.Error(t, err)
}

// Everything that a Pod gets from a SidecarSet belongs to one revision, while five SidecarSets change all the time.
// Not parallel: on a busy machine, kube-apiserver may not wait for the review of a Pod, which then gets no containers.
func TestInjectedContentIsNeverAMixture(t *testing.T) {
	const sets, pods = 5, 1000
	b := injecting(t)
	client := env.kruise.AppsV1beta1().SidecarSets()
	names := make([]string, sets)
	for i := range sets {
		set := newSidecarSet(b.namespace, fmt.Sprint("mixed-", i), fmt.Sprint("agent-", i))
		set.Spec.Containers = append(set.Spec.Containers, v1beta1.SidecarContainer{Container: corev1.Container{
			Name: fmt.Sprint("second-", i), Image: "kruise.local/demo:v1",
		}})
		require.NoError(t, createSidecarSet(t, set))
		names[i] = set.Name
	}
	b.injected(2*sets + 1)
	done := make(chan struct{})
	var writers, creators sync.WaitGroup
	for i := range sets {
		writers.Go(func() {
			for version := 1; ; version++ {
				select {
				case <-done:
					return
				default:
				}
				image := fmt.Sprintf("kruise.local/demo:v%d", version)
				_, err := client.Patch(t.Context(), names[i], types.JSONPatchType, fmt.Appendf(nil,
					`[{"op":"replace","path":"/spec/containers/0/image","value":%q},{"op":"replace","path":"/spec/containers/1/image","value":%q}]`,
					image, image), metav1.PatchOptions{})
				assert.NoError(t, err)
			}
		})
	}
	const clients = 10
	for range clients {
		creators.Go(func() {
			for range pods / clients {
				pod, err := b.reviewedPod()
				if !assert.NoError(t, err) || !assert.Len(t, pod.Spec.Containers, 2*sets+1) {
					return
				}
				images := map[string]string{}
				for _, container := range pod.Spec.Containers {
					images[container.Name] = container.Image
				}
				for i := range sets {
					assert.Equal(t, images[fmt.Sprint("agent-", i)], images[fmt.Sprint("second-", i)])
				}
			}
		})
	}
	creators.Wait()
	close(done)
	writers.Wait()
}

// reviewedPod returns a Pod that a dry run has created. A busy server may not answer the review of a Pod in time. kube-apiserver then creates
// the Pod without any containers of SidecarSets. Such a Pod says nothing about their content, so another one is created, at most five times.
func (b *budgeted) reviewedPod() (pod *corev1.Pod, err error) {
	for range 5 {
		if pod, err = b.make(demoPod(), metav1.DryRunAll); err != nil || len(pod.Spec.Containers) > 1 {
			break
		}
	}
	return pod, err
}
