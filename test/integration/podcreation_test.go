//go:build integration

package integration

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

const (
	requiredLabel = "admission.kruise.io/pod-failure-policy"
	budgetsLabel  = "policy.kruise.io/pod-unavailable-budgets"
	kruiseReady   = corev1.PodConditionType("KruisePodReady")
)

var cloneSetKind = v1beta1.SchemeGroupVersion.WithKind("CloneSet")

// creating is a namespace with an exhausted budget b for the label app=web. No controller runs, so the test writes the label of
// the namespace and the budget's count.
func creating(t *testing.T, kruise versioned.Interface, labels ...string) *budgeted {
	t.Helper()
	protected(t)
	b := &budgeted{t: t, namespace: newNamespace(t), kube: env.kube}
	mustKubectl(t, append([]string{"label", "namespace", b.namespace, budgetsLabel + "=true"}, labels...)...)
	b.create(kruise, "b", policyv1beta1.PodUnavailableBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}})
	eventually(t, func() bool { // both servers know the budget and the labels
		pod, err := b.make(newWebPod(), metav1.DryRunAll)
		return err == nil && pod.Annotations["kruise.io/related-pub"] == "b"
	})
	return b
}

func (b *budgeted) create(kruise versioned.Interface, name string, spec policyv1beta1.PodUnavailableBudgetSpec) {
	b.t.Helper()
	spec.MaxUnavailable, spec.ProtectTotalReplicas = new(intstr.FromInt(0)), new(int32(1))
	budgets := kruise.PolicyV1beta1().PodUnavailableBudgets(b.namespace)
	budget, err := budgets.Create(b.t.Context(), &policyv1beta1.PodUnavailableBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(b.t, err)
	budget.Status = policyv1beta1.PodUnavailableBudgetStatus{
		ObservedGeneration: budget.Generation, TotalReplicas: 1, DesiredAvailable: 1, CurrentAvailable: 1,
	}
	_, err = budgets.UpdateStatus(b.t.Context(), budget, metav1.UpdateOptions{})
	require.NoError(b.t, err)
}

func (b *budgeted) make(pod *corev1.Pod, dryRun ...string) (*corev1.Pod, error) {
	return b.kube.CoreV1().Pods(b.namespace).Create(b.t.Context(), pod, metav1.CreateOptions{DryRun: dryRun})
}

// newWebPod returns a Pod that fits on no node.
func newWebPod(edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"no": "such-node"}, Containers: []corev1.Container{{Name: "web", Image: "kruise.local/demo:v1"}},
		},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func another(pod *corev1.Pod) { pod.Labels["app"] = "db" }

func saying(budget string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"kruise.io/related-pub": budget, "pub.kruise.io/related-pub": budget}
	}
}

func annotationsOf(budget string) map[string]string {
	return map[string]string{"kruise.io/related-pub": budget, "pub.kruise.io/related-pub": budget}
}

// TestNewPodHasItsBudget checks that the deletion of a Pod is refused directly after its creation.
// Cases pod-admission 1, 7, 8.
func TestNewPodHasItsBudget(t *testing.T) {
	t.Parallel()
	b := creating(t, env.kruise)
	list, err := b.kube.CoreV1().Pods(b.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items, "a dry run leaves nothing")

	pod, err := b.make(newWebPod())
	require.NoError(t, err)
	assert.Equal(t, annotationsOf("b"), pod.Annotations)
	_, err = b.ready(pod.Name)
	require.NoError(t, err)
	err = b.remove(pod.Name)
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, exhausted)
	err = b.image(pod.Name, "kruise.local/demo:v2")
	require.True(t, apierrors.IsForbidden(err), "%v", err)

	plain, err := b.make(newWebPod(another))
	require.NoError(t, err)
	assert.Empty(t, plain.Annotations, "none governs it")
	assert.Empty(t, plain.Spec.ReadinessGates)
	for _, budget := range []string{"gone", "b"} {
		plain, err = b.make(newWebPod(another, saying(budget)))
		require.NoError(t, err)
		assert.Empty(t, plain.Annotations, "what is wrong is taken away")
	}
	pod, err = b.make(newWebPod(saying("gone")))
	require.NoError(t, err)
	assert.Equal(t, annotationsOf("b"), pod.Annotations)
	pod.ObjectMeta = metav1.ObjectMeta{GenerateName: "web-", Labels: pod.Labels, Annotations: pod.Annotations}
	again, err := b.make(pod)
	require.NoError(t, err)
	assert.Equal(t, pod.Annotations, again.Annotations, "a copy of a live Pod")
}

// The first Pods of a ReplicaSet are reviewed before a cache of the apiserver has the ReplicaSet.
// Case pod-admission 19.
func TestPodsOfANewReplicaSetAreCovered(t *testing.T) {
	t.Parallel()
	b := creating(t, env.kruise)
	b.create(env.kruise, "d", policyv1beta1.PodUnavailableBudgetSpec{
		TargetRef: &policyv1beta1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "demo"},
	})
	labels := map[string]string{"app": "demo"}
	b.create(env.kruise, "seen", policyv1beta1.PodUnavailableBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "seen"}}})
	eventually(t, func() bool { // our cache has what came after
		pod, err := b.make(newWebPod(func(p *corev1.Pod) { p.Labels["app"] = "seen" }), metav1.DryRunAll)
		return err == nil && pod.Annotations["kruise.io/related-pub"] == "seen"
	})
	template := newWebPod()
	_, err := b.kube.AppsV1().Deployments(b.namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "demo"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(20)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: template.Spec},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	b.governed("d", 20)
}

// In every namespace, Pods of Kruise workloads get the gate, even if another client creates them. A Pod that has the gate keeps it.
// Cases pod-admission 1, 2.
func TestPodsOfOurWorkloadsGetTheirReadinessGateOnce(t *testing.T) {
	t.Parallel()
	b := creating(t, env.kruise)
	elsewhere := &budgeted{t: t, namespace: newNamespace(t), kube: env.kube}
	for name, in := range map[string]*budgeted{"with budgets": b, "without": elsewhere} {
		cloneSet, err := env.kruise.AppsV1beta1().CloneSets(in.namespace).Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
		require.NoError(t, err)
		owned := func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cloneSet, cloneSetKind)}
		}
		gated := func(pod *corev1.Pod) {
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: kruiseReady}}
		}
		for _, pod := range []*corev1.Pod{newWebPod(owned), newWebPod(owned, gated)} {
			made, err := in.make(pod)
			require.NoError(t, err)
			assert.Equal(t, []corev1.PodReadinessGate{{ConditionType: kruiseReady}}, made.Spec.ReadinessGates, name)
		}
		plain, err := in.make(newWebPod())
		require.NoError(t, err)
		assert.Empty(t, plain.Spec.ReadinessGates, "%s", name)
	}
}

// Labels of the installation's own namespace have no effect.
// Case pod-admission 14.
func TestPodsInTheSystemNamespaceAreUnchanged(t *testing.T) {
	t.Parallel()
	creating(t, env.kruise)
	ours := &budgeted{t: t, namespace: ownNamespace, kube: env.kube}
	mustKubectl(t, "label", "namespace", ownNamespace, budgetsLabel+"=true", requiredLabel+"=Fail")
	t.Cleanup(func() {
		_, _ = kubectl(t, "", "label", "namespace", ownNamespace, budgetsLabel+"-", requiredLabel+"-")
		_ = env.kruise.PolicyV1beta1().PodUnavailableBudgets(ownNamespace).Delete(context.WithoutCancel(t.Context()), "b", metav1.DeleteOptions{})
	})
	ours.create(env.kruise, "b", policyv1beta1.PodUnavailableBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}})
	creating(t, env.kruise) // Everybody has seen more than that.
	pod, err := ours.make(newWebPod(), metav1.DryRunAll)
	require.NoError(t, err)
	assert.Empty(t, pod.Annotations)
}

// TestLabelThatKeepsNoPodWaiting checks that a user gets a warning at the write of a label without effect, and at no other write.
func TestLabelThatKeepsNoPodWaiting(t *testing.T) {
	t.Parallel()
	namespace := creating(t, env.kruise).namespace
	const want = "label admission.kruise.io/pod-failure-policy='fail' has no effect: use Fail, or remove the label"
	write := func(args ...string) string {
		return mustKubectl(t, append([]string{"label", "namespace", namespace, "--overwrite"}, args...)...)
	}
	eventually(t, func() bool { return strings.Contains(write(requiredLabel+"=fail", "--dry-run=server"), want) })
	assert.Contains(t, write(requiredLabel+"=fail"), want)
	for _, quiet := range []string{"other=label", requiredLabel + "=Fail", "other-", requiredLabel + "-"} {
		assert.NotContains(t, write(quiet), "Warning", quiet)
	}
}

// Not parallel: it writes the administrator's ConfigMap.
// Case configuration 5.
func TestUnreadableListDoesNotBlockPods(t *testing.T) {
	configure(t, map[string]string{"PPS_Watch_Custom_Workload_WhiteList": "{"})
	b := creating(t, env.kruise, requiredLabel+"=Fail")
	pod, err := b.make(newWebPod())
	require.NoError(t, err)
	assert.Equal(t, annotationsOf("b"), pod.Annotations, "what else concerns the Pod is done")
}

// While the apiserver is down, Pods are created unchanged, or refused in namespaces with the strict label. While it starts, a Pod
// gets everything that admission adds, or nothing.
// Not parallel: another server serves the cluster.
// Cases pod-admission 17, 18.
// Case install 9.
func TestPodsWithoutTheAPIServerAreCreatedOrWait(t *testing.T) {
	s := alone(t, "creating")
	require.NoError(t, s.publish(t.Context()))
	t.Cleanup(func() { require.NoError(t, env.server.publish(context.WithoutCancel(t.Context()))) })
	lenient := creating(t, env.kruise)
	strict := creating(t, env.kruise, requiredLabel+"=Fail")
	cloneSet, err := env.kruise.AppsV1beta1().CloneSets(lenient.namespace).Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	require.NoError(t, err)
	owned := newWebPod(func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cloneSet, cloneSetKind)}
	})
	// mutated reports whether a Pod got all that admission adds. It fails the test if the Pod got only a part.
	mutated := func(b *budgeted) (bool, error) {
		pod, err := b.make(owned, metav1.DryRunAll)
		if err != nil {
			return false, err
		}
		has := len(pod.Annotations) > 0
		if has {
			assert.Equal(t, annotationsOf("b"), pod.Annotations)
		}
		assert.Equal(t, has, len(pod.Spec.ReadinessGates) > 0, "%v", pod)
		return has, nil
	}
	for _, b := range []*budgeted{lenient, strict} {
		has, err := mutated(b)
		require.NoError(t, err)
		assert.True(t, has)
	}

	governed, err := lenient.make(newWebPod())
	require.NoError(t, err)
	// Every budget allows the deletion of a Pod that is not ready, so only a ready Pod is asked about.
	_, err = lenient.ready(governed.Name)
	require.NoError(t, err)
	plain, err := lenient.make(newWebPod(another))
	require.NoError(t, err)

	s.kill()
	has, err := mutated(lenient)
	require.NoError(t, err)
	assert.False(t, has)
	require.NoError(t, lenient.remove(plain.Name), "without our annotations nothing is asked")
	require.ErrorContains(t, lenient.remove(governed.Name), `failed calling webhook "vpod.kb.io"`)
	_, err = mutated(strict)
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	assert.EqualValues(t, http.StatusInternalServerError, status.Status().Code)
	assert.ErrorContains(t, err, `failed calling webhook "required.mpod.kb.io"`)
	_, err = strict.kube.CoreV1().ConfigMaps(strict.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
	require.NoError(t, err, "nothing else waits")

	started := make(chan error, 1)
	go func() { started <- s.start(t.Context()) }()
	complete := map[*budgeted]bool{}
	eventually(t, func() bool {
		for _, b := range []*budgeted{lenient, strict} {
			has, err := mutated(b)
			complete[b] = err == nil && has
			assert.True(t, b == lenient || err != nil || has, "a strict namespace has no Pod without")
			assert.True(t, b == strict || err == nil, "a lenient one has no error: %v", err)
		}
		return complete[lenient] && complete[strict]
	})
	require.NoError(t, <-started)
}
